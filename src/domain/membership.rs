//! A membership: what one account is in one organization.
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | unborn | provision | enabled, or ended if the draft says so | the organization is unknown or suspended, or has no such role |
//! | enabled | provision | what was given replaced; ended if the draft says so | likewise |
//! | enabled | leave | ended; the person has left, and an invitation of theirs is withdrawn | the organization is suspended |
//! | ended | provision | enabled, with the rest of the draft | likewise; the person has left and was not invited again |
//! | unborn, pending | propose | pending: a directory has named a person who has not accepted yet | likewise |
//! | pending | provision on the person's word | enabled | likewise; the directory has deactivated it |
//! | pending, enabled, ended | remove | **removed** | the organization is suspended |
//! | pending, enabled, ended | erase | **removed**, with its organization (adr/0136) | |
//!
//! An ended membership confers nothing, but stays: its id is in tokens and in the security log, and it
//! is the same one that begins again, in another epoch: what rested on the one before stays ended
//! (adr/0038). A pending one has no account and confers nothing; only SCIM makes and removes them
//! (adr/0133). What the organization is comes with the command; that it still is so is a requirement of
//! the commit.

mod directory_entry;
mod known;

pub use directory_entry::{
    DUE_INVITATIONS, DirectoryEntry, INVITED_AGAIN_AFTER, Invitations, MOST_INVITATIONS,
    PENDING_ADDRESSES, Pending, Proposal, SCIM_EXTERNAL_IDS, SCIM_USER_NAMES, external_id_in,
    not_due, pending_address_in, user_name_in,
};
pub use known::{Draft, Known, Word};

use super::{
    Decision, Listing, Machine, Name, Provisioned, Record, Redrawn, Requirement, SubCommand,
    Timestamp,
    epoch::next_epoch,
    invitation::{self, Invitation},
    organization::{self, ORGANIZATION_DELETED},
};
use directory_entry::{due_invitation, role_members};
use known::records;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The list of an account's memberships by slug, ended ones among them.
pub const MEMBERSHIPS: &str = "memberships";

/// The list of an organization's memberships by account, ended ones among them.
pub const MEMBERS: &str = "members";

/// The list of the members who hold a role of an organization, by account; its owner is [`role_of`].
pub const ROLE_HOLDERS: &str = "role_holders";

/// The list of the Users who hold a role of an organization, by the id of the membership: pending ones, and ended
/// ones that a directory looks after, are among them. Its owner is [`role_of`].
pub const ROLE_MEMBERS: &str = "role_members";

/// The list of ended members who held a role of an organization, and whom no directory looks after: they hold it again
/// when they come back. Its owner is [`role_of`].
pub const FORMER_ROLE_MEMBERS: &str = "former_role_members";

/// No member holds more roles.
pub const MOST_ROLES: usize = 100;

/// Names a role of an organization: neither name has a space in it.
pub fn role_of(slug: &str, role: &str) -> String {
    format!("{slug} {role}")
}

/// The space of pairs of an account and an organization: they have one membership until it is removed.
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
    Pending(Box<Pending>),
    /// A directory has deleted it; its id is not used again.
    Removed {
        organization: String,
        forget_at: Timestamp,
    },
}

/// For so long a removed membership is kept: no token that names it lives longer.
const KEPT_AFTER_REMOVAL: Duration = Duration::from_hours(31 * 24);

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
    /// A directory names a person, who has not accepted yet.
    Propose { proposal: Box<Proposal>, home: Option<organization::Known> },
    /// A directory deletes the member.
    Remove { home: Option<organization::Known> },
    /// The organization is erased.
    Erase,
    /// The person was invited.
    NoteInvited,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Provisioned(Known),
    Proposed(Box<Pending>),
    Removed { organization: String, at: Timestamp },
    Invited { at: Timestamp },
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
    #[error("the membership is not one that this can be done to")]
    OtherState,
}

/// Checks what the organization has to say of a membership with these roles; those that were `held` are not asked for
/// again.
fn check(
    (slug, roles): (&str, &[String]),
    home: Option<&organization::Known>,
    held: &[String],
) -> Result<(), Refusal> {
    let home = home.filter(|home| home.slug == slug);
    let home = home.ok_or_else(|| Refusal::NoSuchOrganization(slug.to_owned()))?;
    if !home.enabled {
        return Err(Refusal::Suspended(slug.to_owned()));
    }
    match roles.iter().find(|role| !held.contains(role) && !home.has_role(role)) {
        Some(role) => {
            Err(Refusal::NoSuchRole { organization: slug.to_owned(), role: role.clone() })
        }
        None => Ok(()),
    }
}

impl Membership {
    pub fn known(&self) -> Option<&Known> {
        match self {
            Self::Known(known) => Some(known),
            Self::Unborn | Self::Pending(_) | Self::Removed { .. } => None,
        }
    }

    /// Returns the organization it is one of.
    pub fn organization(&self) -> Option<&str> {
        match self {
            Self::Known(known) => Some(&known.organization),
            Self::Pending(pending) => Some(&pending.organization),
            Self::Removed { organization, .. } => Some(organization),
            Self::Unborn => None,
        }
    }

    /// Tells whether the person is to be invited now.
    pub fn wants_invitation(&self, now: Timestamp) -> bool {
        let due = match self {
            Self::Known(known) => known.invitation_due(),
            Self::Pending(pending) => pending.invitation_due(),
            Self::Unborn | Self::Removed { .. } => None,
        };
        due.is_some_and(|due| due <= now)
    }

    pub fn pending(&self) -> Option<&Pending> {
        match self {
            Self::Pending(pending) => Some(pending),
            Self::Unborn | Self::Known(_) | Self::Removed { .. } => None,
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
        let held = match self {
            Self::Unborn => Known::new(draft, now),
            Self::Known(known) => known.clone(),
            Self::Pending(pending) => {
                let accepts = draft.word == Word::Person && pending.can_be_accepted();
                if !accepts {
                    return Err(Refusal::OtherState);
                }
                Known::accepted(pending, draft)
            }
            Self::Removed { .. } => return Err(Refusal::OtherState),
        };
        if (&held.account, &held.organization) != (&draft.account, &draft.organization) {
            return Err(Refusal::OtherPair);
        }
        // A directory asks a person back who has left; they come when they accept.
        let asked_back = held.left && draft.word == Word::Directory;
        let enabled = draft.enabled.filter(|_| !asked_back).unwrap_or(held.enabled);
        let next = Known {
            roles: draft.roles.as_deref().map_or(held.roles.clone(), unique),
            enabled,
            epoch: next_epoch(held.epoch, (held.enabled, enabled)),
            left: !enabled && (held.left || (held.enabled && draft.word == Word::Person)),
            entry: held.next_entry(draft, enabled),
            mapped: draft.mapped.clone().unwrap_or_else(|| held.mapped.clone()),
            ..held.clone()
        };
        if held.left && enabled && draft.word == Word::Managers {
            return Err(Refusal::Left);
        }
        let differs = [
            ("roles", next.roles != held.roles),
            ("enabled", next.enabled != held.enabled),
            ("entry", next.entry != held.entry),
            ("mapped", next.mapped != held.mapped),
        ];
        let outcome = Provisioned::of(existed, &differs);
        // A draft that changes nothing is accepted, though the organization may have changed.
        if outcome == Provisioned::Unchanged {
            return Ok(Redrawn { next, outcome, records: Vec::new() });
        }
        // A member who comes back is asked for every role again; one who goes, for none.
        let kept = if held.enabled || !next.enabled { &*held.roles } else { &[] };
        check((&next.organization, &next.roles), home, kept)?;
        let records = records((existed, &held), &next, draft.word);
        Ok(Redrawn { next, outcome, records })
    }

    fn propose(
        &self,
        proposal: &Proposal,
        home: Option<&organization::Known>,
        now: Timestamp,
    ) -> Decision<Self> {
        let held = match self {
            Self::Unborn => None,
            Self::Pending(held) if held.organization == proposal.organization => Some(&**held),
            _ => return Decision::refuse(Refusal::OtherState),
        };
        let next = proposal.pending(held, now);
        if let Some(held) = held {
            let changed_at = held.entry.changed_at;
            let entry = DirectoryEntry { changed_at, ..next.entry.clone() };
            let same = Pending { entry, ..next.clone() };
            if same == *held {
                return Decision::accept(Vec::new(), Provisioned::Unchanged);
            }
        }
        let kept = held.map(|held| &*held.roles).unwrap_or_default();
        if let Err(why) = check((&next.organization, &next.roles), home, kept) {
            return Decision::refuse(why);
        }
        let (event, outcome) = match held {
            None => ("membership.proposed", Provisioned::Created),
            Some(_) => ("membership.changed", Provisioned::Changed(vec!["entry"])),
        };
        let record = Record::new(event).in_organization(&*next.organization);
        let record = record.with("membership", &*next.id).with("cause", "scim");
        Decision::accept(vec![Event::Proposed(Box::new(next))], outcome).recording(record)
    }

    fn remove(&self, home: Option<&organization::Known>, now: Timestamp) -> Decision<Self> {
        let checked = self.organization().map_or(Ok(()), |slug| check((slug, &[]), home, &[]));
        match checked {
            Ok(()) => self.removed("scim", now),
            Err(why) => Decision::refuse(why),
        }
    }

    fn removed(&self, cause: &'static str, now: Timestamp) -> Decision<Self> {
        let (slug, record) = match self {
            Self::Known(known) => (&known.organization, known.record("membership.removed")),
            Self::Pending(pending) => {
                let record = Record::new("membership.removed");
                (&pending.organization, record.in_organization(&*pending.organization))
            }
            Self::Unborn | Self::Removed { .. } => return Decision::refuse(Refusal::OtherState),
        };
        let removed = Event::Removed { organization: slug.clone(), at: now };
        Decision::accept(vec![removed], Provisioned::Changed(vec!["removed"]))
            .recording(record.with("cause", cause))
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
    // 2: `epoch`; 3: `left`, which an older binary would forget; 4: `entry`, `Pending` and `Removed`
    const REVISION: u32 = 4;
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
            Command::Propose { proposal, home } => self.propose(proposal, home.as_ref(), now),
            Command::Remove { home } => self.remove(home.as_ref(), now),
            Command::Erase => self.removed(ORGANIZATION_DELETED, now),
            Command::NoteInvited => {
                if !self.wants_invitation(now) {
                    return Decision::refuse(Refusal::OtherState);
                }
                let invited = Event::Invited { at: now };
                Decision::accept(vec![invited], Provisioned::Changed(vec!["invitations"]))
            }
        }
    }

    fn apply(&mut self, event: &Event) {
        match (event, &mut *self) {
            (Event::Provisioned(known), _) => *self = Self::Known(known.clone()),
            (Event::Proposed(pending), _) => *self = Self::Pending(pending.clone()),
            (Event::Removed { organization, at }, _) => {
                let forget_at = *at + KEPT_AFTER_REMOVAL;
                *self = Self::Removed { organization: organization.clone(), forget_at };
            }
            (Event::Invited { at }, Self::Known(Known { entry: Some(entry), .. })) => {
                entry.invitations = entry.invitations.and_one(*at);
            }
            (Event::Invited { at }, Self::Pending(pending)) => {
                pending.entry.invitations = pending.entry.invitations.and_one(*at);
            }
            (Event::Invited { .. }, _) => {}
        }
    }

    /// An ended membership confers nothing.
    fn live_until(&self) -> Timestamp {
        match self {
            Self::Known(known) if known.enabled => Timestamp::FOREVER,
            _ => Timestamp::NEVER,
        }
    }

    fn forget_at(&self) -> Option<Timestamp> {
        match self {
            Self::Removed { forget_at, .. } => Some(*forget_at),
            _ => None,
        }
    }

    fn names(&self) -> Vec<Name> {
        match self {
            Self::Known(Known { account, organization, entry, .. }) => {
                let pair = Name::new(MEMBERSHIP_PAIRS, pair(account, organization));
                let of_entry = entry.iter().flat_map(|entry| entry.names(organization));
                [pair].into_iter().chain(of_entry).collect()
            }
            Self::Pending(pending) => pending.names(),
            Self::Unborn | Self::Removed { .. } => Vec::new(),
        }
    }

    fn listings(&self) -> Vec<Listing> {
        if let Self::Pending(pending) = self {
            return pending.listings();
        }
        let Some(known) = self.known() else { return Vec::new() };
        let Known { id, account, organization, roles, enabled, entry, .. } = known;
        let mut listings = vec![
            Listing::new(MEMBERSHIPS, &**account, &**organization),
            Listing::new(MEMBERS, &**organization, &**account),
        ];
        let holds =
            |role: &String| Listing::new(ROLE_HOLDERS, role_of(organization, role), &**account);
        listings.extend(roles.iter().filter(|_| *enabled).map(holds));
        let is_listed = *enabled || entry.is_some();
        let list = if is_listed { ROLE_MEMBERS } else { FORMER_ROLE_MEMBERS };
        listings.extend(role_members(list, organization, roles, id));
        listings.extend(known.invitation_due().map(due_invitation));
        listings
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_directory;
