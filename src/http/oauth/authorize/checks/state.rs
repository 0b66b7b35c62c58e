//! `state` comes back as it was given.

use super::{CheckedRequest, Draft};
use crate::http::answer::authorization_error::AuthorizationError;

/// Bytes; it travels in addresses, and in the id of the flow. A longer one is refused before.
pub const LONGEST: usize = 2_048;

pub fn check(asked: &CheckedRequest<'_>, _draft: &mut Draft) -> Result<(), AuthorizationError> {
    let state = asked.form.get("state").unwrap_or_default();
    if state.chars().any(char::is_control) {
        return Err(AuthorizationError::invalid("the state contains a control character"));
    }
    Ok(())
}
