//! A membership of an account: what was given, and what a draft makes of it.

use super::{DirectoryEntry, Invitations, Pending};
use crate::domain::{Record, Timestamp, epoch::is_first, organization};
use serde::{Deserialize, Serialize};
use std::ops::Not;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// A UUID in lower case; what tokens call `membership`.
    pub id: String,
    /// The account's id.
    pub account: String,
    /// The organization's slug.
    pub organization: String,
    /// As they were given; see [`Known::roles_at`].
    pub roles: Vec<String>,
    pub enabled: bool,
    pub created_at: Timestamp,
    /// How often it was enabled again; see [`Known::epoch_at`].
    #[serde(default, skip_serializing_if = "is_first")]
    pub epoch: u64,
    /// The person has left by themself: no administrator brings them back without an invitation.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub left: bool,
    /// Those of its roles that single sign-on has mapped; they are set at each sign-in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mapped: Vec<String>,
    /// What a directory says of the member, where one looks after them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<Box<DirectoryEntry>>,
}

/// On whose word a membership changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Word {
    /// Of those who manage the members.
    #[default]
    Managers,
    /// Of the person, who leaves or has accepted an invitation.
    Person,
    /// Of the operator, by a file.
    Operator,
    /// Of the organization's directory, by SCIM.
    Directory,
}

impl Word {
    /// What the security log says of the cause, where it is not said by who acts.
    fn cause(self) -> Option<&'static str> {
        match self {
            Self::Directory => Some("scim"),
            Self::Managers | Self::Person | Self::Operator => None,
        }
    }
}

/// What is to be; what is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    /// What the membership will be known by, if it is created.
    pub id: String,
    pub account: String,
    pub organization: String,
    pub roles: Option<Vec<String>>,
    /// Those of `roles` that single sign-on has mapped.
    pub mapped: Option<Vec<String>>,
    pub enabled: Option<bool>,
    pub entry: Option<Box<DirectoryEntry>>,
    pub word: Word,
}

impl Known {
    /// Returns those of its roles that the organization has: it may have dropped one since.
    pub fn roles_at<'a>(&'a self, home: &organization::Known) -> Vec<&'a str> {
        let roles = self.roles.iter().map(String::as_str);
        roles.filter(|role| home.has_role(role)).collect()
    }

    /// Returns the epoch in which it speaks for its organization.
    ///
    /// Neither count ever falls, so their sum is the same only while both are.
    pub fn epoch_at(&self, home: &organization::Known) -> u64 {
        self.epoch.saturating_add(home.epoch)
    }

    /// Returns the epoch in which its person speaks for the organization, and not a key of theirs: it ends with each
    /// sign-out as well (adr/0140).
    pub fn person_epoch_at(&self, home: &organization::Known) -> u64 {
        self.epoch.saturating_add(home.person_epoch())
    }

    /// What the person wants who leaves.
    pub(super) fn leaving(&self) -> Draft {
        Draft {
            id: self.id.clone(),
            account: self.account.clone(),
            organization: self.organization.clone(),
            roles: None,
            mapped: None,
            enabled: Some(false),
            entry: None,
            word: Word::Person,
        }
    }

    pub(super) fn new(draft: &Draft, now: Timestamp) -> Self {
        Self {
            id: draft.id.clone(),
            account: draft.account.clone(),
            organization: draft.organization.clone(),
            roles: Vec::new(),
            enabled: true,
            created_at: now,
            epoch: 0,
            left: false,
            mapped: Vec::new(),
            entry: None,
        }
    }

    /// Lists the roles that were given otherwise than by single sign-on.
    pub fn roles_besides_mapped(&self) -> Vec<String> {
        self.roles.iter().filter(|role| !self.mapped.contains(role)).cloned().collect()
    }

    /// What a pending member becomes who accepts.
    pub(super) fn accepted(pending: &Pending, draft: &Draft) -> Self {
        Self {
            id: pending.id.clone(),
            roles: pending.roles.clone(),
            entry: Some(Box::new(pending.entry.clone())),
            ..Self::new(draft, pending.created_at)
        }
    }

    /// Returns what the directory says after a draft; on any other word it says what has become of the membership.
    pub(super) fn next_entry(&self, draft: &Draft, enabled: bool) -> Option<Box<DirectoryEntry>> {
        if let Some(entry) = &draft.entry {
            let mut same = entry.clone();
            if let Some(held) = self.entry.as_deref() {
                same.changed_at = held.changed_at;
            }
            let is_same = self.entry.as_ref() == Some(&same);
            return Some(if is_same { same } else { entry.clone() });
        }
        let mut entry = self.entry.clone()?;
        if enabled != self.enabled {
            entry.active = enabled;
            entry.invitations = Invitations::default();
        }
        Some(entry)
    }

    /// Returns the time from which on a person who has left is to be invited, where a directory wants them back.
    pub(super) fn invitation_due(&self) -> Option<Timestamp> {
        let entry = self.entry.as_deref().filter(|entry| self.left && entry.active);
        entry.and_then(DirectoryEntry::invitation_due)
    }

    /// Tells whether the member is active as a directory sees it.
    pub fn is_active(&self) -> bool {
        let entry = self.entry.as_deref();
        self.enabled || (self.left && entry.is_some_and(|entry| entry.active))
    }

    pub(super) fn record(&self, event: &'static str) -> Record {
        Record::new(event).in_organization(&*self.organization).with("account", &*self.account)
    }
}

/// Says what has become of a membership.
pub(super) fn records((existed, held): (bool, &Known), next: &Known, word: Word) -> Vec<Record> {
    let mut records = Vec::new();
    if !existed {
        records.push(next.record("membership.created"));
    } else if next.roles != held.roles {
        records.push(next.record("membership.changed").with("fields", "roles"));
    } else if next.enabled == held.enabled && word == Word::Directory {
        records.push(next.record("membership.changed").with("fields", "entry"));
    }
    match (held.enabled, next.enabled) {
        (true, false) => records.push(next.record("membership.ended")),
        (false, true) => records.push(next.record("membership.resumed")),
        _ => {}
    }
    let with_cause = |record: Record| match word.cause() {
        Some(cause) => record.with("cause", cause),
        None => record,
    };
    records.into_iter().map(with_cause).collect()
}
