//! Builds store → actors and stops them in reverse; a value, so that tests run many at once.

mod log_chain;
mod retrying;
mod waiting;
mod workbench;

pub use log_chain::log_chain;
pub use retrying::CommitFailure;
pub(crate) use retrying::commit_failure;
pub use waiting::wait_beside_others;
pub use workbench::Workbench;

use crate::{
    actors::{
        Couriers, DomainHolders, DomainRecords, Entities, EntitySnapshot, HydrateError,
        INSTALLATION, KeySnapshot, Keys, KindReport, MultiCommit, MultiCommits, NameView,
        ReadCaches, ReadFolder, RepeatedWork, Services, SettleError, StartError, TopicReport, Tree,
        TreeOptions, View, export_log_heads,
        hashing::{HashingOptions, HashingPool},
        hydrate, read_on_a_blocking_thread, settle_reserved_names,
    },
    crypto::{
        Dice, Pseudonyms, SharedVault, draw_text,
        keys::{Fault, Folder},
    },
    domain::{
        Clock, Context, Machine,
        signing_keys::{PublicKey, SigningAlgorithm, SigningKeys},
    },
    outbound::TxtResolver,
    store::{
        FaultInjection, OpenError, ReadError, Store, StoreOptions,
        views::{FreshReads, StoreReport},
    },
};
use std::{collections::BTreeMap, io, sync::Arc, time::Duration};
use tokio::sync::watch;

/// What a system is built from.
pub struct SystemOptions {
    /// `sqlite:///path` or `postgres://user@host/database`.
    pub store: String,
    pub read_folder: ReadFolder,
    pub clock: Arc<dyn Clock>,
    pub dice: Arc<dyn Dice>,
    pub tree: TreeOptions,
    pub hashing: HashingOptions,
    pub couriers: Couriers,
    /// Who is asked for the records of domains.
    pub txt_resolver: Arc<dyn TxtResolver>,
    pub fault_injection: Arc<dyn FaultInjection>,
}

/// Why a system did not start.
#[derive(Debug, thiserror::Error)]
pub enum SystemError {
    #[error("the keys folder cannot be used")]
    Keys(Vec<Fault>),
    #[error("the store cannot be used")]
    Store(#[from] OpenError),
    #[error("the actors cannot be started")]
    Actors(#[from] StartError),
    #[error("a thread of the system cannot be started")]
    Threads(#[from] io::Error),
    #[error("no signing key could be published in time")]
    NoKeys,
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    KeysWithoutFiles(Vec<KeyWithoutFile>),
    #[error("this database belongs to another keys folder: its security log cannot be proved")]
    ForeignKeys,
    #[error("the security log cannot be read")]
    Unreadable(#[from] ReadError),
    #[error("the names that became reserved are not settled")]
    Names(#[from] SettleError),
    #[error("the states of the signing keys cannot be read")]
    KeyStates(#[source] HydrateError),
}

/// Why a system cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SystemFailure {
    /// A worker or host of this name.
    #[error("{0} kept dying")]
    KeptDying(&'static str),
    #[error("the database file was replaced")]
    DatabaseReplaced,
}

/// A key that signs for the installation, and whose private half is not in this node's folder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the {algorithm} key {kid} signs, and its file is not in the keys folder: restore it, or run \
     `porteiro keys revoke {kid} --replace`"
)]
pub struct KeyWithoutFile {
    pub algorithm: SigningAlgorithm,
    pub kid: String,
}

impl KeyWithoutFile {
    /// Lists those of an installation, as this folder leaves them.
    pub fn all(states: &SigningKeys, folder: &Folder) -> Vec<Self> {
        let name = |key: &PublicKey| Self { algorithm: key.algorithm, kid: key.kid.clone() };
        states.current_without(&folder.observed()).map(name).collect()
    }
}

/// Reads where the signing keys stand; `None` if no server has published any yet.
pub async fn key_states(store: &Store) -> Result<Option<SigningKeys>, HydrateError> {
    let EntitySnapshot { machine, version } = hydrate::<SigningKeys>(store, INSTALLATION).await?;
    Ok((version > 0).then_some(machine))
}

/// How long what was started may take to end, where a start is refused.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// The algorithms without which no token can be signed.
const NEEDED: [SigningAlgorithm; 2] = [SigningAlgorithm::Rs256, SigningAlgorithm::Es256];

/// A running system: everything below HTTP.
pub struct System {
    services: Arc<Services>,
    tree: Tree,
    keys: Keys,
    hashing: Arc<HashingPool>,
    domain_records: DomainRecords,
}

impl System {
    /// Starts everything below HTTP and returns once there is a key to sign with. Where it refuses,
    /// nothing of what was started is left.
    pub async fn start(options: SystemOptions) -> Result<Self, SystemError> {
        let folder = read_on_a_blocking_thread(options.read_folder.clone()).await;
        let folder = folder.map_err(io::Error::other)?;
        let folder = folder.map_err(SystemError::Keys)?;
        let SystemOptions { clock, dice, fault_injection, .. } = &options;
        let sources = Sources {
            clock: clock.clone(),
            dice: dice.clone(),
            fault_injection: fault_injection.clone(),
        };
        let services = open_services(&options.store, &folder, sources).await?;
        if let Err(error) = Box::pin(settle_reserved_names(&services)).await {
            return Err(closed(&services, error.into()).await);
        }
        let hashing = match start_hashing(&services, &folder, options.hashing).await {
            Ok(hashing) => hashing,
            Err(error) => return Err(closed(&services, error).await),
        };
        let tree = match Tree::start(services.clone(), options.tree).await {
            Ok(tree) => tree,
            Err(error) => {
                hashing.stop().await;
                return Err(closed(&services, error.into()).await);
            }
        };
        let domain_records = DomainRecords::new(options.txt_resolver.clone());
        match start_workers(&tree, options, &domain_records).await {
            Ok(keys) => Ok(Self { services, tree, keys, hashing, domain_records }),
            Err(error) => {
                tree.stop(STOP_TIMEOUT).await;
                hashing.stop().await;
                Err(closed(&services, error).await)
            }
        }
    }

    /// Hosts the entities of a kind and returns how to ask them.
    pub async fn host<M: Machine>(&self) -> Result<Entities<M>, StartError> {
        self.tree.host().await
    }

    /// Starts work that is done again and again, under the root.
    pub async fn start_repeated(&self, work: RepeatedWork) -> Result<(), StartError> {
        self.tree.start_repeated(work).await
    }

    /// Begins decisions over several entities that are committed together.
    pub fn multi_commits(&self) -> MultiCommits {
        self.tree.multi_commits()
    }

    /// Begins decisions over several entities that are committed together.
    pub fn multi_commit(&self, context: &Context) -> MultiCommit {
        self.tree.multi_commit(context)
    }

    /// Reads the entities of a kind, and lists of them, as they were less than a second ago.
    pub fn view<M: Machine>(&self) -> View<M> {
        self.tree.view()
    }

    /// Reads which entities held the names of a space less than a second ago.
    pub fn names(&self, space: &'static str) -> NameView {
        self.tree.names(space)
    }

    /// Returns the keys as they are now; later snapshots come through the same receiver.
    pub fn keys(&self) -> watch::Receiver<KeySnapshot> {
        self.keys.snapshots.clone()
    }

    /// The states of all signing keys; where one is revoked.
    pub fn signing_keys(&self) -> &Entities<SigningKeys> {
        &self.keys.states
    }

    /// Has the keys folder read again now.
    pub fn reload_keys(&self) {
        self.keys.reload.notify_one();
    }

    pub fn clock(&self) -> Arc<dyn Clock> {
        self.services.clock.clone()
    }

    pub fn dice(&self) -> Arc<dyn Dice> {
        self.services.dice.clone()
    }

    /// What seals, and proves what was issued.
    pub fn vault(&self) -> SharedVault {
        self.services.vault.clone()
    }

    /// Names under which to keep what must not be recognised.
    pub fn pseudonyms(&self) -> Pseudonyms {
        Pseudonyms::new(self.services.vault.clone())
    }

    pub fn hashing(&self) -> &Arc<HashingPool> {
        &self.hashing
    }

    /// What says which organization vouches for addresses at a domain.
    pub fn domain_holders(&self) -> DomainHolders {
        DomainHolders::new(self.services.clone())
    }

    /// What finds the records of domains that are to be proved.
    pub fn domain_records(&self) -> DomainRecords {
        self.domain_records.clone()
    }

    pub fn store(&self) -> &Store {
        &self.services.store
    }

    /// The reads of the store that HTTP makes by itself.
    pub fn fresh_reads(&self) -> FreshReads {
        self.services.store.fresh_reads()
    }

    /// Returns the counters of the store.
    pub fn store_report(&self) -> StoreReport {
        self.services.store.report()
    }

    /// Says how the entities of each hosted kind are.
    pub fn kinds(&self) -> Vec<(&'static str, KindReport)> {
        self.tree.kinds()
    }

    /// Says how often each part of the tree had to be started again.
    pub fn restarts(&self) -> BTreeMap<&'static str, u64> {
        self.tree.restarts()
    }

    /// Says how the messages of each topic fare.
    pub fn outbox(&self) -> Vec<TopicReport> {
        self.tree.outbox()
    }

    /// Waits until the process must end, and says why.
    pub async fn given_up(&self) -> SystemFailure {
        tokio::select! {
            name = self.tree.given_up() => SystemFailure::KeptDying(name),
            () = self.services.store.replaced() => SystemFailure::DatabaseReplaced,
        }
    }

    /// Takes no more commands, finishes what is under way, exports the heads of the security log, and
    /// closes the store last.
    ///
    /// Returns false where something was still under way when the time was up.
    pub async fn stop(&self, timeout: Duration) -> bool {
        let orderly = self.tree.stop(timeout).await;
        self.hashing.stop().await;
        let Services { store, clock, .. } = &*self.services;
        // After the last commit of this node: what is cut off while it is down shows against these.
        match tokio::time::timeout(timeout, export_log_heads(store, clock.now())).await {
            Ok(Ok(_heads)) => {}
            Ok(Err(error)) => {
                tracing::warn!(%error, "the heads of the security log are not exported");
            }
            Err(_elapsed) => {
                tracing::warn!("the heads of the security log are not exported in time");
            }
        }
        let closed = tokio::time::timeout(timeout, self.services.store.close()).await.is_ok();
        orderly && closed
    }
}

/// Starts what hashes, where the folder has the keys that sign for the installation.
async fn start_hashing(
    services: &Services,
    folder: &Folder,
    options: HashingOptions,
) -> Result<Arc<HashingPool>, SystemError> {
    let states = key_states(&services.store).await.map_err(SystemError::KeyStates)?;
    let mut missing = KeyWithoutFile::all(&states.unwrap_or_default(), folder);
    missing.retain(|key| NEEDED.contains(&key.algorithm));
    if !missing.is_empty() {
        return Err(SystemError::KeysWithoutFiles(missing));
    }
    Ok(Arc::new(HashingPool::start(options)?))
}

/// Starts the workers of the tree and returns once there is a key to sign with.
async fn start_workers(
    tree: &Tree,
    options: SystemOptions,
    records: &DomainRecords,
) -> Result<Keys, SystemError> {
    let mut keys = tree.start_key_keeper(options.read_folder).await?;
    tree.start_outbox(options.couriers).await?;
    tree.start_feed().await?;
    tree.start_domain_checks(records.clone()).await?;
    tree.start_janitor().await?;
    tree.start_organization_eraser().await?;
    let published = {
        let can_sign = |snapshot: &KeySnapshot| {
            NEEDED.into_iter().all(|algorithm| snapshot.signer(algorithm).is_some())
        };
        let first = keys.snapshots.wait_for(can_sign);
        matches!(tokio::time::timeout(options.tree.timeout, first).await, Ok(Ok(_)))
    };
    if published { Ok(keys) } else { Err(SystemError::NoKeys) }
}

/// Closes the store of a system that does not start.
async fn closed(services: &Services, why: SystemError) -> SystemError {
    services.store.close().await;
    why
}

/// Where time, randomness and, in tests, failures come from.
struct Sources {
    clock: Arc<dyn Clock>,
    dice: Arc<dyn Dice>,
    fault_injection: Arc<dyn FaultInjection>,
}

/// Opens the store of the installation whose keys are in `folder`.
async fn open_services(
    store_url: &str,
    folder: &Folder,
    sources: Sources,
) -> Result<Arc<Services>, SystemError> {
    let Sources { clock, dice, fault_injection } = sources;
    let vault = SharedVault::new(folder.vault());
    let options = StoreOptions {
        url: store_url.to_owned(),
        node: draw_text(&*dice, 16),
        chain_keys: log_chain(vault.clone()),
        fault_injection,
    };
    let store = Store::open(options, clock.now()).await?;
    // A node with other keys would publish keys that no other node can sign with, and write what no
    // other node can open or prove.
    let refused = match store.log_is_ours().await {
        Ok(true) => {
            let caches = ReadCaches::default();
            return Ok(Arc::new(Services { store, caches, clock, dice, vault }));
        }
        Ok(false) => SystemError::ForeignKeys,
        Err(error) => error.into(),
    };
    store.close().await;
    Err(refused)
}
