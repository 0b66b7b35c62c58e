//! For whom a token is meant: exactly one API, or the issuer itself.

use serde::{Deserialize, Serialize};

/// The one recipient of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Audience {
    /// A registered resource, by its identifier.
    Resource(String),
    /// No API is asked for.
    Issuer,
}

impl Audience {
    /// Returns what the claim `aud` says.
    pub fn claim<'a>(&'a self, issuer: &'a str) -> &'a str {
        match self {
            Self::Resource(identifier) => identifier,
            Self::Issuer => issuer,
        }
    }
}

/// A scope and the resource that owns it, if any does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnedScope<'a> {
    pub scope: &'a str,
    pub owner: Option<&'a str>,
}

/// Why there is no one audience.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongTarget {
    #[error("no resource owns the scope")]
    UnknownScope { scope: String },
    #[error("the scopes belong to more than one resource")]
    SeveralResources,
    #[error("a scope belongs to another resource than the one asked for")]
    ForeignScope { scope: String },
}

/// Returns the resource asked for; else the one that owns the scopes; else the issuer.
pub fn audience(
    resource: Option<&str>,
    scopes: &[OwnedScope<'_>],
) -> Result<Audience, WrongTarget> {
    let mut target = resource;
    for OwnedScope { scope, owner } in scopes {
        let unknown = || WrongTarget::UnknownScope { scope: (*scope).to_owned() };
        let owner = owner.ok_or_else(unknown)?;
        match target {
            None => target = Some(owner),
            Some(one) if one == owner => {}
            Some(_) if resource.is_some() => {
                return Err(WrongTarget::ForeignScope { scope: (*scope).to_owned() });
            }
            Some(_) => return Err(WrongTarget::SeveralResources),
        }
    }
    Ok(target.map_or(Audience::Issuer, |one| Audience::Resource(one.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const INVOICES: OwnedScope<'_> = OwnedScope { scope: "invoices:read", owner: Some("api:a") };
    const ORDERS: OwnedScope<'_> = OwnedScope { scope: "orders:read", owner: Some("api:b") };

    fn resource(identifier: &str) -> Audience {
        Audience::Resource(identifier.to_owned())
    }

    #[test]
    fn a_token_is_for_the_resource_asked_for_or_the_owner_of_its_scopes() {
        assert_eq!(audience(Some("api:a"), &[]), Ok(resource("api:a")));
        assert_eq!(audience(Some("api:a"), &[INVOICES]), Ok(resource("api:a")));
        assert_eq!(audience(None, &[INVOICES]), Ok(resource("api:a")));
        assert_eq!(audience(None, &[]), Ok(Audience::Issuer));
        assert_eq!(Audience::Issuer.claim("https://id.example"), "https://id.example");
    }

    #[test]
    fn two_resources_are_never_mixed() {
        assert_eq!(audience(None, &[INVOICES, ORDERS]), Err(WrongTarget::SeveralResources));
        let foreign = WrongTarget::ForeignScope { scope: "orders:read".to_owned() };
        assert_eq!(audience(Some("api:a"), &[INVOICES, ORDERS]), Err(foreign));
        let lost = OwnedScope { scope: "lost:read", owner: None };
        let unknown = WrongTarget::UnknownScope { scope: "lost:read".to_owned() };
        assert_eq!(audience(None, &[lost]), Err(unknown));
    }
}
