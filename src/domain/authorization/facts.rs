//! What is true of a person and a client at the moment of a request.

use super::{Denial, RequestedGrant, Settled};
use crate::domain::{
    Requirement,
    assurance::Acr,
    authority::{Permissions, Scopes},
    authorization_details::{Detail, Rendered},
    consent::Terms,
    grant::HeldPermissions,
    resource::DetailType,
};
use serde::{Deserialize, Serialize};

/// Everything beside the request that decides what becomes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorizationFacts {
    /// The scopes the client was registered with, if it was limited to some.
    pub ceiling: Option<Scopes>,
    /// The API asked for, if one is.
    pub resource: Option<ResourceChoice>,
    /// Every scope of that API.
    pub offered: Vec<String>,
    /// The types of the details that are asked for, as far as the API has them and the client may ask
    /// for them.
    pub types: Vec<DetailType>,
    /// The person's memberships that are enabled.
    pub memberships: Vec<MembershipChoice>,
    /// The one organization that the client serves, if it serves the members of one only.
    pub members_of: Option<String>,
    /// For the organization that will be spoken for, as far as it is settled.
    pub consent: ConsentRule,
    /// How often the person has ended what they let the client do; see [`crate::domain::consent`].
    pub consent_epoch: u64,
    /// How often the redirect URIs of the client have changed; `None` where no consent to it is remembered.
    pub remembers: Option<u64>,
    /// The client is told when the session ends (OIDC Back-Channel Logout).
    pub hears_of_logout: bool,
    /// What beside the membership was read and must still be so.
    pub requirements: Vec<Requirement>,
}

/// A membership, and what it confers; or what a holder of `organizations:administer` has in an
/// organization without being a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MembershipChoice {
    /// `None` where the person administers the organization.
    pub membership: Option<String>,
    /// The slug.
    pub organization: String,
    /// What people call the organization.
    pub name: String,
    /// It is not suspended.
    pub enabled: bool,
    /// Of membership and organization together.
    pub epoch: u64,
    /// The names of the roles that it gives there.
    pub roles: Vec<String>,
    pub permissions: Permissions,
    /// The number of the last sign-out of the organization's people.
    pub signed_out: u64,
    /// What the organization requires a person to have proved.
    pub required: Acr,
    /// The connections of which the person must have come by one, if the organization requires that.
    pub required_connections: Vec<String>,
    /// Membership and organization as they were read.
    pub requirements: Vec<Requirement>,
}

/// An organization to choose from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    pub slug: String,
    pub name: String,
}

/// An API, as a person is told of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceChoice {
    pub identifier: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// What a person is asked to consent to beside the scopes: what the tokens will say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsentQuestion {
    /// The organization that tokens would speak for, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization: Option<Choice>,
    /// The API that tokens would be for, if they are for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<ResourceChoice>,
    /// The role names that tokens would carry: none where no scope of an API is asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// The claims that the client would learn beside those of the scopes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<String>,
    /// The details that tokens would carry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<ShownDetail>,
}

/// A detail, and how it reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownDetail {
    pub detail: Detail,
    pub text: Rendered,
}

/// When a person is asked whether a client may act for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConsentRule {
    /// Never: the client is the operator's own.
    FirstParty,
    /// Unless they consented to all of this before.
    Remembered(Option<Terms>),
    /// Every time: any program could pose as this client (RFC 8252 §8.6).
    Always,
}

impl ConsentRule {
    pub(super) fn asks_for(&self, wanted: &RequestedGrant) -> bool {
        match self {
            Self::FirstParty => false,
            Self::Remembered(None) | Self::Always => true,
            // What was asked for in detail once is not consented to for ever.
            Self::Remembered(Some(_)) if !wanted.details.is_empty() => true,
            Self::Remembered(Some(given)) => !given.cover(&wanted.to_consent()),
        }
    }
}

impl MembershipChoice {
    pub fn choice(&self) -> Choice {
        Choice { slug: self.organization.clone(), name: self.name.clone() }
    }

    pub(super) fn held(&self) -> HeldPermissions {
        let (organization, permissions) = (self.organization.clone(), self.permissions.clone());
        HeldPermissions { organization, permissions }
    }
}

/// Lists the organizations that a person with these memberships can choose from.
pub fn choices(memberships: &[MembershipChoice]) -> Vec<Choice> {
    memberships.iter().filter(|one| one.enabled).map(MembershipChoice::choice).collect()
}

impl AuthorizationFacts {
    /// Returns the slug of the organization that will be spoken for, unless the person must choose.
    pub fn organization(&self, wanted: Option<&str>) -> Option<&str> {
        self.membership(wanted).ok().flatten().map(|one| one.organization.as_str())
    }

    /// Says what consent is asked for, with this membership.
    pub(super) fn question(
        &self,
        membership: Option<&MembershipChoice>,
        wanted: &RequestedGrant,
    ) -> ConsentQuestion {
        let has_api_scope = wanted.scopes.of_apis().next().is_some();
        let roles = membership.filter(|_| has_api_scope).map(|one| one.roles.clone());
        ConsentQuestion {
            organization: membership.map(MembershipChoice::choice),
            resource: self.resource.clone(),
            roles: roles.unwrap_or_default(),
            claims: wanted.claims.beyond(&wanted.scopes),
            details: wanted.details.iter().filter_map(|detail| self.shown(detail)).collect(),
        }
    }

    fn shown(&self, detail: &Detail) -> Option<ShownDetail> {
        let kind = self.types.iter().find(|kind| kind.name == detail.kind())?;
        Some(ShownDetail { detail: detail.clone(), text: kind.text.render(detail) })
    }

    /// The organization asked for; else the only one; else the person chooses; or there is none.
    pub(super) fn membership(
        &self,
        wanted: Option<&str>,
    ) -> Result<Option<&MembershipChoice>, Settled> {
        let denied = || Settled::Denied(Denial::NotAMember);
        let only = self.members_of.as_deref();
        if only.zip(wanted).is_some_and(|(only, wanted)| only != wanted) {
            return Err(denied());
        }
        let wanted = only.or(wanted);
        if let Some(slug) = wanted {
            let named = self.memberships.iter().find(|one| one.organization == slug);
            // Suspended: it confers no authority.
            return named.filter(|one| one.enabled).map(Some).ok_or_else(denied);
        }
        let mut usable = self.memberships.iter().filter(|one| one.enabled);
        match (usable.next(), usable.next()) {
            (None, _) if self.memberships.is_empty() => Ok(None),
            (None, _) => Err(denied()),
            (Some(only), None) => Ok(Some(only)),
            (Some(_), Some(_)) => Err(Settled::ChooseOrganization(choices(&self.memberships))),
        }
    }
}
