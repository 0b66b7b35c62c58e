//! `nonce` comes back in the ID token (OIDC Core §3.1.2.1).

use super::{CheckedRequest, Draft};
use crate::http::answer::authorization_error::AuthorizationError;

const LONGEST: usize = 512;

pub fn check(asked: &CheckedRequest<'_>, draft: &mut Draft) -> Result<(), AuthorizationError> {
    let Some(nonce) = asked.form.get("nonce") else { return Ok(()) };
    if nonce.len() > LONGEST || nonce.chars().any(char::is_control) {
        let why = "the nonce has at most 512 bytes, and no control character";
        return Err(AuthorizationError::invalid(why));
    }
    draft.nonce = Some(nonce.to_owned());
    Ok(())
}
