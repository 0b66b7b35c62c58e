//! What a person has granted a client: the root of a token family.

use super::{
    Requirement, Timestamp,
    account::Account,
    assurance::{Evidence, Level, Method},
    authority::{Asked, Audience, Bound, Granted, Permissions, Scopes, Widening, narrow},
    epoch::is_first,
    session::Session,
};
use serde::{Deserialize, Serialize};

/// A person's place in the one organization that tokens speak for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    /// The id of the membership.
    pub membership: String,
    /// The slug of the organization.
    pub organization: String,
    /// The epoch of both in which it was granted; it ends with it (adr/0038).
    #[serde(default, skip_serializing_if = "is_first")]
    pub epoch: u64,
}

/// Who granted what to whom, and on what evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub client_id: String,
    /// The id of the account.
    pub account: String,
    /// The session it was given in; it ends with it, unless it is offline.
    pub session: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<Seat>,
    pub audience: Audience,
    pub scopes: Scopes,
    /// When the person last proved who they are.
    pub authenticated_at: Timestamp,
    pub level: Level,
    pub methods: Vec<Method>,
}

/// What limits a grant at this moment; gathered anew for every token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The scopes the client was registered with, if it was limited to some.
    pub ceiling: Option<Scopes>,
    /// What the person holds in the organization of the grant, if they are still a member of it and
    /// it is not suspended.
    pub held: Option<Held>,
    /// Every scope of the API that the grant is for.
    pub offered: Vec<String>,
}

/// What roles confer in one organization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub organization: String,
    pub permissions: Permissions,
}

impl Limits {
    /// Grants what is asked, if everything that limits covers all of it.
    pub fn narrow(
        &self,
        organization: Option<&str>,
        audience: &Audience,
        scopes: &Scopes,
    ) -> Result<Granted, Widening> {
        let mut bounds = Vec::with_capacity(2);
        if let Some(scopes) = &self.ceiling {
            bounds.push(Bound::Registered(scopes));
        }
        bounds.push(match &self.held {
            None => Bound::NoMembership,
            Some(Held { organization, permissions }) => Bound::Roles { organization, permissions },
        });
        // Whoever owns a scope today may not have owned it when it was granted.
        if let Audience::Resource(_) = audience
            && let Some(lost) = scopes.of_apis().find(|one| !self.offered.iter().any(|o| o == one))
        {
            return Err(Widening::NotOffered { scope: lost.to_owned() });
        }
        let asked = Asked {
            organization: organization.map(str::to_owned),
            audience: audience.clone(),
            offered: self.offered.clone(),
            scopes: scopes.clone(),
        };
        narrow(asked, &bounds)
    }
}

impl Grant {
    /// Tells whether it outlives its session (OIDC Core §11).
    pub fn is_offline(&self) -> bool {
        self.scopes.contains("offline_access")
    }

    pub fn organization(&self) -> Option<&str> {
        self.seat.as_ref().map(|seat| seat.organization.as_str())
    }

    /// Passes on what is asked, or all of it, within everything that limits it now.
    pub fn narrow(&self, asked: Option<&Scopes>, limits: &Limits) -> Result<Granted, Widening> {
        let scopes = asked.unwrap_or(&self.scopes);
        // Not a bound among the others: whoever was let in to an API without naming a scope of it is
        // measured by roles and registration, as when the grant was given.
        if let Some(beyond) = scopes.iter().find(|scope| !self.scopes.contains(scope)) {
            return Err(Widening::BeyondGrant { scope: beyond.to_owned() });
        }
        limits.narrow(self.organization(), &self.audience, scopes)
    }

    /// What must be there for it to confer anything; the versions of the rest come from whoever
    /// gathered the limits.
    pub fn ancestors(&self) -> Vec<Requirement> {
        let account = Requirement::live::<Account>(&*self.account);
        let session = (!self.is_offline()).then(|| Requirement::live::<Session>(&*self.session));
        session.into_iter().chain([account]).collect()
    }
}

/// A person who has signed in, as far as a grant needs to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    pub account: String,
    pub evidence: Evidence,
}
