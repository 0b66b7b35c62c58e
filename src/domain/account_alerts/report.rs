//! Reports (“this wasn't me”): each can be decided once, within seven days (adr/0142).

use crate::domain::{CLOCK_SKEW, Fingerprint, Timestamp, assurance::AuthenticatorId};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long the link of an alert serves.
pub const REPORT_LIFETIME: Duration = Duration::from_hours(7 * 24);

/// How many decided reports are remembered one by one.
const MOST_SPENT: usize = 64;

/// What the link of an alert stands for; short names, because it travels in a flow's id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The id of the account.
    #[serde(rename = "a")]
    pub account: String,
    /// Drawn for this link alone.
    #[serde(rename = "i")]
    pub id: Fingerprint,
    /// When the alert was written.
    #[serde(rename = "t")]
    pub at: Timestamp,
    /// The address that it was mailed to, which may be a former one of the account.
    #[serde(rename = "m")]
    pub mailbox: AuthenticatorId,
}

/// The reports that were decided within the last seven days.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SpentReports {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reports: Vec<SpentReport>,
    /// Every report that is not younger counts as decided: there were too many to remember each.
    #[serde(default)]
    void_until: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SpentReport {
    #[serde(rename = "i")]
    id: Fingerprint,
    #[serde(rename = "t")]
    at: Timestamp,
}

impl Report {
    /// Tells whether its time has not passed; one from the future is none of ours.
    fn is_in_time(&self, now: Timestamp) -> bool {
        now < self.at + REPORT_LIFETIME && self.at <= now + CLOCK_SKEW
    }
}

impl SpentReports {
    pub(super) fn may_spend(&self, report: &Report, now: Timestamp) -> bool {
        let spent = self.reports.iter().any(|spent| spent.id == report.id);
        report.is_in_time(now) && report.at > self.void_until && !spent
    }

    pub(super) fn spend(&mut self, report: &Report, now: Timestamp) {
        self.reports.retain(|spent| now < spent.at + REPORT_LIFETIME + CLOCK_SKEW);
        self.reports.push(SpentReport { id: report.id, at: report.at });
        self.reports.sort_by_key(|spent| spent.at);
        let beyond = self.reports.len().saturating_sub(MOST_SPENT);
        for forgotten in self.reports.drain(..beyond) {
            self.void_until = self.void_until.max(forgotten.at);
        }
    }
}
