//! The pool in which passwords are hashed: a few slow threads, and no caller waits without a permit.
//!
//! The pool is actix's `SyncArbiter`, on a `System` thread of its own. Three things it lacks are
//! added here. Its queue is unbounded: a job carries one of our permits, and where none is free
//! the caller is refused at once. A panic would end a worker for good: it is caught, and fails
//! that caller alone. Its threads cannot be joined: each holds the end of a line that falls
//! silent when all are gone.

mod even_time;
mod recovery_codes;
mod shelf;
#[cfg(test)]
mod tests;
mod worker;

pub use worker::LOWERED_BY;

use crate::{
    clock::Stopwatch,
    crypto::password::{self, Memory, PasswordCost, PasswordError, Verdict},
    domain::password::Password,
};
use actix::Addr;
use even_time::EvenTime;
use shelf::Shelf;
use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError, oneshot},
    time::sleep,
};
use worker::{Job, Worker, host};

/// How large the pool is, and what a hash costs in it.
#[derive(Clone, Copy, Debug)]
pub struct HashingOptions {
    /// Threads that hash.
    pub workers: usize,
    /// How many jobs may wait beyond those that run.
    pub waiting: usize,
    /// How long memory lies unused before it is given back.
    pub idle: Duration,
    pub cost: PasswordCost,
}

impl Default for HashingOptions {
    fn default() -> Self {
        Self {
            workers: thread::available_parallelism().map_or(1, usize::from),
            waiting: 16,
            idle: Duration::from_mins(1),
            cost: PasswordCost::default(),
        }
    }
}

/// Why a job has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HashingError {
    #[error("all workers are busy")]
    Busy,
    #[error("the job panicked")]
    Failed,
    #[error("the pool has stopped")]
    Stopped,
    #[error("the password or its hash was rejected")]
    Rejected(#[from] PasswordError),
}

/// What the pool is doing, and what it has done since it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vitals {
    /// Jobs running now.
    pub busy: u64,
    /// Permits that are free.
    pub free: usize,
    /// Memories that lie ready.
    pub shelved: usize,
    /// Jobs that ran to their end.
    pub done: u64,
    /// Jobs for which there was no permit.
    pub refused: u64,
    /// Jobs whose callers had gone before they began.
    pub abandoned: u64,
    pub panicked: u64,
}

#[derive(Default)]
struct Tally {
    busy: AtomicU64,
    done: AtomicU64,
    refused: AtomicU64,
    abandoned: AtomicU64,
    panicked: AtomicU64,
}

/// What the pool and its workers share.
struct PoolState {
    cost: PasswordCost,
    even_time: EvenTime,
    /// Closed when the pool stops.
    permits: Arc<Semaphore>,
    shelf: Shelf,
    tally: Tally,
}

/// The right to one job; dropped, it goes back.
#[must_use = "it is held against all others"]
pub struct Permit(OwnedSemaphorePermit);

/// How the pool is asked.
pub struct HashingPool {
    common: Arc<PoolState>,
    /// Jobs are sent under this lock, so that none is sent while the queue is being torn down:
    /// it could be lost there, with its caller waiting for ever.
    running: Mutex<Option<PoolHandle>>,
}

/// The way to the workers and to the thread of their `System`; dropping it asks them to end.
struct PoolHandle {
    workers: Addr<Worker>,
    stop: oneshot::Sender<()>,
    gone: oneshot::Receiver<()>,
    handle: JoinHandle<()>,
}

impl HashingPool {
    /// Starts the threads; fails where the machine gives none.
    pub fn start(options: HashingOptions) -> io::Result<Self> {
        let workers = options.workers.max(1);
        let common = Arc::new(PoolState {
            cost: options.cost,
            even_time: EvenTime::default(),
            permits: Arc::new(Semaphore::new(workers + options.waiting)),
            shelf: Shelf::new(options.idle, options.cost),
            tally: Tally::default(),
        });
        let (announce, announced) = mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let (depart, gone) = oneshot::channel();
        let theirs = common.clone();
        let handle = thread::Builder::new().name("hashing-system".to_owned()).spawn(move || {
            host(workers, &theirs, &announce, stopped);
            let _ = depart.send(());
        })?;
        let workers = announced.recv().map_err(|_| io::Error::other("no thread could hash"))?;
        let running = Mutex::new(Some(PoolHandle { workers, stop, gone, handle }));
        Ok(Self { common, running })
    }

    /// Returns the PHC string of `password`.
    pub async fn hash(&self, password: Password, salt: [u8; 16]) -> Result<String, HashingError> {
        let cost = self.common.cost;
        let hashed = self.run(move |memory| password::hash(password.expose(), salt, cost, memory));
        Ok(hashed.await??)
    }

    /// Compares `password` with a PHC string.
    pub async fn verify(&self, password: Password, phc: String) -> Result<Verdict, HashingError> {
        let cost = self.common.cost;
        let job =
            move |memory: &mut Memory| password::verify(password.expose(), &phc, cost, memory);
        Ok(self.run(job).await??)
    }

    /// Compares `password` with a PHC string; where there is none it takes as long, and is wrong.
    pub async fn verify_or_decoy(
        &self,
        password: Password,
        phc: Option<String>,
    ) -> Result<Verdict, HashingError> {
        self.verify_reserved(self.reserve()?, password, phc).await
    }

    /// Does the same with a permit that was reserved.
    ///
    /// A wrong password takes the same time whatever the hash costs: see [`EvenTime`].
    pub async fn verify_reserved(
        &self,
        permit: Permit,
        password: Password,
        phc: Option<String>,
    ) -> Result<Verdict, HashingError> {
        let common = self.common.clone();
        let job =
            move |memory: &mut Memory| common.verify_or_decoy(&password, phc.as_deref(), memory);
        let (verdict, begun, wrong_after) = self.run_with(permit, job).await??;
        if !verdict.matches {
            sleep(wrong_after.saturating_sub(begun.elapsed())).await;
        }
        Ok(verdict)
    }

    /// How long a wrong password takes at this moment, from when it is compared.
    pub fn wrong_after(&self) -> Duration {
        self.common.even_time.wrong_after()
    }

    /// Reserves a permit for a job that is about to be known, or refuses at once. A caller that must do
    /// other work first learns before it whether the work would be in vain.
    pub fn reserve(&self) -> Result<Permit, HashingError> {
        let permit = self.common.permits.clone().try_acquire_owned();
        permit.map(Permit).map_err(|why| match why {
            TryAcquireError::Closed => HashingError::Stopped,
            TryAcquireError::NoPermits => {
                self.common.tally.refused.fetch_add(1, Ordering::Relaxed);
                HashingError::Busy
            }
        })
    }

    /// Runs `work` on a worker; a caller that goes away before it has begun takes it along.
    async fn run<W, T>(&self, work: W) -> Result<T, HashingError>
    where
        W: FnOnce(&mut Memory) -> T + Send + 'static,
        T: Send + 'static,
    {
        self.run_with(self.reserve()?, work).await
    }

    async fn run_with<W, T>(&self, permit: Permit, work: W) -> Result<T, HashingError>
    where
        W: FnOnce(&mut Memory) -> T + Send + 'static,
        T: Send + 'static,
    {
        let Permit(permit) = permit;
        let (answer, answered) = oneshot::channel();
        if let Some(running) = &*self.running() {
            // `do_send`, because `send` would have callers wait for each other at the mailbox.
            running.workers.do_send(Job { work, answer, permit });
        } else {
            return Err(HashingError::Stopped);
        }
        answered.await.unwrap_or(Err(HashingError::Stopped))
    }

    pub fn vitals(&self) -> Vitals {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let PoolState { tally, permits, shelf, .. } = &*self.common;
        Vitals {
            busy: read(&tally.busy),
            free: permits.available_permits(),
            shelved: shelf.len(),
            done: read(&tally.done),
            refused: read(&tally.refused),
            abandoned: read(&tally.abandoned),
            panicked: read(&tally.panicked),
        }
    }

    /// Lets running jobs finish, refuses those that wait, and returns when every thread has ended.
    pub async fn stop(&self) {
        self.common.permits.close();
        let Some(PoolHandle { workers, stop, gone, handle }) = self.running().take() else {
            return;
        };
        drop((workers, stop));
        let _ = gone.await;
        // By now it has nothing left to do but return.
        if handle.join().is_err() {
            tracing::error!("the hashing system panicked");
        }
    }

    fn running(&self) -> MutexGuard<'_, Option<PoolHandle>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for HashingPool {
    /// Asks the threads to end but does not wait: a job may take seconds, and `drop` may be
    /// called where nothing must block.
    fn drop(&mut self) {
        self.common.permits.close();
    }
}

impl PoolState {
    /// Says what came of it, when it was begun, and how long after that a failure may be told.
    fn verify_or_decoy(
        &self,
        password: &Password,
        phc: Option<&str>,
        memory: &mut Memory,
    ) -> Result<(Verdict, Stopwatch, Duration), PasswordError> {
        let Self { cost, even_time, .. } = self;
        if !even_time.is_known() {
            let begun = Stopwatch::start();
            password::verify_or_decoy(password.expose(), None, *cost, memory)?;
            even_time.learn(begun.elapsed());
        }
        // Before this one is learnt from: what it takes must not show in when it is told.
        let wrong_after = even_time.wrong_after();
        let begun = Stopwatch::start();
        let verdict = password::verify_or_decoy(password.expose(), phc, *cost, memory)?;
        if phc.is_none_or(|phc| password::is_of_cost(phc, *cost)) {
            even_time.learn(begun.elapsed());
        }
        Ok((verdict, begun, wrong_after))
    }

    fn run<T>(&self, work: impl FnOnce(&mut Memory) -> T) -> Result<T, HashingError> {
        let mut memory = self.shelf.take();
        self.tally.busy.fetch_add(1, Ordering::Relaxed);
        let outcome = catch_unwind(AssertUnwindSafe(|| work(&mut memory)));
        self.tally.busy.fetch_sub(1, Ordering::Relaxed);
        if let Ok(result) = outcome {
            self.shelf.put(memory);
            self.tally.done.fetch_add(1, Ordering::Relaxed);
            Ok(result)
        } else {
            // What was thrown may hold a secret, and the memory may be in any state: both go.
            self.tally.panicked.fetch_add(1, Ordering::Relaxed);
            tracing::error!("a hashing job panicked");
            Err(HashingError::Failed)
        }
    }
}
