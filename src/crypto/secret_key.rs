//! The installation's secret key, from which every other symmetric key is derived.

use crate::domain::Secret;
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Salt};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

/// How many bytes a fingerprint has: enough to tell the few keys of one folder apart.
pub(super) const FINGERPRINT: usize = 8;

/// 256 secret bits and the public fingerprint by which what they protect names them.
#[derive(Clone)]
pub struct SecretKey {
    bytes: Secret,
    fingerprint: [u8; FINGERPRINT],
    kid: String,
}

impl SecretKey {
    pub fn new(bytes: &[u8; 32]) -> Self {
        let mut key =
            Self { bytes: Secret::new(*bytes), fingerprint: [0; FINGERPRINT], kid: String::new() };
        key.fingerprint = *key.derive(&[], &["porteiro/kid"]);
        key.kid = URL_SAFE_NO_PAD.encode(key.fingerprint);
        key
    }

    /// Names the key without telling anything about it.
    pub fn kid(&self) -> &str {
        &self.kid
    }

    pub(super) fn fingerprint(&self) -> &[u8; FINGERPRINT] {
        &self.fingerprint
    }

    /// Derives `N` bytes for the one use that `label` names.
    pub(super) fn derive<const N: usize>(&self, salt: &[u8], label: &[&str]) -> Zeroizing<[u8; N]> {
        let label: Vec<&[u8]> = label.iter().map(|part| part.as_bytes()).collect();
        let mut derived = Zeroizing::new([0; N]);
        Salt::new(HKDF_SHA256, salt)
            .extract(self.bytes.expose())
            .expand(&label, Length(N))
            .and_then(|okm| okm.fill(&mut *derived))
            .expect("a few dozen bytes are far below what HKDF can give");
        derived
    }
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SecretKey({})", self.kid)
    }
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fingerprint_is_stable_and_is_not_the_key() {
        let key = SecretKey::new(&[1; 32]);
        assert_eq!(key.kid(), SecretKey::new(&[1; 32]).kid());
        assert_ne!(key.kid(), SecretKey::new(&[2; 32]).kid());
        assert_ne!(key.fingerprint(), &[1; FINGERPRINT]);
    }

    #[test]
    fn a_secret_key_prints_only_its_fingerprint() {
        let key = SecretKey::new(&[0xAB; 32]);
        assert_eq!(format!("{key:?}"), format!("SecretKey({})", key.kid()));
    }

    #[test]
    fn another_label_or_another_salt_gives_an_unrelated_key() {
        let key = SecretKey::new(&[1; 32]);
        let derived = key.derive::<32>(b"salt", &["a"]);
        assert_eq!(derived, key.derive::<32>(b"salt", &["a"]));
        assert_ne!(derived, key.derive::<32>(b"salt", &["b"]));
        assert_ne!(derived, key.derive::<32>(b"pepper", &["a"]));
    }
}
