//! What is kept of a secret: enough to recognise it, too little to present it.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// The SHA-256 of a secret of high entropy; compared in constant time.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fingerprint([u8; 32]);

/// Not the text of a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a fingerprint is 32 bytes in base64url")]
pub struct MalformedFingerprint;

impl Fingerprint {
    pub fn of(secret: &[u8]) -> Self {
        Self(Sha256::digest(secret).into())
    }

    /// Returns the hash itself.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl PartialEq for Fingerprint {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Fingerprint {}

impl std::fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Fingerprint(…)")
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = MalformedFingerprint;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| MalformedFingerprint)?;
        Ok(Self(bytes.try_into().map_err(|_| MalformedFingerprint)?))
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> Self {
        URL_SAFE_NO_PAD.encode(fingerprint.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_recognised_by_its_fingerprint_alone() {
        let kept = Fingerprint::of(b"a secret of high entropy");
        assert_eq!(kept, Fingerprint::of(b"a secret of high entropy"));
        assert_ne!(kept, Fingerprint::of(b"a secret of high entropz"));
        let text = serde_json::to_string(&kept).unwrap();
        assert_eq!(serde_json::from_str::<Fingerprint>(&text).unwrap(), kept);
        assert!(serde_json::from_str::<Fingerprint>("\"AAAA\"").is_err());
        assert!(!format!("{kept:?}").contains(&text[1..10]));
    }
}
