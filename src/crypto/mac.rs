//! Message authentication under a key derived for one purpose.

use super::secret_key::SecretKey;
use aws_lc_rs::hmac;
use subtle::ConstantTimeEq;

/// A key for one purpose; `Debug` says only which secret key it descends from.
#[derive(Clone)]
pub struct MacKey {
    kid: String,
    key: hmac::Key,
}

impl MacKey {
    pub(super) fn derive(secret: &SecretKey, purpose: &'static str) -> Self {
        let key = secret.derive::<32>(&[], &["porteiro/mac/", purpose]);
        Self {
            kid: secret.kid().to_owned(),
            key: hmac::Key::new(hmac::HMAC_SHA256, key.as_slice()),
        }
    }

    /// Names the secret key from which this one was derived.
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// Returns the tag over `parts`; each is counted in, so that no boundary can shift.
    pub fn tag(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut context = hmac::Context::with_key(&self.key);
        for part in parts {
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part);
        }
        context.sign().as_ref().try_into().expect("HMAC-SHA256 gives 32 bytes")
    }

    /// Tells in constant time whether the tag over `parts` begins with these 128 bits.
    pub fn begins(&self, parts: &[&[u8]], tag: &[u8]) -> bool {
        self.tag(parts)[..16].ct_eq(tag).into()
    }

    /// Tells in constant time whether `tag` is the one over `parts`.
    pub fn verify(&self, parts: &[&[u8]], tag: &[u8]) -> bool {
        self.tag(parts).as_slice().ct_eq(tag).into()
    }
}

impl std::fmt::Debug for MacKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MacKey({})", self.kid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(purpose: &'static str) -> MacKey {
        MacKey::derive(&SecretKey::new(&[1; 32]), purpose)
    }

    #[test]
    fn a_tag_verifies_only_unchanged_and_whole() {
        let key = key("code");
        let tag = key.tag(&[b"family", b"1"]);
        assert!(key.verify(&[b"family", b"1"], &tag));
        for at in 0..tag.len() {
            let mut forged = tag;
            forged[at] ^= 1;
            assert!(!key.verify(&[b"family", b"1"], &forged));
            assert!(!key.verify(&[b"family", b"1"], &tag[..at]));
        }
        assert!(!key.verify(&[b"family", b"1"], &[tag.as_slice(), &[0]].concat()));
    }

    #[test]
    fn the_boundary_between_two_parts_cannot_shift() {
        let key = key("code");
        assert_ne!(key.tag(&[b"ab", b"c"]), key.tag(&[b"a", b"bc"]));
        assert_ne!(key.tag(&[b"ab"]), key.tag(&[b"ab", b""]));
        assert_ne!(key.tag(&[]), key.tag(&[b""]));
    }

    #[test]
    fn a_tag_for_one_purpose_is_worthless_for_another() {
        assert!(!key("refresh").verify(&[b"x"], &key("code").tag(&[b"x"])));
    }
}
