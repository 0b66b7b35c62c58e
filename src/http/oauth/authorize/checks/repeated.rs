//! RFC 6749 §3.1: parameters are given once.

use super::{CheckedRequest, Draft};
use crate::http::answer::authorization_error::AuthorizationError;

pub fn check(asked: &CheckedRequest<'_>, _draft: &mut Draft) -> Result<(), AuthorizationError> {
    if asked.form.has_repetition() {
        return Err(AuthorizationError::invalid("a parameter is repeated"));
    }
    Ok(())
}
