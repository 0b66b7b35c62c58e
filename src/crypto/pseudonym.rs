//! Names under which something may be kept without keeping what it is named after.

use super::SharedVault;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

/// How many bytes of the tag make a name: two things never meet under one by chance.
const NAME: usize = 16;

/// Gives pseudonyms; clones give the same.
///
/// They descend from the secret key in force: when that is rotated, everything has another one.
#[derive(Clone)]
pub struct Pseudonyms(SharedVault);

impl Pseudonyms {
    pub fn new(vault: SharedVault) -> Self {
        Self(vault)
    }

    /// Returns what `parts` are called for `purpose`; without the secret key it cannot be told.
    pub fn name(&self, purpose: &'static str, parts: &[&str]) -> String {
        let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
        let tag = self.0.now().mac_key(purpose).tag(&parts);
        URL_SAFE_NO_PAD.encode(&tag[..NAME])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::{SecretKey, Vault};

    fn vault(byte: u8) -> Vault {
        Vault::new(SecretKey::new(&[byte; 32]), Vec::new())
    }

    fn pseudonyms() -> Pseudonyms {
        Pseudonyms::new(SharedVault::new(vault(1)))
    }

    #[test]
    fn the_same_has_the_same_name_and_nothing_else_has_it() {
        let name = pseudonyms().name("throttle", &["password", "ana@acme.test"]);
        assert_eq!(name, pseudonyms().name("throttle", &["password", "ana@acme.test"]));
        assert_eq!(URL_SAFE_NO_PAD.decode(&name).unwrap().len(), NAME);
        for other in [["totp", "ana@acme.test"], ["password", "rui@acme.test"]] {
            assert_ne!(pseudonyms().name("throttle", &other), name);
        }
        assert_ne!(pseudonyms().name("throttle", &["passwordana", "@acme.test"]), name);
        assert_ne!(pseudonyms().name("device", &["password", "ana@acme.test"]), name);
    }

    #[test]
    fn another_secret_key_gives_other_names() {
        let shared = SharedVault::new(vault(1));
        let pseudonyms = Pseudonyms::new(shared.clone());
        let name = pseudonyms.name("throttle", &["ana@acme.test"]);
        shared.replace(vault(2));
        assert_ne!(pseudonyms.name("throttle", &["ana@acme.test"]), name);
    }
}
