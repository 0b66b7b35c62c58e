//! What proves that somebody is the person of an account, as it is kept.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A password as a PHC string.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PasswordHash(String);

impl PasswordHash {
    pub fn new(phc: impl Into<String>) -> Self {
        Self(phc.into())
    }

    /// Hands out the PHC string; every caller of this is a place to look at in a review.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(…)")
    }
}

/// A secret that must be read back, sealed by the vault; stored as base64.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SealedSecret(Vec<u8>);

/// Not the text of a sealed secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a sealed secret is written in base64")]
pub struct MalformedSecret;

impl SealedSecret {
    pub fn new(sealed: impl Into<Vec<u8>>) -> Self {
        Self(sealed.into())
    }

    /// Hands out the sealed bytes, for the vault to open.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SealedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealedSecret(…)")
    }
}

impl TryFrom<String> for SealedSecret {
    type Error = MalformedSecret;

    fn try_from(text: String) -> Result<Self, MalformedSecret> {
        BASE64_STANDARD.decode(text).map(Self).map_err(|_| MalformedSecret)
    }
}

impl From<SealedSecret> for String {
    fn from(secret: SealedSecret) -> Self {
        BASE64_STANDARD.encode(secret.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_stored_and_never_shown() {
        let password = PasswordHash::new("$argon2id$open$sesame");
        let totp = SealedSecret::new(b"open sesame".to_vec());
        assert_eq!(format!("{password:?} {totp:?}"), "PasswordHash(…) SealedSecret(…)");
        let text = serde_json::to_string(&(&password, &totp)).unwrap();
        assert_eq!(text, r#"["$argon2id$open$sesame","b3BlbiBzZXNhbWU="]"#);
        let read: (PasswordHash, SealedSecret) = serde_json::from_str(&text).unwrap();
        assert_eq!(read, (password, totp));
        assert!(serde_json::from_str::<SealedSecret>("\"?\"").is_err());
    }
}
