//! The one function through which authority is passed on.

use super::{Audience, OIDC_SCOPES, Permissions, Scopes};
use crate::domain::authorization_details::Details;

/// The authority that a caller requests, all of it or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedAuthority {
    /// The slug of the one organization to speak for.
    pub organization: Option<String>,
    pub audience: Audience,
    /// Every scope of the API it is for; needed only where none of them is asked for.
    pub offered: Vec<String>,
    pub scopes: Scopes,
    /// What is asked beside the scopes, judged by its types already.
    pub details: Details,
}

/// Something that limits the asker; all of them must cover all that is asked.
#[derive(Clone, Copy, Debug)]
pub enum Bound<'a> {
    /// The `scope` a client was registered with: these and no others may be passed on.
    Registered(&'a Scopes),
    /// What roles confer in one organization; the scopes of OpenID Connect need no role.
    Roles { organization: &'a str, permissions: &'a Permissions },
    /// There is no organization to speak for, hence no API scope to hold.
    NoMembership,
    /// There is no person of whom the scopes of OpenID Connect could speak.
    NoPerson,
}

/// Authority that passed; nothing but [`narrow`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantedAuthority {
    organization: Option<String>,
    audience: Audience,
    scopes: Scopes,
    details: Details,
}

impl GrantedAuthority {
    pub fn organization(&self) -> Option<&str> {
        self.organization.as_deref()
    }

    pub fn audience(&self) -> &Audience {
        &self.audience
    }

    pub fn scopes(&self) -> &Scopes {
        &self.scopes
    }

    pub fn details(&self) -> &Details {
        &self.details
    }
}

/// What would have been more than is held.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Widening {
    #[error("the scope is not among those the client was registered with")]
    BeyondRegistration { scope: String },
    #[error("the scope is not among those that were granted")]
    BeyondGrant { scope: String },
    #[error("the scope is not one of this API any more")]
    NotOffered { scope: String },
    #[error("no role held in the organization confers the scope")]
    NotConferred { scope: String },
    #[error("the scope needs an organization to speak for")]
    NeedsMembership { scope: String },
    #[error("the scope speaks of a person, and there is none")]
    NeedsPerson { scope: String },
    #[error("the organization is another one than the one held")]
    OtherOrganization,
    #[error("nothing that this API offers is held")]
    OutOfReach,
    #[error("a detail is more than was granted")]
    DetailsBeyondGrant,
    #[error("a type of details is not one of this API, or does not admit what is asked")]
    DetailsNotOffered,
    #[error("no role held in the organization lets a person grant a detail")]
    DetailsNotConferred,
}

impl Widening {
    /// Returns the scope that was too much, if it was a scope.
    pub fn scope(&self) -> Option<&str> {
        match self {
            Self::BeyondRegistration { scope }
            | Self::BeyondGrant { scope }
            | Self::NotOffered { scope }
            | Self::NotConferred { scope }
            | Self::NeedsMembership { scope }
            | Self::NeedsPerson { scope } => Some(scope),
            Self::OtherOrganization
            | Self::OutOfReach
            | Self::DetailsBeyondGrant
            | Self::DetailsNotOffered
            | Self::DetailsNotConferred => None,
        }
    }
}

/// Grants exactly what is asked where every bound covers all of it; refuses the whole otherwise.
pub fn narrow(
    asked: RequestedAuthority,
    bounds: &[Bound<'_>],
) -> Result<GrantedAuthority, Widening> {
    for bound in bounds {
        bound.admits_organization(asked.organization.as_deref())?;
        for scope in asked.scopes.iter() {
            bound.admits(scope)?;
        }
    }
    // What no roles stand behind would be authority out of thin air.
    let rooted = bounds.iter().any(|bound| matches!(bound, Bound::Roles { .. }));
    if let Some(scope) = asked.scopes.of_apis().next().filter(|_| !rooted) {
        return Err(Widening::NeedsMembership { scope: scope.to_owned() });
    }
    // To be let in at all one must be allowed something there, though one asks for nothing by name.
    let held = |scope: &String| bounds.iter().all(|bound| bound.admits(scope).is_ok());
    // A type of details says itself what must be held.
    let nothing_named = asked.scopes.of_apis().next().is_none() && asked.details.is_empty();
    let unnamed = asked.audience != Audience::Issuer && nothing_named;
    if unnamed && !(rooted && asked.offered.iter().any(held)) {
        return Err(Widening::OutOfReach);
    }
    let RequestedAuthority { organization, audience, scopes, details, .. } = asked;
    Ok(GrantedAuthority { organization, audience, scopes, details })
}

impl Bound<'_> {
    fn admits_organization(&self, asked: Option<&str>) -> Result<(), Widening> {
        let admitted = match self {
            Self::Roles { organization, .. } => asked == Some(organization),
            Self::NoMembership => asked.is_none(),
            Self::Registered(_) | Self::NoPerson => true,
        };
        if admitted { Ok(()) } else { Err(Widening::OtherOrganization) }
    }

    fn admits(&self, scope: &str) -> Result<(), Widening> {
        let is_oidc = OIDC_SCOPES.contains(&scope);
        let refusal: fn(String) -> Widening = match self {
            Self::Registered(scopes) if !scopes.contains(scope) => {
                |scope| Widening::BeyondRegistration { scope }
            }
            Self::Roles { permissions, .. } if !is_oidc && !permissions.covers(scope) => {
                |scope| Widening::NotConferred { scope }
            }
            Self::NoMembership if !is_oidc => |scope| Widening::NeedsMembership { scope },
            Self::NoPerson if is_oidc => |scope| Widening::NeedsPerson { scope },
            Self::Registered(_) | Self::Roles { .. } | Self::NoMembership | Self::NoPerson => {
                return Ok(());
            }
        };
        Err(refusal(scope.to_owned()))
    }
}

#[cfg(test)]
mod tests;
