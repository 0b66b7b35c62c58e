//! Entities in SQLite or PostgreSQL, changed by compare-and-swap and nothing else.
//!
//! [`Store::commit`] is the only way to change one: an entity's step with all that it creates,
//! requires, records and sends, or nothing. [`committer`] lets commits that wait share a transaction,
//! [`group`] writes them, [`chain`] appends to the security log, [`engine`] is the only file that knows
//! which database it talks to. The store knows text, versions and times; it knows no rule.
//!
//! Other parts of the crate read through [`views`]; HTTP uses nothing else of the store.

mod at_once;
mod batch;
mod chain;
mod commit;
mod committer;
mod copies;
mod disjoint;
mod engine;
mod fault_injection;
mod group;
mod log;
mod maintenance;
mod migrate;
mod moves;
mod outbox;
mod sql;
mod transactor;
mod value;
pub mod views;
mod vitals;
mod work;

pub use chain::{ChainKey, ChainKeys, Head, LogRow, Mac};
pub use commit::{Change, Commit, CommitError, Delta, EntityRecord, ExpectedRow, Message};
pub use copies::{Backup, CopyError, Restoration, back_up};
pub use engine::DatabaseError;
pub use fault_injection::{FaultInjection, Moment, NothingFails};
pub use log::{Finding, LogEntry, LogPlace, Proof};
pub use migrate::MigrateError;
pub use moves::{Digest, MoveError, TableComparison, move_rows};
pub use outbox::{DueMessage, LeasedMessage, OutboxLane, TopicBacklog, UNCLASSIFIED};
pub use views::{ListRow, Liveness, ReadError, Row};
pub use vitals::{StoreReport, Vitals};

use crate::domain::Timestamp;
use chain::LogWriter;
use committer::{Committer, Job};
use engine::{Engine, Readers, is_read_only};
use maintenance::{Maintenance, Outcome};
use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    sync::{Notify, mpsc, oneshot},
    task::JoinSet,
    time::timeout,
};
use transactor::Transactor;

/// How many commits may wait for a committer before callers wait to hand theirs over.
const QUEUE: usize = 1024;

/// How long a caller waits for a committer: as long as a connection, the statements and the end of a transaction
/// may take. SQLite works on the committer's own thread, which a disk that does not answer holds up.
const GIVEN_UP_AFTER: Duration = transactor::TIMEOUT.saturating_mul(3);

/// How to open a store.
pub struct StoreOptions {
    /// `sqlite:///path` or `postgres://user@host/database`.
    pub url: String,
    /// Unique among processes; it names this writer in the security log.
    pub node: String,
    pub chain_keys: Arc<dyn ChainKeys>,
    pub fault_injection: Arc<dyn FaultInjection>,
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the store's address cannot be used")]
    Address(#[source] DatabaseError),
    #[error("the store cannot be reached")]
    Unreachable(#[source] DatabaseError),
    #[error("the store cannot be used")]
    Unfit(#[source] DatabaseError),
    #[error(
        "the database takes no changes: it is a standby or set to read only; give the address of the primary"
    )]
    ReadOnly(#[source] DatabaseError),
    #[error("there is no such database file")]
    Missing,
    #[error("no thread could be started for it")]
    Thread(#[source] std::io::Error),
    #[error("the schema does not fit")]
    Schema(#[from] MigrateError),
}

impl OpenError {
    fn of_connecting(error: DatabaseError) -> Self {
        match error {
            DatabaseError::Unfit(_) => Self::Unfit(error),
            other => Self::Unreachable(other),
        }
    }

    fn of_migrating(error: MigrateError) -> Self {
        match error {
            MigrateError::Database(error @ DatabaseError::Unfit(_)) => Self::Unfit(error),
            MigrateError::Database(error) if is_read_only(&error) => Self::ReadOnly(error),
            other => Self::Schema(other),
        }
    }
}

/// Brings the schema up to this binary and returns the names of the migrations that were run.
pub async fn migrate(url: &str, now: Timestamp) -> Result<Vec<&'static str>, OpenError> {
    migrate_by(&Engine::parse(url).map_err(OpenError::Address)?, now).await
}

async fn migrate_by(engine: &Engine, now: Timestamp) -> Result<Vec<&'static str>, OpenError> {
    let mut connection = engine.connect().await.map_err(OpenError::of_connecting)?;
    let applied = migrate::migrate(&mut connection, now).await;
    connection.close().await;
    applied.map_err(OpenError::of_migrating)
}

/// Says which migrations a database still needs, none of them if it was never used; changes nothing.
///
/// Fails where it cannot be reached or needs a newer binary.
pub async fn pending_migrations(url: &str) -> Result<Vec<&'static str>, OpenError> {
    let engine = Engine::parse(url).map_err(OpenError::Address)?.or_standby();
    let is_new = engine.is_new_file().map_err(|error| OpenError::Unreachable(error.into()))?;
    if is_new {
        return Ok(migrate::names());
    }
    let mut connection = engine.connect_read_only().await.map_err(OpenError::of_connecting)?;
    let pending = migrate::pending(&mut connection).await;
    connection.close().await;
    Ok(pending?)
}

/// A handle on the one store of a system; clones share it.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    readers: Readers,
    committers: Vec<mpsc::Sender<Job>>,
    /// Each waits for the end of one committer.
    ended: Mutex<JoinSet<()>>,
    vitals: Arc<Vitals>,
    fault_injection: Arc<dyn FaultInjection>,
    chain_keys: Arc<dyn ChainKeys>,
    /// Woken when a commit has left a message in the outbox.
    posted: Notify,
}

impl Store {
    /// Opens the database, migrates it, and starts the committers.
    pub async fn open(options: StoreOptions, now: Timestamp) -> Result<Self, OpenError> {
        let engine = Engine::parse(&options.url).map_err(OpenError::Address)?;
        let applied = migrate_by(&engine, now).await?;
        if !applied.is_empty() {
            tracing::info!(migrations = ?applied, "the schema was brought up to date");
        }
        let vitals = Arc::new(Vitals::default());
        let (mut committers, mut ended) = (Vec::new(), JoinSet::new());
        for number in 0..engine.writers() {
            let (sender, queue) = mpsc::channel(QUEUE);
            let name = format!("{}.{number}", options.node);
            let writer = LogWriter::new(name, options.chain_keys.clone());
            let fault_injection = options.fault_injection.clone();
            let transactor =
                Transactor::new(engine.clone(), writer, vitals.clone(), fault_injection);
            let committer = Committer { queue, vitals: vitals.clone(), transactor };
            match committer.start(number) {
                Ok(end) => drop(ended.spawn(async move { drop(end.await) })),
                Err(error) => {
                    // Without their queues those that run already end.
                    drop(committers);
                    while ended.join_next().await.is_some() {}
                    return Err(OpenError::Thread(error));
                }
            }
            committers.push(sender);
        }
        if let Some(first) = committers.first() {
            let (reply, connected) = oneshot::channel();
            let _ = first.send(Job::Connect(reply)).await;
            let _ = connected.await;
        }
        let inner = Inner {
            readers: engine.readers(),
            committers,
            ended: Mutex::new(ended),
            vitals,
            fault_injection: options.fault_injection,
            chain_keys: options.chain_keys,
            posted: Notify::new(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Opens a database that exists to read it and nothing else: what is audited is not changed.
    pub async fn open_to_read(
        url: &str,
        chain_keys: Arc<dyn ChainKeys>,
    ) -> Result<Self, OpenError> {
        let engine = Engine::parse(url).map_err(OpenError::Address)?.or_standby();
        if engine.is_new_file().map_err(|error| OpenError::Unreachable(error.into()))? {
            return Err(OpenError::Missing);
        }
        let inner = Inner {
            readers: engine.readers(),
            committers: Vec::new(),
            ended: Mutex::new(JoinSet::new()),
            vitals: Arc::default(),
            fault_injection: Arc::new(NothingFails),
            chain_keys,
            posted: Notify::new(),
        };
        migrate::check(&inner.readers).await.map_err(OpenError::of_migrating)?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Makes `commit` durable and returns the entity's new version.
    pub async fn commit(&self, commit: Commit) -> Result<i64, CommitError> {
        let posts = !commit.messages.is_empty();
        let mut hasher = DefaultHasher::new();
        commit.changes.first().map(|change| (change.kind, &change.id)).hash(&mut hasher);
        let place = self.place(hasher.finish());
        let (reply, answer) = oneshot::channel();
        self.hand_over(place, Job::Commit(Box::new(commit), reply)).await?;
        let version = answered(answer, GIVEN_UP_AFTER).await?;
        if posts {
            self.inner.posted.notify_one();
        }
        Ok(version)
    }

    /// Finishes every commit that was handed over, then closes.
    pub async fn close(&self) {
        for committer in &self.inner.committers {
            let _ = committer.send(Job::Stop).await;
        }
        let mut ended = {
            let mut held =
                self.inner.ended.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            std::mem::take(&mut *held)
        };
        while ended.join_next().await.is_some() {}
        self.inner.readers.close().await;
    }

    pub fn report(&self) -> StoreReport {
        self.inner.vitals.report()
    }

    /// Chooses a committer by a hash.
    fn place(&self, hash: u64) -> usize {
        let count = self.inner.committers.len().max(1);
        usize::try_from(hash % count as u64).unwrap_or(0)
    }

    /// A queue that is closed, or was never there, took nothing; a lost answer may hide a commit.
    async fn hand_over(&self, place: usize, job: Job) -> Result<(), CommitError> {
        let committer = self.inner.committers.get(place).ok_or(CommitError::Unavailable)?;
        let taken = timeout(GIVEN_UP_AFTER, committer.send(job)).await;
        taken.ok().and_then(Result::ok).ok_or(CommitError::Unavailable)
    }

    /// Waits until the database file was found to be another than the one that was opened; nothing is read or
    /// written then.
    pub async fn replaced(&self) {
        self.inner.readers.replaced().await;
    }

    async fn run_maintenance(&self, maintenance: Maintenance) -> Result<Outcome, CommitError> {
        let (reply, answer) = oneshot::channel();
        self.hand_over(0, Job::Maintenance(maintenance, reply)).await?;
        answered(answer, GIVEN_UP_AFTER).await
    }

    async fn count_maintenance(&self, maintenance: Maintenance) -> Result<u64, CommitError> {
        match self.run_maintenance(maintenance).await? {
            Outcome::Count(count) => Ok(count),
            Outcome::Heads(_) => Err(CommitError::Unknown),
        }
    }

    /// Forgets up to `most` entities whose time has come and says how many there were.
    pub async fn forget_expired(&self, now: Timestamp, most: u32) -> Result<u64, CommitError> {
        self.count_maintenance(Maintenance::Forget { now, most: most.into() }).await
    }
}

/// Waits for a committer; where none answers, it may have happened or may happen yet.
async fn answered<T>(
    answer: oneshot::Receiver<Result<T, CommitError>>,
    given_up_after: Duration,
) -> Result<T, CommitError> {
    let answer = timeout(given_up_after, answer).await;
    answer.ok().and_then(Result::ok).unwrap_or(Err(CommitError::Unknown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_committer_that_does_not_answer_is_given_up_on_and_the_outcome_is_unknown() {
        let (stuck, answer) = oneshot::channel::<Result<i64, CommitError>>();
        let given_up = answered(answer, Duration::from_millis(10)).await;
        assert_eq!(given_up, Err(CommitError::Unknown));
        assert!(stuck.is_closed(), "the committer can see that");
        let (ended, answer) = oneshot::channel::<Result<i64, CommitError>>();
        drop(ended);
        assert_eq!(answered(answer, GIVEN_UP_AFTER).await, Err(CommitError::Unknown));
        let (told, answer) = oneshot::channel();
        told.send(Err(CommitError::Conflict)).unwrap();
        assert_eq!(answered::<i64>(answer, GIVEN_UP_AFTER).await, Err(CommitError::Conflict));
    }
}
