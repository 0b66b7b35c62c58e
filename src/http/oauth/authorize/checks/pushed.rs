//! A client may have said that all its requests are pushed (RFC 9126 §6).

use super::{CheckedRequest, Draft};
use crate::http::answer::authorization_error::AuthorizationError;

pub fn check(asked: &CheckedRequest<'_>, _draft: &mut Draft) -> Result<(), AuthorizationError> {
    if asked.client.metadata.require_pushed_authorization_requests && !asked.is_pushed {
        return Err(AuthorizationError::invalid("the client pushes its requests first"));
    }
    Ok(())
}
