//! The signature algorithms with which Porteiro signs, by their JOSE names (RFC 7518, RFC 8037).

use serde::{Deserialize, Serialize};

/// An algorithm of ours; what others may sign with is decided where it is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SigningAlgorithm {
    #[serde(rename = "RS256")]
    Rs256,
    #[serde(rename = "PS256")]
    Ps256,
    #[serde(rename = "ES256")]
    Es256,
    #[serde(rename = "EdDSA")]
    EdDsa,
}

impl SigningAlgorithm {
    pub const ALL: [Self; 4] = [Self::Rs256, Self::Ps256, Self::Es256, Self::EdDsa];

    /// Returns the name that stands in `alg`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Ps256 => "PS256",
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }

    /// Lists by which algorithms a key signs that is kept for this one: an RSA key signs PS256 too, unless it
    /// is kept for that alone (adr/0128).
    pub const fn signed_with(self) -> &'static [Self] {
        match self {
            Self::Rs256 => &[Self::Rs256, Self::Ps256],
            Self::Ps256 => &[Self::Ps256],
            Self::Es256 => &[Self::Es256],
            Self::EdDsa => &[Self::EdDsa],
        }
    }

    /// Returns the algorithm of that name; the names are case-sensitive (RFC 7515 §4.1.1).
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }
}

impl std::fmt::Display for SigningAlgorithm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_algorithm_is_stored_and_found_by_its_jose_name() {
        for algorithm in SigningAlgorithm::ALL {
            assert_eq!(serde_json::to_value(algorithm).unwrap(), algorithm.name());
            assert_eq!(SigningAlgorithm::by_name(algorithm.name()), Some(algorithm));
        }
        for algorithm in SigningAlgorithm::ALL {
            assert_eq!(algorithm.signed_with().first(), Some(&algorithm));
        }
        assert_eq!(SigningAlgorithm::by_name("none"), None);
        assert_eq!(SigningAlgorithm::by_name("rs256"), None);
    }
}
