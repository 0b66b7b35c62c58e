//! Scopes are well formed, and within the client's registration.

use super::{CheckedRequest, Draft};
use crate::http::answer::authorization_error::AuthorizationError;
use crate::http::answer::error::Code;

pub fn check(asked: &CheckedRequest<'_>, draft: &mut Draft) -> Result<(), AuthorizationError> {
    let refuse = |why| Err(AuthorizationError::new(Code::InvalidScope, why));
    let Ok(scopes) = &asked.scopes else { return refuse("a scope is malformed") };
    if let Some(ceiling) = asked.client.ceiling()
        && let Some(beyond) = scopes.iter().find(|scope| !ceiling.contains(scope))
    {
        let why = "a scope is not among those the client was registered with";
        return Err(AuthorizationError::new(Code::InvalidScope, why).naming(beyond));
    }
    draft.scopes = scopes.clone();
    Ok(())
}
