//! The level that the client would like, in the order of its preference (OIDC Core §3.1.2.1).
//!
//! It is a wish: a person who cannot reach it signs in all the same, and the tokens say what was
//! reached.

use super::{Asked, Draft};
use crate::{domain::assurance::Level, http::answer::authorization_error::AuthorizationError};

#[expect(clippy::unnecessary_wraps, reason = "it is a row of the table of checks")]
pub fn check(asked: &Asked<'_>, draft: &mut Draft) -> Result<(), AuthorizationError> {
    let given = asked.form.get("acr_values").unwrap_or_default();
    draft.level = given.split(' ').find_map(Level::by_name);
    Ok(())
}
