//! Keeps the signing keys: reads the folder, moves keys through their states, publishes signers.
//!
//! The states live in the store, so every node publishes every key and a key signs only after it has
//! been published long enough for relying parties to have fetched it. The private halves live in the
//! folder; the newest good reading of it counts, and a bad one changes nothing but the log.

use super::{
    entities::Entities,
    failure::{Failure, causes},
    hydrate::{EntitySnapshot, HydrateError, hydrate},
    services::Services,
    wake::send_on_signal,
};
use crate::{
    crypto::{
        Signer, Verifiers,
        keys::{Fault, Folder},
    },
    domain::{
        Context,
        signing_keys::{Command, PublicKey, Refusal, SigningAlgorithm, SigningKeys},
    },
};
use bytes::Bytes;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::{
    sync::{Notify, watch},
    task::{JoinError, JoinSet, spawn_blocking},
    time::timeout,
};

/// The one entity that holds the states of all keys.
pub const INSTALLATION: &str = "installation";

/// The keys as handlers use them.
#[derive(Clone, Default)]
pub struct KeySnapshot {
    signers: BTreeMap<&'static str, Arc<Signer>>,
    /// The key set as it is published.
    pub jwks: Arc<Value>,
    /// The same as it is sent.
    pub jwks_json: Bytes,
    /// What verifies our own tokens: every published key.
    pub verifiers: Arc<Verifiers>,
    /// What verifies an expired ID token that only hints at a person: every key but the revoked.
    pub hint_verifiers: Arc<Verifiers>,
}

impl KeySnapshot {
    /// Returns the signer of an algorithm, if this node holds one that may sign.
    pub fn signer(&self, algorithm: SigningAlgorithm) -> Option<&Arc<Signer>> {
        self.signers.get(algorithm.name())
    }

    /// Tells whether something can be signed by an algorithm now: there is a key, and it is not out of reach.
    pub fn can_sign(&self, algorithm: SigningAlgorithm) -> bool {
        self.signer(algorithm).is_some_and(|signer| signer.is_available())
    }
}

/// Reads the keys folder.
pub type ReadFolder = Arc<dyn Fn() -> Result<Folder, Vec<Fault>> + Send + Sync>;

/// Reads the keys folder on a thread that may block: files are read and RSA keys are parsed.
#[expect(
    clippy::disallowed_methods,
    reason = "one reading at a time, every few seconds: this needs no pool of its own"
)]
pub async fn read_on_a_blocking_thread(
    read_folder: ReadFolder,
) -> Result<Result<Folder, Vec<Fault>>, JoinError> {
    spawn_blocking(move || read_folder()).await
}

/// How the keeper works.
#[derive(Clone, Copy, Debug)]
pub struct KeyOptions {
    /// How often the folder and the store are looked at.
    pub every: Duration,
    /// How long a key is published before it signs: the key set's max-age.
    pub published_for: Duration,
    /// The longest life of a token that this node signs: a key verifies for so long after its last
    /// signature.
    pub longest_token: Duration,
}

pub(super) struct KeyKeeper;

#[derive(Clone)]
pub(super) struct KeeperArguments {
    pub(super) services: Arc<Services>,
    pub(super) read_folder: ReadFolder,
    pub(super) options: KeyOptions,
    pub(super) keys: Entities<SigningKeys>,
    pub(super) published: Arc<watch::Sender<KeySnapshot>>,
    /// Notified to have the folder read at once.
    pub(super) reload: Arc<Notify>,
}

pub(super) struct KeeperState {
    arguments: KeeperArguments,
    /// The last good reading of the folder.
    folder: Option<Arc<Folder>>,
    /// What the last snapshot was made of: the version of the states and the keys in the folder.
    made_of: Option<(i64, Vec<String>)>,
    _timer: JoinSet<()>,
}

/// Why the keys could not be kept; the last snapshot stays in use.
#[derive(Debug, thiserror::Error)]
enum KeeperError {
    #[error("the keys folder was never read")]
    NoFolder,
    #[error("new keys could not be published")]
    Publish(#[source] Failure<Refusal>),
    #[error("keys could not be moved to their next state")]
    Advance(#[source] Failure<Refusal>),
    #[error("the states of the keys could not be read")]
    Read(#[from] HydrateError),
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
        let (reload, every) = (arguments.reload.clone(), arguments.options.every);
        let timer = send_on_signal(
            myself,
            || Sweep,
            move || {
                let reload = reload.clone();
                async move {
                    let _ = timeout(every, reload.notified()).await;
                }
            },
        );
        Ok(KeeperState { arguments, folder: None, made_of: None, _timer: timer })
    }

    async fn handle(
        &self,
        _myself: ActorRef<Self::Msg>,
        Sweep: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        state.read_folder().await;
        if let Err(error) = state.sweep().await {
            tracing::warn!(why = causes(&error), "the signing keys could not be kept");
        }
        Ok(())
    }
}

impl KeeperState {
    async fn read_folder(&mut self) {
        let read_folder = self.arguments.read_folder.clone();
        match read_on_a_blocking_thread(read_folder).await {
            Ok(Ok(folder)) => {
                self.arguments.services.vault.replace(folder.vault());
                self.folder = Some(Arc::new(folder));
            }
            Ok(Err(faults)) => {
                for fault in faults {
                    tracing::error!(%fault, "the keys folder cannot be used; the last reading counts");
                }
            }
            Err(error) => {
                tracing::error!(%error, "reading the keys folder failed; the last reading counts");
            }
        }
    }

    async fn sweep(&mut self) -> Result<(), KeeperError> {
        let folder = self.folder.clone().ok_or(KeeperError::NoFolder)?;
        let moved = self.move_states(&folder).await;
        // A key that another process revoked must go, even where this node can write nothing.
        if moved.is_ok() || self.made_of.is_some() {
            self.publish(&folder).await?;
        }
        moved
    }

    /// Notes the keys that are new, and moves those whose time has come to their next state.
    async fn move_states(&self, folder: &Folder) -> Result<(), KeeperError> {
        let KeeperArguments { options, keys, .. } = &self.arguments;
        let context = Context::node();
        let KeyOptions { published_for, longest_token, every } = *options;
        // Other nodes sign with the former key until their own keepers have run.
        let retired_for = longest_token + every * 2;
        let observe = Command::Observe { keys: folder.observed() };
        keys.ask(&context, INSTALLATION, observe).await.map_err(KeeperError::Publish)?;
        let advance = Command::Advance { held: held(folder), published_for, retired_for };
        keys.ask(&context, INSTALLATION, advance).await.map_err(KeeperError::Advance)?;
        Ok(())
    }

    /// Publishes the keys as the store has them.
    async fn publish(&mut self, folder: &Folder) -> Result<(), KeeperError> {
        let KeeperArguments { services, published, .. } = &self.arguments;
        let EntitySnapshot { machine, version } = hydrate(&services.store, INSTALLATION).await?;
        let made_of = Some((version, held(folder)));
        // Readers of the snapshot may keep what they derived from it until it changes.
        if self.made_of != made_of {
            published.send_replace(snapshot(&machine, folder));
            self.made_of = made_of;
        }
        Ok(())
    }
}

/// Names the keys of a folder.
fn held(folder: &Folder) -> Vec<String> {
    folder.observed().into_iter().map(|key| key.kid).collect()
}

fn snapshot(keys: &SigningKeys, folder: &Folder) -> KeySnapshot {
    let mut signers = BTreeMap::new();
    for algorithm in SigningAlgorithm::ALL {
        let Some(current) = keys.signing(algorithm) else { continue };
        let mut held = folder.signing().iter().map(|file| &file.signer);
        let found = held.find(|signer| signer.kid() == current.kid);
        let Some(signer) = found else {
            tracing::error!(
                algorithm = algorithm.name(),
                kid = current.kid,
                "the current key's file is not in this node's folder; it cannot sign"
            );
            continue;
        };
        let signer = if signer.algorithm() == algorithm {
            Some(signer.clone())
        } else {
            signer.by(algorithm).map(Arc::new)
        };
        if let Some(signer) = signer {
            signers.insert(algorithm.name(), signer);
        } else {
            tracing::warn!(
                algorithm = algorithm.name(),
                kid = current.kid,
                "the token with the current key does not sign by this algorithm; it is not offered"
            );
        }
    }
    let set: Vec<Value> = keys.published().map(PublicKey::published_jwk).collect();
    let jwks = json!({ "keys": set });
    let jwks_json = jwks.to_string().into();
    let verifiers = Arc::new(keys.published().collect());
    let hint_verifiers = Arc::new(keys.not_revoked().collect());
    KeySnapshot { signers, jwks: Arc::new(jwks), jwks_json, verifiers, hint_verifiers }
}
