//! Whether this client may ask for codes at all, and wants nothing that is not offered.

use super::{Asked, Draft};
use crate::http::answer::authorization_error::AuthorizationError;

pub fn check(asked: &Asked<'_>, _draft: &mut Draft) -> Result<(), AuthorizationError> {
    Ok(asked.client.may_ask_for_codes()?)
}
