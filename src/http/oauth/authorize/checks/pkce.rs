//! PKCE with S256 on every request of every client (RFC 7636 §4.3; OAuth 2.1 §4.1.1).

use super::{Asked, Draft};
use crate::domain::Fingerprint;
use crate::http::answer::authorization_error::AuthorizationError;

pub fn check(asked: &Asked<'_>, draft: &mut Draft) -> Result<(), AuthorizationError> {
    let Some(challenge) = asked.form.get("code_challenge") else {
        return Err(AuthorizationError::invalid("the parameter code_challenge is missing"));
    };
    // Left out it would be `plain` (RFC 7636 §4.3), which is not offered.
    if asked.form.get("code_challenge_method") != Some("S256") {
        return Err(AuthorizationError::invalid("the code_challenge_method is S256"));
    }
    let challenge = Fingerprint::try_from(challenge.to_owned());
    let challenge = challenge.map_err(|_| {
        AuthorizationError::invalid("the code_challenge is no SHA-256 in base64url")
    })?;
    draft.challenge = Some(challenge);
    Ok(())
}
