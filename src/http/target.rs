//! Which API a request is about (RFC 8707).

use super::{
    App,
    error::{Code, OAuthError},
};
use crate::domain::authority::{self, Audience, OwnedScope, Scopes, WrongTarget};
use std::sync::Arc;

/// Returns the one audience of a token with these scopes.
pub async fn audience(
    app: &App,
    resource: Option<&str>,
    scopes: &Scopes,
) -> Result<Audience, OAuthError> {
    if let Some(identifier) = resource {
        let seen = app.resources.look(identifier).await.map_err(|_| OAuthError::unavailable())?;
        if seen.machine.known().is_none() {
            return Err(OAuthError::new(Code::InvalidTarget, "the resource is not known"));
        }
    }
    let mut owners: Vec<(&str, Option<Arc<str>>)> = Vec::new();
    for scope in scopes.of_apis() {
        let owner = app.scope_owners.look(scope).await.map_err(|_| OAuthError::unavailable())?;
        owners.push((scope, owner));
    }
    let owned: Vec<OwnedScope<'_>> =
        owners.iter().map(|(scope, owner)| OwnedScope { scope, owner: owner.as_deref() }).collect();
    authority::audience(resource, &owned).map_err(|why| match why {
        WrongTarget::UnknownScope { .. } => {
            OAuthError::new(Code::InvalidScope, "a scope is not known")
        }
        WrongTarget::SeveralResources => {
            OAuthError::new(Code::InvalidTarget, "the scopes belong to more than one resource")
        }
        WrongTarget::ForeignScope { .. } => {
            OAuthError::new(Code::InvalidTarget, "a scope does not belong to the resource")
        }
    })
}
