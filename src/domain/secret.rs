//! Bytes that must not be seen: erased when dropped, never printed, compared in constant time.

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Secret bytes; `Debug` says only that they are there.
#[derive(Clone)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(Zeroizing::new(bytes.into()))
    }

    /// Hands out the bytes; every caller of this is a place to look at in a review.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_slice().ct_eq(other.0.as_slice()).into()
    }
}

impl Eq for Secret {}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_equal_by_its_bytes_and_never_printed() {
        let secret = Secret::new("open sesame");
        assert_eq!(secret, Secret::new(b"open sesame".to_vec()));
        assert_ne!(secret, Secret::new("open"));
        assert!(!format!("{secret:?}").contains("sesame"));
    }
}
