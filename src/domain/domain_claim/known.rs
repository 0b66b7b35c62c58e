//! A claim as it stands.

use super::{Add, Finding, LOST_AFTER_MISSING, LOST_UNANSWERED};
use crate::domain::{DomainName, Record, Timestamp, organization};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What a record says before its token.
const RECORD: &str = "porteiro-domain-verification=";

/// A domain is checked again after so long at least, and so much later at most, each by its id: many that were
/// proved at once are not asked for at once.
const CHECKED_AFTER: Duration = Duration::from_hours(20);
const CHECKED_LATER: Duration = Duration::from_hours(8);

/// While the record was not found it is looked for more often.
const LOOKED_FOR_AFTER: Duration = Duration::from_hours(6);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    pub id: String,
    /// The slug.
    pub organization: String,
    pub domain: DomainName,
    pub place: u8,
    token: String,
    pub created_at: Timestamp,
    pub standing: Standing,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standing {
    Pending,
    Verified(Verified),
    Lost { at: Timestamp, because: LostBecause },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    pub since: Timestamp,
    pub check_at: Timestamp,
    /// When DNS first said that the record is not there, if it has not been found after that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_since: Option<Timestamp>,
    /// When it was first not found, for whatever reason, if it has not been found after that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_found_since: Option<Timestamp>,
}

/// Why a domain was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LostBecause {
    Missing,
    Unanswered,
}

impl LostBecause {
    pub fn name(self) -> &'static str {
        match self {
            Self::Missing => "record_missing",
            Self::Unanswered => "dns_unanswered",
        }
    }
}

impl Known {
    pub(super) fn new(add: &Add, home: &organization::Known, now: Timestamp) -> Self {
        Self {
            id: add.id.clone(),
            organization: home.slug.clone(),
            domain: add.domain.clone(),
            place: add.place,
            token: add.token.clone(),
            created_at: now,
            standing: Standing::Pending,
        }
    }

    pub fn is_verified(&self) -> bool {
        matches!(self.standing, Standing::Verified(_))
    }

    /// What the record must say.
    pub fn value(&self) -> String {
        format!("{RECORD}{}", self.token)
    }

    /// Tells whether one of these records proves the claim.
    pub fn is_proved_by<'a>(&self, mut records: impl Iterator<Item = &'a [u8]>) -> bool {
        let value = self.value();
        records.any(|record| record == value.as_bytes())
    }

    /// When it is to be checked again, if it is.
    pub fn next_check(&self) -> Option<Timestamp> {
        match &self.standing {
            Standing::Verified(held) => Some(held.check_at),
            Standing::Pending | Standing::Lost { .. } => None,
        }
    }

    /// One word for how it stands.
    pub fn state(&self) -> &'static str {
        match self.standing {
            Standing::Pending => "pending",
            Standing::Verified(_) => "verified",
            Standing::Lost { .. } => "lost",
        }
    }

    pub(super) fn standing_as(&self, standing: Standing) -> Self {
        Self { standing, ..self.clone() }
    }

    pub(super) fn record(&self, event: &'static str) -> Record {
        Record::new(event).in_organization(&*self.organization).with("domain", self.domain.as_str())
    }

    pub(super) fn verified(&self, now: Timestamp) -> Verified {
        let check_at = now + self.pause();
        Verified { since: now, check_at, missing_since: None, not_found_since: None }
    }

    /// Returns how it stands once a check has begun, if one is due.
    pub(super) fn verified_since_check(&self, now: Timestamp) -> Option<Verified> {
        let Standing::Verified(held) = &self.standing else { return None };
        let pause = match held.not_found_since {
            None => self.pause(),
            Some(_) => LOOKED_FOR_AFTER,
        };
        let check_at = now + pause;
        (held.check_at <= now).then(|| Verified { check_at, ..held.clone() })
    }

    fn pause(&self) -> Duration {
        // FNV-1a: any function that spreads ids will do.
        let mix = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(16_777_619);
        let spread = self.id.bytes().fold(2_166_136_261, mix);
        CHECKED_AFTER + Duration::from_secs(u64::from(spread) % CHECKED_LATER.as_secs())
    }
}

impl Verified {
    pub(super) fn found(&self) -> Self {
        Self { missing_since: None, not_found_since: None, ..self.clone() }
    }

    pub(super) fn not_found(&self, finding: Finding, now: Timestamp) -> Self {
        let missing = (finding == Finding::Missing).then_some(now);
        let check_at = match self.not_found_since {
            None => self.check_at.min(now + LOOKED_FOR_AFTER),
            Some(_) => self.check_at,
        };
        Self {
            check_at,
            missing_since: self.missing_since.or(missing),
            not_found_since: self.not_found_since.or(Some(now)),
            ..self.clone()
        }
    }

    /// Says why it is lost, if it is after this finding.
    pub(super) fn is_over(&self, finding: Finding, now: Timestamp) -> Option<LostBecause> {
        let for_so_long = |since: Option<Timestamp>, most: Duration| {
            since.is_some_and(|since| now.since(since) >= most)
        };
        if finding == Finding::Missing && for_so_long(self.missing_since, LOST_AFTER_MISSING) {
            return Some(LostBecause::Missing);
        }
        for_so_long(self.not_found_since, LOST_UNANSWERED).then_some(LostBecause::Unanswered)
    }
}
