//! What every actor is given.

use super::read_caches::ReadCaches;
use crate::{
    crypto::{Dice, SharedVault},
    domain::Clock,
    store::{Commit, CommitError, Store},
};
use std::sync::Arc;

/// The store, what is cached of it, the clock, random numbers and the vault.
pub struct Services {
    pub store: Store,
    pub caches: ReadCaches,
    pub clock: Arc<dyn Clock>,
    pub dice: Arc<dyn Dice>,
    pub vault: SharedVault,
}

impl Services {
    /// Makes `commit` durable, and returns the new version of what it changes first.
    pub(super) async fn commit(&self, commit: Commit) -> Result<i64, CommitError> {
        let _note = self.caches.note(&commit);
        self.store.commit(commit).await
    }
}
