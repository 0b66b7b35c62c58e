//! `dpop_jkt` names the key by which alone the code is redeemed (RFC 9449 §10).

use super::{CheckedRequest, Draft};
use crate::{domain::Fingerprint, http::answer::authorization_error::AuthorizationError};

pub fn check(asked: &CheckedRequest<'_>, draft: &mut Draft) -> Result<(), AuthorizationError> {
    let Some(text) = asked.form.get("dpop_jkt") else { return Ok(()) };
    let key = Fingerprint::try_from(text.to_owned());
    let malformed = "dpop_jkt is no thumbprint of a key: SHA-256 in base64url";
    draft.key = Some(key.map_err(|_| AuthorizationError::invalid(malformed))?);
    Ok(())
}
