//! What a directory says of a member by SCIM, and a member who has not accepted yet (adr/0133).

use super::{MEMBERS, ROLE_MEMBERS, role_of, unique};
use crate::domain::{
    Listing, Name, Timestamp,
    account::normalise_email,
    scim::{filter::fold_case, resource::User},
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The space of the `userName`s of an organization, without regard to case.
pub const SCIM_USER_NAMES: &str = "scim_user_names";

/// The space of the `externalId`s of Users of an organization.
pub const SCIM_EXTERNAL_IDS: &str = "scim_external_ids";

/// The space of addresses that pending Users of an organization have.
pub const PENDING_ADDRESSES: &str = "pending_addresses";

/// The list of memberships whose person is to be invited, or invited again, by the time from which on.
pub const DUE_INVITATIONS: &str = "due_invitations";

/// A person who has not accepted is invited again after so long; the link of before has expired by then.
pub const INVITED_AGAIN_AFTER: Duration = Duration::from_hours(14 * 24);

/// So often a person is invited for what a directory wants.
pub const MOST_INVITATIONS: u32 = 4;

/// Returns a `userName` as a name within the organization `slug`.
pub fn user_name_in(slug: &str, user_name: &str) -> String {
    format!("{slug} {}", fold_case(user_name))
}

/// Returns an `externalId` as a name within the organization `slug`.
pub fn external_id_in(slug: &str, external_id: &str) -> String {
    format!("{slug} {external_id}")
}

/// Returns the address of a pending User as a name within the organization `slug`.
pub fn pending_address_in(slug: &str, address: &str) -> String {
    let normal = normalise_email(address);
    format!("{slug} {}", normal.as_deref().unwrap_or(address))
}

/// What a directory says of a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryEntry {
    /// As it was sent, in its canonical form.
    pub user: User,
    /// What the directory wants, which is not always so: a person who has left must accept again.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub active: bool,
    pub changed_at: Timestamp,
    /// The `externalId` that came with an account which SCIM made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub came_with: Option<String>,
    /// Those since this was wanted.
    #[serde(default, skip_serializing_if = "Invitations::is_none")]
    pub invitations: Invitations,
}

/// How often a person was invited, and when last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitations {
    count: u32,
    last_at: Timestamp,
}

impl Invitations {
    pub fn is_none(&self) -> bool {
        self.count == 0
    }

    /// Counts one more.
    #[must_use]
    pub fn and_one(self, at: Timestamp) -> Self {
        Self { count: self.count.saturating_add(1), last_at: at }
    }
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_yes(value: &bool) -> bool {
    *value
}

impl DirectoryEntry {
    /// Returns the time from which on the person is to be invited, if they are to be.
    pub(super) fn invitation_due(&self) -> Option<Timestamp> {
        match self.invitations {
            Invitations { count: 0, .. } => Some(self.changed_at),
            Invitations { count: MOST_INVITATIONS.., .. } => None,
            Invitations { last_at, .. } => Some(last_at + INVITED_AGAIN_AFTER),
        }
    }

    /// Lists the names that a member with this entry holds.
    pub(super) fn names(&self, slug: &str) -> impl Iterator<Item = Name> {
        let external_id = self.user.external_id();
        let external_id = external_id
            .map(|external_id| Name::new(SCIM_EXTERNAL_IDS, external_id_in(slug, external_id)));
        let user_name = Name::new(SCIM_USER_NAMES, user_name_in(slug, self.user.user_name()));
        [user_name].into_iter().chain(external_id)
    }
}

/// A member whom a directory has named and who has not accepted yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// A UUID in lower case; the membership keeps it.
    pub id: String,
    pub organization: String,
    pub roles: Vec<String>,
    pub created_at: Timestamp,
    /// Where an invitation goes; without one no person can accept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    pub entry: DirectoryEntry,
}

impl Pending {
    /// Tells whether the person may become a member.
    pub fn can_be_accepted(&self) -> bool {
        self.entry.active && self.address.is_some()
    }

    /// Returns the time from which on the person is to be invited, if they are to be.
    pub(super) fn invitation_due(&self) -> Option<Timestamp> {
        self.entry.invitation_due().filter(|_| self.can_be_accepted())
    }

    pub(super) fn names(&self) -> Vec<Name> {
        let slug = &self.organization;
        let address = self.address.as_deref();
        let address =
            address.map(|address| Name::new(PENDING_ADDRESSES, pending_address_in(slug, address)));
        self.entry.names(slug).chain(address).collect()
    }

    pub(super) fn listings(&self) -> Vec<Listing> {
        let (slug, id) = (&self.organization, &self.id);
        let mut listings = vec![Listing::new(MEMBERS, &**slug, &**id)];
        listings.extend(role_members(ROLE_MEMBERS, slug, &self.roles, id));
        listings.extend(self.invitation_due().map(due_invitation));
        listings
    }
}

/// What is to be of a pending member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// What the membership will be known by, if it is created.
    pub id: String,
    pub organization: String,
    /// What is `None` stays as it is.
    pub roles: Option<Vec<String>>,
    pub address: Option<String>,
    pub entry: DirectoryEntry,
}

impl Proposal {
    pub(super) fn pending(&self, held: Option<&Pending>, now: Timestamp) -> Pending {
        let held_roles = held.map(|held| held.roles.clone()).unwrap_or_default();
        Pending {
            id: held.map_or_else(|| self.id.clone(), |held| held.id.clone()),
            organization: self.organization.clone(),
            roles: self.roles.as_deref().map_or(held_roles, unique),
            created_at: held.map_or(now, |held| held.created_at),
            address: self.address.clone(),
            entry: self.entry.clone(),
        }
    }
}

/// Lists the roles of a User, in the lists of which Groups are made.
pub(super) fn role_members(
    list: &'static str,
    slug: &str,
    roles: &[String],
    id: &str,
) -> impl Iterator<Item = Listing> {
    roles.iter().map(move |role| Listing::new(list, role_of(slug, role), id))
}

/// The place in the list of those who are to be invited.
fn due_rank(at: Timestamp) -> String {
    format!("{:015}", at.millis())
}

pub(super) fn due_invitation(at: Timestamp) -> Listing {
    Listing::new(DUE_INVITATIONS, "", due_rank(at))
}

/// Returns the first place of the list that is not due yet.
pub fn not_due(now: Timestamp) -> String {
    due_rank(now + Duration::from_millis(1))
}
