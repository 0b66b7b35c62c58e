//! The token of a build without PKCS#11: there is none.

use super::{TokenProblem, TokenSettings};
use crate::{
    crypto::keys::{Fault, GenerateError, GeneratedKey, Problem, SigningKeyFile},
    domain::{Timestamp, signing_keys::SigningAlgorithm},
};

/// A token, of which there is none.
#[derive(Clone, Debug)]
pub enum Token {}

impl Token {
    /// Says that this build has none.
    pub fn open(settings: TokenSettings) -> Result<Self, Fault> {
        Err(Fault { path: settings.module, problem: Problem::Token(TokenProblem::NotBuilt) })
    }

    pub fn signing_keys(&self) -> Result<Vec<SigningKeyFile>, Vec<Fault>> {
        match *self {}
    }

    pub fn generate(
        &self,
        _algorithm: SigningAlgorithm,
        _created_at: Timestamp,
    ) -> Result<GeneratedKey, GenerateError> {
        match *self {}
    }

    pub fn destroy(&self, _kid: &str) {
        match *self {}
    }

    pub fn makes(&self, _algorithm: SigningAlgorithm) -> bool {
        match *self {}
    }

    pub fn describe(&self) -> String {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_it_says_which_one_is_needed() {
        let named = TokenSettings {
            module: "/usr/lib/hsm.so".into(),
            label: "porteiro".to_owned(),
            pin_file: "/etc/porteiro/pin".into(),
            waiting: |wait| wait(),
        };
        let refused = Token::open(named).unwrap_err().to_string();
        let needed =
            "/usr/lib/hsm.so: this binary has no PKCS#11: build it with `--features pkcs11`";
        assert_eq!(refused, needed);
    }
}
