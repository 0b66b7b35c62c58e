//! Sealing of what must be read back, under the secret keys of the keys folder.
//!
//! A sealed message is
//!
//! ```text
//! version (1) | fingerprint of the secret key (8) | salt (32) | ciphertext | tag (16)
//! ```
//!
//! Every message is encrypted (AES-256-GCM) under a key and a nonce of its own, derived by HKDF
//! from the secret key, the purpose and the random salt: however many messages there are, no
//! nonce is ever used twice under one key. Everything before the ciphertext is authenticated, and
//! so is the context, which ties a message to the place it was sealed for.

use super::mac::MacKey;
use super::random::{self, Dice};
use super::secret_key::{FINGERPRINT, SecretKey};
use crate::domain::Secret;
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use std::sync::Arc;

const VERSION: u8 = 1;
const SALT: usize = 32;
const HEADER: usize = 1 + FINGERPRINT + SALT;
const TAG: usize = 16;
const KEY: usize = 32;

/// Seals under the current secret key, and opens under any it was given.
#[derive(Clone)]
pub struct Vault {
    keys: Arc<Keys>,
}

struct Keys {
    current: SecretKey,
    former: Vec<SecretKey>,
    /// Derived once, for nearly every request needs them; the current secret key's first.
    opaque: Vec<MacKey>,
}

/// Why a sealed message stays closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnsealError {
    #[error("not a sealed message")]
    Malformed,
    #[error("sealed under a secret key that is not in the keys folder")]
    UnknownKey,
    #[error("altered, or sealed for another purpose or place")]
    Forged,
}

impl Vault {
    /// Seals under `current`; `former` keys only open, the newest first.
    pub fn new(current: SecretKey, former: Vec<SecretKey>) -> Self {
        let all = std::iter::once(&current).chain(&former);
        let opaque = all.map(|key| MacKey::derive(key, "opaque token")).collect();
        Self { keys: Arc::new(Keys { current, former, opaque }) }
    }

    /// Encrypts `plaintext` for `purpose`, to be opened in the same `context` only.
    pub fn seal(
        &self,
        purpose: &'static str,
        context: &[u8],
        plaintext: &[u8],
        dice: &dyn Dice,
    ) -> Vec<u8> {
        let key = &self.keys.current;
        let salt = random::draw::<SALT>(dice);
        // Room for all of it at once: a buffer that grows leaves a copy of the plaintext behind.
        let mut sealed = Vec::with_capacity(HEADER + plaintext.len() + TAG);
        sealed.push(VERSION);
        sealed.extend_from_slice(key.fingerprint());
        sealed.extend_from_slice(&salt);
        let bound = Aad::from([sealed.as_slice(), context].concat());
        sealed.extend_from_slice(plaintext);

        let (message_key, nonce) = message_key(key, purpose, &salt);
        let tag = message_key
            .seal_in_place_separate_tag(nonce, bound, &mut sealed[HEADER..])
            .expect("AES-GCM takes up to 64 GiB, more than fits in a request");
        sealed.extend_from_slice(tag.as_ref());
        sealed
    }

    /// Returns the plaintext of what was sealed for this `purpose` in this `context`.
    pub fn open(
        &self,
        purpose: &'static str,
        context: &[u8],
        sealed: &[u8],
    ) -> Result<Secret, UnsealError> {
        if sealed.len() < HEADER + TAG || sealed[0] != VERSION {
            return Err(UnsealError::Malformed);
        }
        let (header, ciphertext) = sealed.split_at(HEADER);
        let (fingerprint, salt) = header[1..].split_at(FINGERPRINT);
        let key = self
            .all()
            .find(|key| key.fingerprint().as_slice() == fingerprint)
            .ok_or(UnsealError::UnknownKey)?;

        let (message_key, nonce) = message_key(key, purpose, salt);
        let bound = Aad::from([header, context].concat());
        let mut opened = ciphertext.to_vec();
        let length = message_key
            .open_in_place(nonce, bound, &mut opened)
            .map_err(|_| UnsealError::Forged)?
            .len();
        opened.truncate(length);
        Ok(Secret::new(opened))
    }

    /// Derives the key under which new tags for `purpose` are made.
    pub fn mac_key(&self, purpose: &'static str) -> MacKey {
        MacKey::derive(&self.keys.current, purpose)
    }

    /// Derives the key for `purpose` that stays the same while the oldest secret key is kept.
    pub fn lasting_mac_key(&self, purpose: &'static str) -> MacKey {
        let oldest = self.keys.former.last().unwrap_or(&self.keys.current);
        MacKey::derive(oldest, purpose)
    }

    /// Derives the key for `purpose` that descends from the secret key `kid`, while it is kept.
    pub fn mac_key_by(&self, purpose: &'static str, kid: &str) -> Option<MacKey> {
        self.all().find(|key| key.kid() == kid).map(|key| MacKey::derive(key, purpose))
    }

    /// The keys of opaque tokens, one of each secret key that is kept, the current one first.
    pub(super) fn opaque_keys(&self) -> &[MacKey] {
        &self.keys.opaque
    }

    fn all(&self) -> impl Iterator<Item = &SecretKey> {
        std::iter::once(&self.keys.current).chain(&self.keys.former)
    }
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.all()).finish()
    }
}

fn message_key(key: &SecretKey, purpose: &'static str, salt: &[u8]) -> (LessSafeKey, Nonce) {
    let derived = key.derive::<{ KEY + NONCE_LEN }>(salt, &["porteiro/seal/", purpose]);
    let (bytes, nonce) = derived.split_at(KEY);
    (
        LessSafeKey::new(UnboundKey::new(&AES_256_GCM, bytes).expect("the key has 256 bits")),
        Nonce::try_assume_unique_for_key(nonce).expect("the nonce has 96 bits"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::SystemDice;

    struct ZeroDice;

    impl Dice for ZeroDice {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(0);
        }
    }

    fn vault(byte: u8) -> Vault {
        Vault::new(SecretKey::new(&[byte; 32]), Vec::new())
    }

    fn sealed() -> Vec<u8> {
        vault(1).seal("totp", b"account-1", b"open sesame", &SystemDice)
    }

    #[test]
    fn what_was_sealed_opens_in_its_place() {
        assert_eq!(vault(1).open("totp", b"account-1", &sealed()), Ok(Secret::new("open sesame")));
        let nothing = vault(1).seal("totp", b"", b"", &SystemDice);
        assert_eq!(vault(1).open("totp", b"", &nothing), Ok(Secret::new("")));
    }

    #[test]
    fn every_altered_byte_keeps_it_closed() {
        let sealed = sealed();
        for at in 0..sealed.len() {
            for flip in [1, 0x80, 0xFF] {
                let mut altered = sealed.clone();
                altered[at] ^= flip;
                assert!(vault(1).open("totp", b"account-1", &altered).is_err(), "byte {at}");
            }
        }
    }

    #[test]
    fn cut_short_at_any_length_or_made_longer_it_stays_closed() {
        let sealed = sealed();
        for length in 0..sealed.len() {
            assert!(vault(1).open("totp", b"account-1", &sealed[..length]).is_err());
        }
        let longer = [sealed.as_slice(), &[0]].concat();
        assert_eq!(vault(1).open("totp", b"account-1", &longer), Err(UnsealError::Forged));
        assert_eq!(vault(1).open("totp", b"account-1", &[]), Err(UnsealError::Malformed));
    }

    #[test]
    fn another_context_or_purpose_keeps_it_closed() {
        let sealed = sealed();
        assert_eq!(vault(1).open("totp", b"account-2", &sealed), Err(UnsealError::Forged));
        assert_eq!(vault(1).open("totp", b"", &sealed), Err(UnsealError::Forged));
        assert_eq!(vault(1).open("outbox", b"account-1", &sealed), Err(UnsealError::Forged));
    }

    #[test]
    fn a_former_key_still_opens_and_no_longer_seals() {
        let rotated = Vault::new(SecretKey::new(&[2; 32]), vec![SecretKey::new(&[1; 32])]);
        assert_eq!(rotated.open("totp", b"account-1", &sealed()), Ok(Secret::new("open sesame")));
        let fresh = rotated.seal("totp", b"", b"x", &SystemDice);
        assert_eq!(vault(1).open("totp", b"", &fresh), Err(UnsealError::UnknownKey));
        assert!(vault(2).open("totp", b"", &fresh).is_ok());
    }

    #[test]
    fn the_same_plaintext_is_never_sealed_alike() {
        assert_ne!(sealed(), sealed());
    }

    #[test]
    fn even_with_stuck_dice_two_purposes_share_no_keystream() {
        let one = vault(1).seal("totp", b"", &[0; 32], &ZeroDice);
        let two = vault(1).seal("outbox", b"", &[0; 32], &ZeroDice);
        assert_eq!(one[..HEADER], two[..HEADER]);
        assert_ne!(one[HEADER..], two[HEADER..]);
    }

    #[test]
    fn mac_keys_are_found_by_the_key_they_descend_from() {
        let rotated = Vault::new(SecretKey::new(&[2; 32]), vec![SecretKey::new(&[1; 32])]);
        let old = vault(1).mac_key("code");
        let tag = old.tag(&[b"x"]);
        assert_ne!(rotated.mac_key("code").kid(), old.kid());
        assert!(rotated.mac_key_by("code", old.kid()).unwrap().verify(&[b"x"], &tag));
        assert!(!rotated.mac_key_by("refresh", old.kid()).unwrap().verify(&[b"x"], &tag));
        assert!(rotated.mac_key_by("code", "unknown").is_none());
        assert!(rotated.mac_key_by("code", "").is_none());
    }

    #[test]
    fn a_vault_prints_fingerprints_only() {
        let key = SecretKey::new(&[1; 32]);
        assert_eq!(format!("{:?}", vault(1)), format!("[SecretKey({})]", key.kid()));
    }
}
