//! What a person has granted a client: the root of a token family.

use super::{
    Requirement, Timestamp,
    account::Account,
    assurance::{Acr, Level, Method, SingleSignOn},
    authority::{
        Audience, Bound, GrantedAuthority, Permissions, RequestedAuthority, Scopes, Widening,
        narrow,
    },
    authorization_details::{Detail, Details},
    client::GrantType,
    consent::Parties,
    delegation::{Delegation, Root},
    epoch::is_first,
    requested_claims::RequestedClaims,
    resource::DetailType,
    session::Session,
    token_family::TokenFamily,
};
use serde::{Deserialize, Serialize};
use std::iter;

/// The grant types by which a client comes to hold a grant of a person.
pub const GRANTS_OF_PEOPLE: [GrantType; 4] = [
    GrantType::AuthorizationCode,
    GrantType::DeviceCode,
    GrantType::Ciba,
    GrantType::TokenExchange,
];

/// The organization that tokens speak for, and the membership by which they do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MembershipRef {
    /// `None` where the person speaks for it as a holder of `organizations:administer` (adr/0079).
    #[serde(default, alias = "membership", skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The slug of the organization.
    pub organization: String,
    /// The epoch of both, or of the organization alone, in which it was granted; it ends with it (adr/0038).
    #[serde(default, skip_serializing_if = "is_first")]
    pub epoch: u64,
}

/// Who granted what to whom, and on what evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub client_id: String,
    /// The id of the account; `None` where what was exchanged spoke for no person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// The epoch of the account and of the consents between it and every client that holds or held it, in
    /// which it was granted; it ends with it (adr/0081).
    #[serde(default, skip_serializing_if = "is_first")]
    pub epoch: u64,
    /// The session it was given in, if it was given in one; it ends with it, unless it is offline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The families it descends from, the first of them first; it ends with each of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parents: Vec<String>,
    /// `seat` in rows of an older binary.
    #[serde(default, alias = "seat", skip_serializing_if = "Option::is_none")]
    pub membership: Option<MembershipRef>,
    pub audience: Audience,
    pub scopes: Scopes,
    /// Claims that were granted one by one, beside those of the scopes.
    #[serde(default, skip_serializing_if = "RequestedClaims::is_empty")]
    pub claims: RequestedClaims,
    /// What was granted beside the scopes (RFC 9396).
    #[serde(default, skip_serializing_if = "Details::is_empty")]
    pub details: Details,
    /// When the person last proved who they are.
    pub authenticated_at: Timestamp,
    pub level: Level,
    pub methods: Vec<Method>,
    /// The single sign-on by which the person came to the organization; it ends with it (adr/0135).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign_on: Option<Box<SingleSignOn>>,
    /// Who acts for whom, where the client does not hold it by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegation: Option<Box<Delegation>>,
}

/// What limits a grant at this moment; gathered anew for every token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The scopes that each client which holds or held it was registered with, if it was limited to some.
    pub ceilings: Vec<Scopes>,
    /// What the person holds in the organization of the grant, if they are still a member of it and
    /// it is not suspended.
    pub held: Option<HeldPermissions>,
    /// What else it must not exceed there: what an API key permits, what an administrator holds.
    pub within: Vec<Permissions>,
    /// Every scope of the API that the grant is for.
    pub offered: Vec<String>,
    /// The types of details that the API has and the client may ask for, as far as they are needed.
    pub types: Vec<DetailType>,
    /// What the organization requires of a person now, for grants that people give.
    pub required: Acr,
    /// The connections of which the organization requires one of a person now; none where it requires none.
    pub required_connections: Vec<String>,
    /// The account or the consent is in another epoch than the grant: nothing of it is left.
    pub over: bool,
}

/// What is asked of an API.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    pub scopes: &'a Scopes,
    pub details: &'a Details,
}

/// What roles confer in one organization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldPermissions {
    pub organization: String,
    pub permissions: Permissions,
}

impl Limits {
    /// Grants what is asked, if everything that limits covers all of it.
    pub fn narrow(
        &self,
        organization: Option<&str>,
        audience: &Audience,
        wish: Wish<'_>,
    ) -> Result<GrantedAuthority, Widening> {
        let Wish { scopes, details } = wish;
        details.iter().try_for_each(|detail| self.judge(detail))?;
        let mut bounds = Vec::with_capacity(2);
        bounds.extend(self.ceilings.iter().map(Bound::Registered));
        match &self.held {
            None => bounds.push(Bound::NoMembership),
            Some(HeldPermissions { organization, permissions }) => {
                let all = iter::once(permissions).chain(&self.within);
                bounds.extend(all.map(|permissions| Bound::Roles { organization, permissions }));
            }
        }
        // The API that owns a scope today may not have owned it when it was granted.
        if let Audience::Resource(_) = audience
            && let Some(lost) = scopes.of_apis().find(|one| !self.offered.iter().any(|o| o == one))
        {
            return Err(Widening::NotOffered { scope: lost.to_owned() });
        }
        let asked = RequestedAuthority {
            organization: organization.map(str::to_owned),
            audience: audience.clone(),
            offered: self.offered.clone(),
            scopes: scopes.clone(),
            details: details.clone(),
        };
        narrow(asked, &bounds)
    }

    fn kind(&self, name: &str) -> Option<&DetailType> {
        self.types.iter().find(|kind| kind.name == name)
    }

    /// Refuses a detail that its type does not admit, or that the person may not grant.
    fn judge(&self, detail: &Detail) -> Result<(), Widening> {
        let kind = self.kind(detail.kind()).filter(|kind| kind.admits(detail));
        let kind = kind.ok_or(Widening::DetailsNotOffered)?;
        let holds = |permission: &str| {
            self.held.as_ref().is_some_and(|held| held.permissions.covers(permission))
                && self.within.iter().all(|within| within.covers(permission))
        };
        match &kind.permission {
            Some(permission) if !holds(permission.as_str()) => Err(Widening::DetailsNotConferred),
            _ => Ok(()),
        }
    }
}

impl Grant {
    /// Tells whether it outlives its session (OIDC Core §11).
    pub fn is_offline(&self) -> bool {
        self.scopes.contains("offline_access")
    }

    pub fn organization(&self) -> Option<&str> {
        self.membership.as_ref().map(|one| one.organization.as_str())
    }

    /// Passes on what is asked, or all of it, within everything that limits it now.
    pub fn narrow(
        &self,
        asked: Option<&Scopes>,
        details: Option<&Details>,
        limits: &Limits,
    ) -> Result<GrantedAuthority, Widening> {
        let scopes = asked.unwrap_or(&self.scopes);
        let rules = |kind: &str| limits.kind(kind).map(|kind| &kind.subset);
        if details.is_some_and(|part| !part.is_part_of(&self.details, rules)) {
            return Err(Widening::DetailsBeyondGrant);
        }
        // Not a bound among the others: a grant for an API that names no scope of it is measured by
        // roles and registration, as when it was given.
        if let Some(beyond) = scopes.iter().find(|scope| !self.scopes.contains(scope)) {
            return Err(Widening::BeyondGrant { scope: beyond.to_owned() });
        }
        let wish = Wish { scopes, details: details.unwrap_or(&self.details) };
        limits.narrow(self.organization(), &self.audience, wish)
    }

    /// Tells whether the person had proved as much as the organization requires now; a key proves
    /// nothing of that, and is good without.
    pub fn is_sure_enough(&self, limits: &Limits) -> bool {
        !self.rests_on_proof() || limits.required.is_met_at(self.level, &self.methods)
    }

    /// Tells whether the person came to the organization in the way that it requires now.
    pub fn came_as_required(&self, limits: &Limits) -> bool {
        let required = &limits.required_connections;
        let by = self.sign_on.as_ref().map(|sign_on| &sign_on.connection);
        !self.rests_on_member() || required.is_empty() || by.is_some_and(|by| required.contains(by))
    }

    /// Tells whether a person speaks for an organization as a member of it, in person or by a chain that they began.
    fn rests_on_member(&self) -> bool {
        let is_member = self.membership.as_ref().is_some_and(|one| one.id.is_some());
        is_member && !self.is_by_key()
    }

    /// Tells whether an API key is at its root: it is no person's, though one may stand behind the key.
    pub fn is_by_key(&self) -> bool {
        let by_key = |one: &Delegation| matches!(one.root, Root::ApiKey { .. });
        self.delegation.as_deref().is_some_and(by_key)
    }

    /// Tells whether a person has proved who they are for it.
    pub fn rests_on_proof(&self) -> bool {
        let by_another = |one: &Delegation| one.administrator.is_some();
        let by_another = self.delegation.as_deref().is_some_and(by_another);
        self.account.is_some() && !self.is_by_key() && !by_another
    }

    /// Lists the clients that hold it or held what it was exchanged for, its own last.
    pub fn clients(&self) -> impl Iterator<Item = &str> {
        let through = self.delegation.iter().flat_map(|one| &one.through).map(String::as_str);
        through.chain([self.client_id.as_str()])
    }

    /// Returns the epoch of everything that it rests on: none of the counts ever falls, so their sum is
    /// the same only while all of them are.
    pub fn epochs(&self) -> u64 {
        self.membership.as_ref().map_or(0, |one| one.epoch).saturating_add(self.epoch)
    }

    /// Lists the consents between the person and every client that holds it or held what it was exchanged for; a client
    /// that held it twice counts twice.
    pub fn consents(&self) -> impl Iterator<Item = String> {
        let organization = self.organization();
        self.account.iter().flat_map(move |account| {
            self.clients().map(move |client_id| {
                let (account, client_id) = (account.clone(), client_id.to_owned());
                let organization = organization.map(str::to_owned);
                Parties { account, client_id, organization }.id()
            })
        })
    }

    /// Returns the session that it ends with.
    pub fn bound_session(&self) -> Option<&str> {
        self.session.as_deref().filter(|_| !self.is_offline())
    }

    /// What must be live for it to confer anything; the versions of the rest come with its limits.
    pub fn ancestors(&self) -> Vec<Requirement> {
        let account = self.account.as_deref().map(Requirement::live::<Account>);
        let session = self.bound_session().map(Requirement::live::<Session>);
        let parents = self.parents.iter().map(|id| Requirement::live::<TokenFamily>(&**id));
        let sign_on = self.sign_on.iter().flat_map(|sign_on| sign_on.requirements());
        session.into_iter().chain(account).chain(parents).chain(sign_on).collect()
    }
}
