//! A code travels in the query or in a form that is posted, plain or signed (JARM §2.3); never in a fragment.

use super::{CheckedRequest, Draft};
use crate::domain::authorization::ResponseMode;
use crate::http::answer::authorization_error::AuthorizationError;

pub fn check(asked: &CheckedRequest<'_>, _draft: &mut Draft) -> Result<(), AuthorizationError> {
    let is_signed = |name: &str| name.ends_with("jwt");
    let given = asked.form.get("response_mode");
    let signs_all = asked.client.rules().signed_responses;
    if given.is_some_and(|name| signs_all && !is_signed(name)) {
        return Err(AuthorizationError::invalid(
            "the answers to this client are signed: the response mode is jwt, query.jwt or form_post.jwt",
        ));
    }
    let Some(name) = given.or(signs_all.then_some("jwt")) else { return Ok(()) };
    if !ResponseMode::NAMES.contains(&name) {
        return Err(AuthorizationError::invalid(
            "the response mode is query, form_post, jwt, query.jwt or form_post.jwt",
        ));
    }
    // No code is issued that could not be sent.
    let algorithm = asked.client.authorization_algorithm();
    if is_signed(name) && asked.app.crypto.keys.borrow().signer(algorithm).is_none() {
        return Err(AuthorizationError::unavailable());
    }
    Ok(())
}
