//! One attempt to sign in at a provider: what is drawn for it, and kept until the browser is back.

use crate::domain::Fingerprint;
use serde::{Deserialize, Serialize};

/// Three texts of at least 256 random bits each; none is told to another attempt.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Goes through the browser and comes back: the answer is to this attempt.
    pub state: String,
    /// Comes back inside the ID token: the token was made for this attempt.
    pub nonce: String,
    /// Goes to the provider alone: the code was issued to this attempt (RFC 7636 §4.1).
    pub verifier: String,
}

impl Attempt {
    /// The S256 challenge of the verifier (RFC 7636 §4.2).
    pub fn challenge(&self) -> String {
        Fingerprint::of(self.verifier.as_bytes()).into()
    }
}

impl std::fmt::Debug for Attempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Attempt(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_the_one_in_rfc_7636() {
        let attempt = Attempt {
            state: "st".to_owned(),
            nonce: "no".to_owned(),
            verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned(),
        };
        assert_eq!(attempt.challenge(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        assert_eq!(format!("{attempt:?}"), "Attempt(…)");
    }
}
