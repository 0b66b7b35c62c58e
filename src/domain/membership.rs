//! A membership: what one account is in one organization.
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | unborn | provision | enabled, or ended if the draft says so | the organization is unknown or suspended, or has no such role |
//! | enabled | provision | what was given replaced; ended if the draft says so | likewise |
//! | enabled | leave | ended; the person has left, and an invitation of theirs is withdrawn | the organization is suspended |
//! | ended | provision | enabled, with the rest of the draft | likewise; the person has left and was not invited again |
//!
//! An ended membership confers nothing, but stays: its id is in tokens and in the security log, and it
//! is the same one that begins again, in another epoch: what rested on the one before stays ended
//! (adr/0038). What the organization is comes with the command; that it still is so is a requirement of
//! the commit.

use super::{
    Decision, Listing, Machine, Name, Provisioned, Record, Redrawn, Requirement, SubCommand,
    Timestamp,
    epoch::{is_first, next_epoch},
    invitation::{self, Invitation},
    organization,
};
use serde::{Deserialize, Serialize};
use std::ops::Not;

/// The list of an account's memberships by slug, ended ones among them.
pub const MEMBERSHIPS: &str = "memberships";

/// The list of an organization's memberships by account, ended ones among them.
pub const MEMBERS: &str = "members";

/// The list of the members who hold a role of an organization, by account; its owner is [`role_of`].
pub const ROLE_HOLDERS: &str = "role_holders";

/// Names a role of an organization: neither name has a space in it.
pub fn role_of(slug: &str, role: &str) -> String {
    format!("{slug} {role}")
}

/// The space of pairs of an account and an organization: they have one membership, ever.
pub const MEMBERSHIP_PAIRS: &str = "membership_pairs";

/// Returns the name of what `account` is in the organization `slug`.
pub fn pair(account: &str, slug: &str) -> String {
    format!("{account}:{slug}")
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Membership {
    #[default]
    Unborn,
    Known(Known),
}

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
}

/// What is to be; what is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    /// What the membership will be known by, if it is created.
    pub id: String,
    pub account: String,
    pub organization: String,
    pub roles: Option<Vec<String>>,
    pub enabled: Option<bool>,
    pub word: Word,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// `home` is the organization of the membership, as it is now.
    Provision { draft: Draft, home: Option<organization::Known> },
    /// The person leaves.
    Leave {
        home: Option<organization::Known>,
        /// The id of an invitation that waits for them there: who leaves is asked again before they come back.
        invitation: Option<String>,
        /// What was read and must still be so.
        requirements: Vec<Requirement>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Provisioned(Known),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("there is no organization `{0}`")]
    NoSuchOrganization(String),
    #[error("the organization `{0}` is suspended and accepts no change")]
    Suspended(String),
    #[error("the organization `{organization}` has no role `{role}`")]
    NoSuchRole { organization: String, role: String },
    #[error("a membership stays with its account and its organization: make another")]
    OtherPair,
    #[error("the person has left the organization: invite them again")]
    Left,
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

    /// What the person wants who leaves.
    fn leaving(&self) -> Draft {
        Draft {
            id: self.id.clone(),
            account: self.account.clone(),
            organization: self.organization.clone(),
            roles: None,
            enabled: Some(false),
            word: Word::Person,
        }
    }

    fn new(draft: &Draft, now: Timestamp) -> Self {
        Self {
            id: draft.id.clone(),
            account: draft.account.clone(),
            organization: draft.organization.clone(),
            roles: Vec::new(),
            enabled: true,
            created_at: now,
            epoch: 0,
            left: false,
        }
    }

    /// Checks what the organization has to say; roles that were `held` are not asked for again.
    fn check(&self, home: Option<&organization::Known>, held: &[String]) -> Result<(), Refusal> {
        let organization = || self.organization.clone();
        let home = home.filter(|home| home.slug == self.organization);
        let home = home.ok_or_else(|| Refusal::NoSuchOrganization(organization()))?;
        if !home.enabled {
            return Err(Refusal::Suspended(organization()));
        }
        match self.roles.iter().find(|role| !held.contains(role) && !home.has_role(role)) {
            Some(role) => {
                Err(Refusal::NoSuchRole { organization: organization(), role: role.clone() })
            }
            None => Ok(()),
        }
    }

    fn record(&self, event: &'static str) -> Record {
        Record::new(event).in_organization(&*self.organization).with("account", &*self.account)
    }
}

impl Membership {
    pub fn known(&self) -> Option<&Known> {
        match self {
            Self::Unborn => None,
            Self::Known(known) => Some(known),
        }
    }

    fn provision(
        &self,
        draft: &Draft,
        home: Option<&organization::Known>,
        now: Timestamp,
    ) -> Decision<Self> {
        match self.redraw(draft, home, now) {
            Ok(redrawn) => redrawn.decide(Event::Provisioned, |outcome| outcome),
            Err(why) => Decision::refuse(why),
        }
    }

    fn redraw(
        &self,
        draft: &Draft,
        home: Option<&organization::Known>,
        now: Timestamp,
    ) -> Result<Redrawn<Known>, Refusal> {
        let existed = self.known().is_some();
        let held = self.known().cloned().unwrap_or_else(|| Known::new(draft, now));
        if (&held.account, &held.organization) != (&draft.account, &draft.organization) {
            return Err(Refusal::OtherPair);
        }
        let enabled = draft.enabled.unwrap_or(held.enabled);
        let next = Known {
            roles: draft.roles.as_deref().map_or(held.roles.clone(), unique),
            enabled,
            epoch: next_epoch(held.epoch, (held.enabled, enabled)),
            left: !enabled && (held.left || (held.enabled && draft.word == Word::Person)),
            ..held.clone()
        };
        if held.left && enabled && draft.word == Word::Managers {
            return Err(Refusal::Left);
        }
        let differs =
            [("roles", next.roles != held.roles), ("enabled", next.enabled != held.enabled)];
        let outcome = Provisioned::of(existed, &differs);
        // A draft that changes nothing is accepted, though the organization may have changed.
        if outcome == Provisioned::Unchanged {
            return Ok(Redrawn { next, outcome, records: Vec::new() });
        }
        // A member who comes back is asked for every role again; one who goes, for none.
        let kept = if held.enabled || !next.enabled { &*held.roles } else { &[] };
        next.check(home, kept)?;
        let mut records = Vec::new();
        if !existed {
            records.push(next.record("membership.created"));
        } else if next.roles != held.roles {
            records.push(next.record("membership.changed").with("fields", "roles"));
        }
        match (held.enabled, next.enabled) {
            (true, false) => records.push(next.record("membership.ended")),
            (false, true) => records.push(next.record("membership.resumed")),
            _ => {}
        }
        Ok(Redrawn { next, outcome, records })
    }
}

/// A role that is given twice counts once.
fn unique(roles: &[String]) -> Vec<String> {
    let mut kept: Vec<String> = Vec::with_capacity(roles.len());
    for role in roles {
        if !kept.contains(role) {
            kept.push(role.clone());
        }
    }
    kept
}

impl Machine for Membership {
    const KIND: &'static str = "membership";
    // 2: `epoch`; 3: `left`, which an older binary would forget
    const REVISION: u32 = 3;
    type Command = Command;
    type Event = Event;
    type Reply = Provisioned;
    type Refusal = Refusal;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        match command {
            Command::Provision { draft, home } => self.provision(draft, home.as_ref(), now),
            Command::Leave { home, invitation, requirements } => {
                let Some(known) = self.known() else { return Decision::refuse(Refusal::OtherPair) };
                let decision = self.provision(&known.leaving(), home.as_ref(), now);
                let withdraw = invitation.iter().map(|id| {
                    // One that is over meanwhile needs no end.
                    let withdraw = invitation::Command::Withdraw;
                    SubCommand::to::<Invitation>(&**id, withdraw, |_over, _| Ok(()))
                });
                let decision = withdraw.fold(decision, Decision::commanding);
                requirements.iter().cloned().fold(decision, Decision::requiring)
            }
        }
    }

    fn apply(&mut self, event: &Event) {
        let Event::Provisioned(known) = event;
        *self = Self::Known(known.clone());
    }

    /// An ended membership confers nothing.
    fn live_until(&self) -> Timestamp {
        match self {
            Self::Known(known) if known.enabled => Timestamp::FOREVER,
            Self::Known(_) | Self::Unborn => Timestamp::NEVER,
        }
    }

    fn names(&self) -> Vec<Name> {
        let name =
            |known: &Known| Name::new(MEMBERSHIP_PAIRS, pair(&known.account, &known.organization));
        self.known().map(name).into_iter().collect()
    }

    fn listings(&self) -> Vec<Listing> {
        let Some(Known { account, organization, roles, enabled, .. }) = self.known() else {
            return Vec::new();
        };
        let mut listings = vec![
            Listing::new(MEMBERSHIPS, &**account, &**organization),
            Listing::new(MEMBERS, &**organization, &**account),
        ];
        let holds =
            |role: &String| Listing::new(ROLE_HOLDERS, role_of(organization, role), &**account);
        listings.extend(roles.iter().filter(|_| *enabled).map(holds));
        listings
    }
}

#[cfg(test)]
mod tests;
