//! A code travels in the query; never in a fragment.

use super::{Asked, Draft};
use crate::http::answer::authorization_error::AuthorizationError;

pub fn check(asked: &Asked<'_>, _draft: &mut Draft) -> Result<(), AuthorizationError> {
    match asked.form.get("response_mode") {
        None | Some("query") => Ok(()),
        Some(_) => Err(AuthorizationError::invalid("the response mode is query")),
    }
}
