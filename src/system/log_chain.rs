//! The keys that chain the security log.

use crate::{
    crypto::{MacKey, SharedVault},
    store::{ChainKey, ChainKeys, Mac},
};
use std::sync::Arc;

/// Chains the security log with a key derived from the keys folder.
struct LogChainKeys(SharedVault);

const LOG_PURPOSE: &str = "security log";

impl ChainKeys for LogChainKeys {
    fn current(&self) -> Box<dyn ChainKey> {
        Box::new(LogChainKey(self.0.now().mac_key(LOG_PURPOSE)))
    }

    fn mac(&self, key: &str, parts: &[&[u8]]) -> Option<Mac> {
        Some(self.0.now().mac_key_by(LOG_PURPOSE, key)?.tag(parts))
    }
}

/// One reading of the vault: a key that is replaced meanwhile still writes what it began.
struct LogChainKey(MacKey);

impl ChainKey for LogChainKey {
    fn id(&self) -> &str {
        self.0.kid()
    }

    fn mac(&self, parts: &[&[u8]]) -> Mac {
        self.0.tag(parts)
    }
}

/// Returns what chains the security log of an installation whose vault this is.
pub fn log_chain(vault: SharedVault) -> Arc<dyn ChainKeys> {
    Arc::new(LogChainKeys(vault))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::{SecretKey, Vault};

    #[test]
    fn what_was_begun_keeps_its_key_when_the_vault_is_replaced() {
        let vault = SharedVault::new(Vault::new(SecretKey::new(&[1; 32]), vec![]));
        let chain = log_chain(vault.clone());
        let held = chain.current();
        let (key, mac) = (held.id().to_owned(), held.mac(&[b"x"]));
        assert_eq!(chain.mac(&key, &[b"x"]), Some(mac));
        vault.replace(Vault::new(SecretKey::new(&[2; 32]), vec![]));
        assert_eq!((held.id(), held.mac(&[b"x"])), (key.as_str(), mac));
        assert_ne!(chain.current().id(), key, "the next one has the new key");
        assert_eq!(chain.mac(&key, &[b"x"]), None);
    }
}
