//! A flood of mails becomes one: the first of a kind in an hour is sent, the others are counted for a digest (adr/0153).

use crate::domain::{CLOCK_SKEW, Timestamp, message::MailContent};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};

/// So long after a mail the others of its kind are counted, and not sent.
pub const FOLDED_FOR: Duration = Duration::from_hours(1);

/// What becomes of a mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    /// It is sent, and says how many of its kind were counted and not told yet.
    Mail {
        others: u32,
    },
    Count,
}

/// What was counted, and not mailed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Folded {
    sign_ins: u32,
    changes: u32,
}

/// The last mail of each kind, and what was counted since; by the kind of its content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct AlertWindows(BTreeMap<String, AlertWindow>);

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
    /// Says whether a mail of this kind is sent now.
    pub(super) fn take(&mut self, kind: &str, now: Timestamp) -> Fold {
        match self.0.get_mut(kind) {
            Some(window) if window.is_open(now) => {
                window.folded = window.folded.saturating_add(1);
                Fold::Count
            }
            former => {
                let others = former.map_or(0, |window| window.folded);
                // What is over says nothing any more.
                self.0.retain(|_, window| window.folded > 0 || window.is_open(now));
                self.0.insert(kind.to_owned(), AlertWindow { since: now, folded: 0 });
                Fold::Mail { others }
            }
        }
    }

    /// Returns when the first digest is due.
    pub(super) fn due_at(&self) -> Option<Timestamp> {
        let waiting = self.0.values().filter(|window| window.folded > 0);
        waiting.map(|window| window.since + FOLDED_FOR).min()
    }

    /// Takes what was counted, if a digest is due: it is a mail, after which another hour begins.
    pub(super) fn take_due(&mut self, now: Timestamp) -> Option<Folded> {
        let due = self.due_at().is_some_and(|at| at <= now);
        due.then(|| self.take_all(now))
    }

    /// Takes what was counted, whether a digest is due or not.
    fn take_all(&mut self, now: Timestamp) -> Folded {
        let mut folded = Folded::default();
        for (kind, window) in self.0.iter_mut().filter(|(_, window)| window.folded > 0) {
            folded.add(kind, window.folded);
            *window = AlertWindow { since: now, folded: 0 };
        }
        folded
    }

    /// Takes what was counted for an address that is the account's no more; the next one begins anew.
    pub(super) fn close(&mut self, now: Timestamp) -> Folded {
        let folded = self.take_all(now);
        self.0.clear();
        folded
    }
}

impl Folded {
    fn add(&mut self, kind: &str, folded: u32) {
        let is_sign_in = ["new-device", "impossible-travel"].contains(&kind);
        let count = if is_sign_in { &mut self.sign_ins } else { &mut self.changes };
        *count = count.saturating_add(folded);
    }

    /// Returns the mails that tell it.
    pub(super) fn digests(self) -> impl Iterator<Item = MailContent> {
        let Self { sign_ins, changes } = self;
        let of_sign_ins = (sign_ins > 0).then_some(MailContent::AlertDigest { folded: sign_ins });
        let of_changes = (changes > 0).then_some(MailContent::NoticeDigest { folded: changes });
        of_sign_ins.into_iter().chain(of_changes)
    }
}
