//! PKCE with S256 on every request of every client (RFC 7636 §4.3; OAuth 2.1 §4.1.1).

use super::{CheckedRequest, Draft};
use crate::domain::Fingerprint;
use crate::http::answer::authorization_error::AuthorizationError;

/// Several libraries have PKCE off for clients that have a secret.
const MISSING: &str = "PKCE is required of every client, also of one with a secret: switch it on in the \
                       client library (code_challenge is missing, code_challenge_method is S256)";

pub fn check(asked: &CheckedRequest<'_>, draft: &mut Draft) -> Result<(), AuthorizationError> {
    let Some(challenge) = asked.form.get("code_challenge") else {
        return Err(AuthorizationError::invalid(MISSING));
    };
    // Left out it would be `plain` (RFC 7636 §4.3), which is not offered.
    if asked.form.get("code_challenge_method") != Some("S256") {
        return Err(AuthorizationError::invalid("PKCE: the code_challenge_method is S256"));
    }
    let challenge = Fingerprint::try_from(challenge.to_owned());
    let challenge = challenge.map_err(|_| {
        AuthorizationError::invalid("PKCE: the code_challenge is no SHA-256 in base64url")
    })?;
    draft.challenge = Some(challenge);
    Ok(())
}
