//! A request object is the client's own, and a client may have said that it always sends one
//! (RFC 9101 §6.1, §10.5).

use super::{CheckedRequest, Draft};
use crate::http::answer::authorization_error::AuthorizationError;

pub fn check(asked: &CheckedRequest<'_>, _draft: &mut Draft) -> Result<(), AuthorizationError> {
    if let Some(flaw) = asked.flaw {
        return Err(flaw.clone().into());
    }
    // Also of one that was pushed: the client may have been held to it since.
    if asked.client.signs_requests() && !asked.is_signed {
        return Err(AuthorizationError::invalid("the client signs its requests"));
    }
    Ok(())
}
