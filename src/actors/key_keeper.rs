//! Keeps the signing keys: watches the folder, moves keys through their states, lends signers out.
//!
//! The states live in the store, so every node publishes every key and a key signs only after it has
//! been published long enough for relying parties to have fetched it. The private halves live in the
//! folder; the newest good reading of it counts, and a bad one changes nothing but the log.

use super::{
    entities::Entities,
    hydrate::{Hydrated, hydrate},
    services::Services,
};
use crate::{
    crypto::{
        Signer, Verifiers,
        keys::{Fault, Folder},
    },
    domain::signing_keys::{Command, SigningAlgorithm, SigningKeys},
};
use bytes::Bytes;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::sync::watch;

/// The one entity that holds the states of all keys.
pub const INSTALLATION: &str = "installation";

/// What the rest of the house sees of the keys.
#[derive(Clone, Default)]
pub struct KeySnapshot {
    signers: BTreeMap<&'static str, Arc<Signer>>,
    /// The key set as it is published.
    pub jwks: Arc<Value>,
    /// The same as it is sent.
    pub jwks_json: Bytes,
    /// What verifies our own tokens: every published key.
    pub verifiers: Arc<Verifiers>,
}

impl KeySnapshot {
    /// Returns the signer of an algorithm, if this node holds one that may sign.
    pub fn signer(&self, algorithm: SigningAlgorithm) -> Option<&Arc<Signer>> {
        self.signers.get(algorithm.name())
    }
}

/// Reads the keys folder.
pub type ReadFolder = Arc<dyn Fn() -> Result<Folder, Vec<Fault>> + Send + Sync>;

/// How the keeper works.
#[derive(Clone, Copy, Debug)]
pub struct KeyOptions {
    /// How often the folder and the store are looked at.
    pub every: Duration,
    /// How long a key is published before it signs: the key set's max-age.
    pub published_for: Duration,
    /// How long a key verifies after its last signature: the longest life of a token.
    pub retired_for: Duration,
}

pub(super) struct KeyKeeper;

#[derive(Clone)]
pub(super) struct KeeperArguments {
    pub(super) services: Arc<Services>,
    pub(super) read_folder: ReadFolder,
    pub(super) options: KeyOptions,
    pub(super) keys: Entities<SigningKeys>,
    pub(super) published: Arc<watch::Sender<KeySnapshot>>,
    /// Rung to have the folder read at once.
    pub(super) bell: Arc<tokio::sync::Notify>,
}

pub(super) struct KeeperState {
    arguments: KeeperArguments,
    /// The last good reading of the folder.
    folder: Option<Folder>,
    _bell: tokio::task::JoinSet<()>,
}

/// Time to look at folder and store.
pub(super) struct Sweep;

impl Actor for KeyKeeper {
    type Msg = Sweep;
    type State = KeeperState;
    type Arguments = KeeperArguments;

    async fn pre_start(
        &self,
        myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let mut ringing = tokio::task::JoinSet::new();
        let (bell, every) = (arguments.bell.clone(), arguments.options.every);
        ringing.spawn(async move {
            while myself.send_message(Sweep).is_ok() {
                let _ = tokio::time::timeout(every, bell.notified()).await;
            }
        });
        Ok(KeeperState { arguments, folder: None, _bell: ringing })
    }

    async fn handle(
        &self,
        _myself: ActorRef<Self::Msg>,
        Sweep: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        state.read_folder();
        if let Err(why) = state.look_round().await {
            tracing::warn!(why, "the signing keys could not be looked after");
        }
        Ok(())
    }
}

impl KeeperState {
    fn read_folder(&mut self) {
        match (self.arguments.read_folder)() {
            Ok(folder) => {
                self.arguments.services.vault.replace(folder.vault());
                self.folder = Some(folder);
            }
            Err(faults) => {
                for fault in faults {
                    tracing::error!(%fault, "the keys folder cannot be used; the last reading counts");
                }
            }
        }
    }

    async fn look_round(&self) -> Result<(), &'static str> {
        let KeeperArguments { services, options, keys, published, .. } = &self.arguments;
        let Some(folder) = &self.folder else { return Err("the folder was never read") };
        let observe = Command::Observe { keys: folder.observed() };
        let KeyOptions { published_for, retired_for, every } = *options;
        // Other nodes sign with the former key until they have looked round themselves.
        let retired_for = retired_for + every * 2;
        keys.ask(INSTALLATION, observe).await.map_err(|_| "they could not be published")?;
        let held = folder.observed().into_iter().map(|key| key.kid).collect();
        let advance = Command::Advance { held, published_for, retired_for };
        keys.ask(INSTALLATION, advance).await.map_err(|_| "they could not be moved on")?;
        let read = hydrate::<SigningKeys>(&services.store, INSTALLATION).await;
        let Hydrated { machine, .. } = read.map_err(|_| "they could not be read")?;
        let snapshot = snapshot(&machine, folder);
        published.send_replace(snapshot);
        Ok(())
    }
}

fn snapshot(keys: &SigningKeys, folder: &Folder) -> KeySnapshot {
    let mut signers = BTreeMap::new();
    for algorithm in SigningAlgorithm::ALL {
        let Some(current) = keys.current(algorithm) else { continue };
        let held = folder.signing().iter().map(|file| &file.signer);
        let signer = held
            .filter(|signer| signer.algorithm() == algorithm)
            .find(|signer| signer.kid() == current.kid);
        if let Some(signer) = signer {
            signers.insert(algorithm.name(), signer.clone());
        } else {
            tracing::error!(
                algorithm = algorithm.name(),
                kid = current.kid,
                "the current key's file is not in this node's folder; it cannot sign"
            );
        }
    }
    let set: Vec<&Value> = keys.published().map(|key| &key.public_jwk).collect();
    let jwks = json!({ "keys": set });
    let jwks_json = jwks.to_string().into();
    let verifiers = Arc::new(keys.published().collect());
    KeySnapshot { signers, jwks: Arc::new(jwks), jwks_json, verifiers }
}
