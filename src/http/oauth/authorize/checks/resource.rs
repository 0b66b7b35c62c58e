//! The one API that tokens are for: the resource asked for, or the owner of the scopes (RFC 8707 §2).

use super::{CheckedRequest, Draft};
use crate::http::answer::authorization_error::AuthorizationError;

pub fn check(asked: &CheckedRequest<'_>, draft: &mut Draft) -> Result<(), AuthorizationError> {
    let target = asked.target.as_ref().map_err(Clone::clone)?;
    draft.audience = Some(target.audience.clone());
    Ok(())
}
