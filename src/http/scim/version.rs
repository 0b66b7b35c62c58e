//! Versions of Users and Groups: a digest of what is shown, as a weak entity tag (adr/0146).

use crate::domain::Fingerprint;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Serialize;

/// Returns the version of what a resource says.
pub fn of(said: &impl Serialize) -> String {
    let said = serde_json::to_string(said).unwrap_or_default();
    format!("W/\"{}\"", digest(&said))
}

/// Returns the beginning of a digest of a text.
pub fn digest(text: &str) -> String {
    let digest = Fingerprint::of(text.as_bytes());
    URL_SAFE_NO_PAD.encode(&digest.bytes()[..12])
}
