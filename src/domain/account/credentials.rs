//! What proves that a person is the one of an account, as it is kept: a set of credentials.

use super::{MOST_PASSKEYS, Passkey, PasskeyUse};
use crate::domain::{Timestamp, assurance::Method};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};
use std::{fmt, time::Duration};
use subtle::ConstantTimeEq as _;

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
    Passkey(Box<Passkey>),
    /// Saved codes that stand in for a lost device, each good for once.
    RecoveryCodes {
        /// The salt that all of them are hashed with: one computation tells which one it is.
        salt: String,
        /// Of those that were not used yet.
        unused: Vec<PasswordHash>,
    },
}

/// A new set of recovery codes, hashed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveryCodes {
    pub salt: String,
    pub hashes: Vec<PasswordHash>,
}

/// The credentials of an account: at most one password, one authenticator application and one set of
/// recovery codes, and several passkeys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Credentials(Vec<Credential>);

impl Credentials {
    pub(super) fn add(&mut self, kind: CredentialKind, added_at: Timestamp) {
        self.0.push(Credential { added_at, kind });
    }

    fn drop_all(&mut self, unwanted: fn(&CredentialKind) -> bool) {
        self.0.retain(|one| !unwanted(&one.kind));
    }

    pub fn password(&self) -> Option<&PasswordHash> {
        self.0.iter().find_map(|one| match &one.kind {
            CredentialKind::Password { hash } => Some(hash),
            _ => None,
        })
    }

    pub fn totp(&self) -> Option<&SealedSecret> {
        self.0.iter().find_map(|one| match &one.kind {
            CredentialKind::Totp { secret, .. } => Some(secret),
            _ => None,
        })
    }

    /// Lists the passkeys and when each was added, oldest first.
    pub fn passkeys(&self) -> impl Iterator<Item = (&Passkey, Timestamp)> {
        self.0.iter().filter_map(|one| match &one.kind {
            CredentialKind::Passkey(passkey) => Some((&**passkey, one.added_at)),
            _ => None,
        })
    }

    pub fn passkey(&self, id: &str) -> Option<&Passkey> {
        self.passkeys().map(|(passkey, _)| passkey).find(|passkey| passkey.id == id)
    }

    /// Returns the salt of the recovery codes, and how many were not used yet.
    pub fn recovery_codes(&self) -> Option<(&str, usize)> {
        self.0.iter().find_map(|one| match &one.kind {
            CredentialKind::RecoveryCodes { salt, unused } => Some((salt.as_str(), unused.len())),
            _ => None,
        })
    }

    /// Tells whether there are recovery codes that were not used yet.
    pub fn has_recovery_codes(&self) -> bool {
        self.recovery_codes().is_some_and(|(_, left)| left > 0)
    }

    /// Returns when the password was added or last changed.
    pub fn password_since(&self) -> Option<Timestamp> {
        let password = |one: &&Credential| matches!(one.kind, CredentialKind::Password { .. });
        self.0.iter().find(password).map(|one| one.added_at)
    }

    /// Returns when the authenticator application was enrolled.
    pub fn totp_since(&self) -> Option<Timestamp> {
        let totp = |one: &&Credential| matches!(one.kind, CredentialKind::Totp { .. });
        self.0.iter().find(totp).map(|one| one.added_at)
    }

    /// Returns when the set of recovery codes was made.
    pub fn recovery_codes_since(&self) -> Option<Timestamp> {
        let codes = |one: &&Credential| matches!(one.kind, CredentialKind::RecoveryCodes { .. });
        self.0.iter().find(codes).map(|one| one.added_at)
    }

    /// Tells whether the account can reach AAL2 by itself: it must not be taken over by mail alone.
    pub fn reach_aal2(&self) -> bool {
        self.totp().is_some() || self.passkeys().next().is_some()
    }

    /// Lists the methods by which the person can prove who they are, beside what is sent to them.
    pub fn methods(&self) -> Vec<Method> {
        let held = [
            (Method::Password, self.password().is_some()),
            (Method::Passkey, self.passkeys().next().is_some()),
            (Method::AttestedPasskey, self.passkeys().any(|(passkey, _)| passkey.attested)),
            (Method::Totp, self.totp().is_some()),
            (Method::RecoveryCode, self.has_recovery_codes()),
        ];
        held.into_iter().filter_map(|(method, held)| held.then_some(method)).collect()
    }

    /// Tells whether a code of this time step may still be used.
    pub(super) fn may_use_totp(&self, step: u64) -> bool {
        self.0.iter().any(|one| match &one.kind {
            CredentialKind::Totp { used, .. } => used.is_none_or(|last| last < step),
            _ => false,
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

    pub(super) fn remove_password(&mut self) {
        self.drop_all(|kind| matches!(kind, CredentialKind::Password { .. }));
    }

    pub(super) fn set_password(&mut self, hash: PasswordHash, now: Timestamp) {
        let set_at = after(self.password_since(), now);
        self.remove_password();
        self.add(CredentialKind::Password { hash }, set_at);
    }

    pub(super) fn set_totp(&mut self, secret: SealedSecret, step: u64, now: Timestamp) {
        let set_at = after(self.totp_since(), now);
        self.remove_totp();
        self.add(CredentialKind::Totp { secret, used: Some(step) }, set_at);
    }

    pub(super) fn remove_totp(&mut self) {
        self.drop_all(|kind| matches!(kind, CredentialKind::Totp { .. }));
    }

    pub(super) fn may_add_passkey(&self, passkey: &Passkey) -> bool {
        self.passkey(&passkey.id).is_none() && self.passkeys().count() < MOST_PASSKEYS
    }

    pub(super) fn use_passkey(&mut self, used: &PasskeyUse, now: Timestamp) {
        for one in &mut self.0 {
            if let CredentialKind::Passkey(passkey) = &mut one.kind
                && passkey.id == used.id
            {
                (passkey.last_used_at, passkey.backed_up) = (Some(now), used.backed_up);
                if let Some(verifier) = &used.verifier {
                    passkey.verifier = verifier.clone();
                }
            }
        }
    }

    pub(super) fn rename_passkey(&mut self, id: &str, name: &str) {
        for one in &mut self.0 {
            if let CredentialKind::Passkey(passkey) = &mut one.kind
                && passkey.id == id
            {
                name.clone_into(&mut passkey.name);
            }
        }
    }

    pub(super) fn remove_passkey(&mut self, id: &str) {
        let other = |one: &Credential| match &one.kind {
            CredentialKind::Passkey(passkey) => passkey.id != id,
            _ => true,
        };
        self.0.retain(other);
    }

    /// Replaces the recovery codes: those of the set before are good no more.
    pub(super) fn set_recovery_codes(&mut self, codes: RecoveryCodes, now: Timestamp) {
        let set_at = after(self.recovery_codes_since(), now);
        self.drop_all(|kind| matches!(kind, CredentialKind::RecoveryCodes { .. }));
        let RecoveryCodes { salt, hashes: unused } = codes;
        self.add(CredentialKind::RecoveryCodes { salt, unused }, set_at);
    }

    /// Drops all of them.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Drops what a recovery replaces; saved recovery codes stay.
    pub(super) fn replace(&mut self) {
        self.drop_all(|kind| !matches!(kind, CredentialKind::RecoveryCodes { .. }));
    }

    /// Tells whether a recovery code of this hash was not used yet.
    pub(super) fn may_use_recovery_code(&self, code: &PasswordHash) -> bool {
        self.0.iter().any(|one| match &one.kind {
            CredentialKind::RecoveryCodes { unused, .. } => {
                unused.iter().any(|one| same(one, code))
            }
            _ => false,
        })
    }

    pub(super) fn use_recovery_code(&mut self, code: &PasswordHash) {
        for one in &mut self.0 {
            if let CredentialKind::RecoveryCodes { unused, .. } = &mut one.kind {
                unused.retain(|one| !same(one, code));
            }
        }
    }
}

/// Returns the time at which a credential is set that takes the place of another: later than that one, though
/// the clock of the node that set it was ahead. By that time proofs tell the two apart.
fn after(former: Option<Timestamp>, now: Timestamp) -> Timestamp {
    former.map_or(now, |former| now.max(former + Duration::from_millis(1)))
}

fn same(one: &PasswordHash, other: &PasswordHash) -> bool {
    one.expose().as_bytes().ct_eq(other.expose().as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_that_takes_the_place_of_another_is_set_later() {
        const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
        let (mut held, before) = (Credentials::default(), NOW - Duration::from_secs(1));
        held.set_password(PasswordHash::new("one"), NOW);
        let first = held.password_since();
        held.rehash(&PasswordHash::new("one, as it is hashed today"));
        assert_eq!(held.password_since(), first, "it is the same password");
        for at in [NOW, before] {
            let former = held.password_since();
            held.set_password(PasswordHash::new("one"), at);
            assert!(held.password_since() > former, "a clock that lags, or stands still");
        }
    }

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
