//! What is true of a person and a client at the moment somebody asks.

use super::{Denial, Settled};
use crate::domain::{
    Requirement,
    authority::{Audience, Permissions, Scopes},
    consent::Terms,
    grant::Held,
};
use serde::{Deserialize, Serialize};

/// Everything beside the request that decides what becomes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorizationFacts {
    /// The scopes the client was registered with, if it was limited to some.
    pub ceiling: Option<Scopes>,
    /// Every scope of the API asked for.
    pub offered: Vec<String>,
    /// The person's memberships that are enabled.
    pub memberships: Vec<MembershipChoice>,
    /// For the organization that will be spoken for, as far as it is settled.
    pub consent: ConsentRule,
    /// What beside the place was read and must still be so.
    pub requirements: Vec<Requirement>,
}

/// A membership, and what it confers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MembershipChoice {
    pub membership: String,
    /// The slug.
    pub organization: String,
    /// What people call the organization.
    pub name: String,
    /// It is not suspended.
    pub enabled: bool,
    /// Of membership and organization together.
    pub epoch: u64,
    pub permissions: Permissions,
    /// Membership and organization as they were read.
    pub requirements: Vec<Requirement>,
}

/// An organization to choose from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    pub slug: String,
    pub name: String,
}

/// When a person is asked whether a client may act for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConsentRule {
    /// Never: the client is the operator's own.
    FirstParty,
    /// Unless they consented to all of this before.
    Remembered(Option<Terms>),
    /// Every time: anyone could pose as this client (RFC 8252 §8.6).
    Always,
}

impl ConsentRule {
    pub(super) fn asks_for(&self, scopes: &Scopes, audience: &Audience) -> bool {
        match self {
            Self::FirstParty => false,
            Self::Remembered(None) | Self::Always => true,
            Self::Remembered(Some(given)) => !given.cover(scopes, audience),
        }
    }
}

impl MembershipChoice {
    pub(super) fn choice(&self) -> Choice {
        Choice { slug: self.organization.clone(), name: self.name.clone() }
    }

    pub(super) fn held(&self) -> Held {
        let (organization, permissions) = (self.organization.clone(), self.permissions.clone());
        Held { organization, permissions }
    }
}

/// Lists the organizations that a person with these memberships can choose from.
pub fn choices(memberships: &[MembershipChoice]) -> Vec<Choice> {
    memberships.iter().filter(|place| place.enabled).map(MembershipChoice::choice).collect()
}

impl AuthorizationFacts {
    /// Returns the slug of the organization that will be spoken for, as far as nobody must be asked.
    pub fn organization(&self, wanted: Option<&str>) -> Option<&str> {
        self.place(wanted).ok().flatten().map(|place| place.organization.as_str())
    }

    /// The organization asked for; else the only one; else the person chooses; or there is none.
    pub(super) fn place(&self, wanted: Option<&str>) -> Result<Option<&MembershipChoice>, Settled> {
        let denied = || Settled::Denied(Denial::NotAMember);
        if let Some(slug) = wanted {
            let place = self.memberships.iter().find(|place| place.organization == slug);
            // Suspended: it confers no authority.
            return place.filter(|place| place.enabled).map(Some).ok_or_else(denied);
        }
        let mut usable = self.memberships.iter().filter(|place| place.enabled);
        match (usable.next(), usable.next()) {
            (None, _) if self.memberships.is_empty() => Ok(None),
            (None, _) => Err(denied()),
            (Some(only), None) => Ok(Some(only)),
            (Some(_), Some(_)) => Err(Settled::ChooseOrganization(choices(&self.memberships))),
        }
    }
}
