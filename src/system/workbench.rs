//! What commands of an operator work with.

use super::{Sources, SystemError, open_services};
use crate::{
    actors::{HydrateError, MultiCommit, Services, SettleError, settle_reserved_names},
    crypto::{Dice, Pseudonyms, Vault, keys::Folder, password::PasswordCost},
    domain::{
        Clock, Context,
        password::Policy,
        signing_keys::{KeyState, PublicKey, SigningAlgorithm},
    },
    store::{NothingFails, Store},
};
use std::sync::Arc;

/// What a command works with beside a server, or without one: the store and the keys. Nothing runs
/// by itself.
pub struct Workbench {
    services: Arc<Services>,
    password_cost: PasswordCost,
    password_policy: Policy,
    /// What the keys folder has a key for.
    algorithms: Vec<SigningAlgorithm>,
}

impl Workbench {
    /// Opens and migrates the store of the installation whose keys these are.
    pub async fn open(
        store_url: &str,
        folder: &Folder,
        clock: Arc<dyn Clock>,
        dice: Arc<dyn Dice>,
    ) -> Result<Self, SystemError> {
        let sources = Sources { clock, dice, fault_injection: Arc::new(NothingFails) };
        let services = open_services(store_url, folder, sources).await?;
        let (password_cost, password_policy) = (PasswordCost::default(), Policy::default());
        let held = folder.signing().iter().map(|file| file.signer.algorithm());
        let algorithms = held.flat_map(SigningAlgorithm::signed_with).copied().collect();
        Ok(Self { services, password_cost, password_policy, algorithms })
    }

    /// Has passwords hashed at another cost than usual.
    pub fn with_password_cost(self, password_cost: PasswordCost) -> Self {
        Self { password_cost, ..self }
    }

    /// Holds new passwords to another rule than the usual one.
    pub fn with_password_policy(self, password_policy: Policy) -> Self {
        Self { password_policy, ..self }
    }

    /// Counts on keys that servers have published as well: those of a token are in no folder. Where no server has run yet,
    /// each may be in the token.
    pub async fn with_published_keys(mut self) -> Result<Self, HydrateError> {
        let signs = |key: &&PublicKey| matches!(key.state, KeyState::Next | KeyState::Current);
        match super::key_states(&self.services.store).await? {
            None => self.algorithms = SigningAlgorithm::ALL.to_vec(),
            Some(states) => {
                let signing = states.published().filter(signs);
                self.algorithms.extend(signing.flat_map(|key| key.algorithm.signed_with()));
            }
        }
        Ok(self)
    }

    /// Tells whether the keys folder has a key to sign with by this algorithm.
    pub fn can_sign(&self, algorithm: SigningAlgorithm) -> bool {
        self.algorithms.contains(&algorithm)
    }

    pub fn password_policy(&self) -> Policy {
        self.password_policy
    }

    pub fn password_cost(&self) -> PasswordCost {
        self.password_cost
    }

    pub fn clock(&self) -> &dyn Clock {
        &*self.services.clock
    }

    pub fn dice(&self) -> &dyn Dice {
        &*self.services.dice
    }

    /// Names under which to find what must not be recognised.
    pub fn pseudonyms(&self) -> Pseudonyms {
        Pseudonyms::new(self.services.vault.clone())
    }

    /// Returns the vault of the installation.
    pub fn vault(&self) -> Vault {
        self.services.vault.now()
    }

    /// Begins decisions of the operator over several entities, committed together.
    pub fn multi_commit(&self) -> MultiCommit {
        MultiCommit::new(self.services.clone(), Context::operator())
    }

    /// The same, for a reason that the operator gave.
    pub fn multi_commit_because(&self, reason: Option<&str>) -> MultiCommit {
        let context = Context::operator();
        let context = match reason {
            Some(reason) => context.because(reason),
            None => context,
        };
        MultiCommit::new(self.services.clone(), context)
    }

    pub fn store(&self) -> &Store {
        &self.services.store
    }

    /// Settles which names that became reserved are ours (adr/0132).
    pub async fn settle_names(&self) -> Result<(), SettleError> {
        Box::pin(settle_reserved_names(&self.services)).await
    }

    /// Finishes every commit that was handed over, then closes the store.
    pub async fn close(self) {
        self.services.store.close().await;
    }
}
