//! A code travels in the query or in a form that is posted; never in a fragment.

use super::{CheckedRequest, Draft};
use crate::domain::authorization::ResponseMode;
use crate::http::answer::authorization_error::AuthorizationError;

pub fn check(asked: &CheckedRequest<'_>, _draft: &mut Draft) -> Result<(), AuthorizationError> {
    let offered = |name: &str| ResponseMode::ALL.iter().any(|mode| mode.name() == name);
    if asked.form.get("response_mode").is_none_or(offered) {
        return Ok(());
    }
    Err(AuthorizationError::invalid("the response mode is query or form_post"))
}
