//! A flood of alerts becomes one mail: the first of a kind in an hour is sent, the others are counted for a digest.

use super::AlertKind;
use crate::domain::{CLOCK_SKEW, Timestamp};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// So long after a mail the others of its kind are counted, and not sent.
pub const FOLDED_FOR: Duration = Duration::from_hours(1);

/// What becomes of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    /// It is sent, and says how many of its kind were counted and not told yet.
    Mail {
        others: u32,
    },
    Count,
}

/// The last mail of each kind, and what was counted since.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AlertWindows {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    new_device: Option<AlertWindow>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    impossible_travel: Option<AlertWindow>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct AlertWindow {
    since: Timestamp,
    #[serde(default)]
    folded: u32,
}

impl AlertWindow {
    /// A clock that went back by more than clocks differ opens no window that lasts for years.
    fn is_open(&self, now: Timestamp) -> bool {
        now.since(self.since) < FOLDED_FOR && self.since <= now + CLOCK_SKEW
    }
}

impl AlertWindows {
    fn all(&mut self) -> [&mut Option<AlertWindow>; 2] {
        [&mut self.new_device, &mut self.impossible_travel]
    }

    /// Says whether an alert is mailed now.
    pub(super) fn alert(&mut self, kind: AlertKind, now: Timestamp) -> Fold {
        let slot = match kind {
            AlertKind::NewDevice => &mut self.new_device,
            AlertKind::ImpossibleTravel => &mut self.impossible_travel,
        };
        match slot {
            Some(window) if window.is_open(now) => {
                window.folded = window.folded.saturating_add(1);
                Fold::Count
            }
            slot => {
                let others = slot.map_or(0, |window| window.folded);
                *slot = Some(AlertWindow { since: now, folded: 0 });
                Fold::Mail { others }
            }
        }
    }

    /// Returns when the first digest is due.
    pub(super) fn due_at(&self) -> Option<Timestamp> {
        let windows = [self.new_device, self.impossible_travel];
        let waiting = windows.into_iter().flatten().filter(|window| window.folded > 0);
        waiting.map(|window| window.since + FOLDED_FOR).min()
    }

    /// Takes what was counted, if a digest is due: it is a mail, after which another hour begins.
    pub(super) fn take_due(&mut self, now: Timestamp) -> Option<u32> {
        let due = self.due_at().is_some_and(|at| at <= now);
        if !due {
            return None;
        }
        let mut folded = 0_u32;
        for slot in self.all() {
            if let Some(window) = slot.as_mut().filter(|window| window.folded > 0) {
                folded = folded.saturating_add(window.folded);
                *window = AlertWindow { since: now, folded: 0 };
            }
        }
        Some(folded)
    }
}
