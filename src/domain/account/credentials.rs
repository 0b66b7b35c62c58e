//! What proves that a person is the one of an account, as it is kept: a set of credentials.

use crate::domain::{Timestamp, assurance::Method};
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

/// One credential of an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credential {
    pub added_at: Timestamp,
    #[serde(flatten)]
    pub kind: CredentialKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CredentialKind {
    Password {
        hash: PasswordHash,
    },
    Totp {
        secret: SealedSecret,
        /// The last time step whose code was accepted (RFC 6238 §5.2).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        used: Option<u64>,
    },
}

/// The credentials of an account: at most one password and one authenticator application.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Credentials(Vec<Credential>);

impl Credentials {
    pub(super) fn add(&mut self, kind: CredentialKind, added_at: Timestamp) {
        self.0.push(Credential { added_at, kind });
    }

    pub fn password(&self) -> Option<&PasswordHash> {
        self.0.iter().find_map(|one| match &one.kind {
            CredentialKind::Password { hash } => Some(hash),
            CredentialKind::Totp { .. } => None,
        })
    }

    pub fn totp(&self) -> Option<&SealedSecret> {
        self.0.iter().find_map(|one| match &one.kind {
            CredentialKind::Totp { secret, .. } => Some(secret),
            CredentialKind::Password { .. } => None,
        })
    }

    /// Returns when the password was added or last changed.
    pub fn password_since(&self) -> Option<Timestamp> {
        let password = |one: &&Credential| matches!(one.kind, CredentialKind::Password { .. });
        self.0.iter().find(password).map(|one| one.added_at)
    }

    /// Lists the methods that are asked for after a single factor.
    pub fn second_factors(&self) -> Vec<Method> {
        self.totp().map(|_| Method::Totp).into_iter().collect()
    }

    /// Tells whether a code of this time step may still be used.
    pub(super) fn may_use_totp(&self, step: u64) -> bool {
        self.0.iter().any(|one| match &one.kind {
            CredentialKind::Totp { used, .. } => used.is_none_or(|last| last < step),
            CredentialKind::Password { .. } => false,
        })
    }

    pub(super) fn use_totp(&mut self, step: u64) {
        for one in &mut self.0 {
            if let CredentialKind::Totp { used, .. } = &mut one.kind {
                *used = Some(step);
            }
        }
    }

    /// Replaces the hash of a password that stays the same.
    pub(super) fn rehash(&mut self, new: &PasswordHash) {
        for one in &mut self.0 {
            if let CredentialKind::Password { hash } = &mut one.kind {
                *hash = new.clone();
            }
        }
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
