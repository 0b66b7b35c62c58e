//! A code travels in the query or in a form that is posted, plain or signed (JARM §2.3); never in a fragment.

use super::{CheckedRequest, Draft};
use crate::domain::authorization::ResponseMode;
use crate::http::answer::authorization_error::AuthorizationError;

pub fn check(asked: &CheckedRequest<'_>, _draft: &mut Draft) -> Result<(), AuthorizationError> {
    let Some(name) = asked.form.get("response_mode") else { return Ok(()) };
    if !ResponseMode::NAMES.contains(&name) {
        return Err(AuthorizationError::invalid(
            "the response mode is query, form_post, jwt, query.jwt or form_post.jwt",
        ));
    }
    // No code is issued that could not be sent.
    let algorithm = asked.client.metadata.authorization_algorithm();
    if name.ends_with("jwt") && asked.app.crypto.keys.borrow().signer(algorithm).is_none() {
        return Err(AuthorizationError::unavailable());
    }
    Ok(())
}
