//! A client may have said that all its requests are pushed (RFC 9126 §6), or its profile says so.

use super::{CheckedRequest, Draft};
use crate::http::answer::authorization_error::AuthorizationError;

pub fn check(asked: &CheckedRequest<'_>, _draft: &mut Draft) -> Result<(), AuthorizationError> {
    if asked.client.pushes_requests() && !asked.is_pushed {
        return Err(AuthorizationError::invalid("the client pushes its requests first"));
    }
    Ok(())
}
