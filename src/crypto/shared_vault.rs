//! The vault in force, which a new reading of the keys folder replaces for everybody at once.

use super::Vault;
use std::sync::{Arc, PoisonError, RwLock};

/// A handle on the vault in force; clones share it.
#[derive(Clone)]
pub struct SharedVault(Arc<RwLock<Vault>>);

impl SharedVault {
    pub fn new(vault: Vault) -> Self {
        Self(Arc::new(RwLock::new(vault)))
    }

    /// Returns the vault in force now.
    pub fn now(&self) -> Vault {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn replace(&self, vault: Vault) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = vault;
    }
}
