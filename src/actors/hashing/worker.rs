//! The threads that hash, and the one on which their `System` runs.

use super::{HashingError, PoolState};
use crate::crypto::password::Memory;
use actix::{Actor, Addr, Handler, Message, SyncArbiter, SyncContext, System};
use std::{
    sync::{Arc, atomic::Ordering, mpsc},
    thread,
};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// The life of the `System` thread: workers, the sweeping of the shelf, and the end of both.
pub(super) fn host(
    workers: usize,
    common: &Arc<PoolState>,
    announce: &mpsc::Sender<Addr<Worker>>,
    stopped: oneshot::Receiver<()>,
) {
    let (presence, departures) = mpsc::channel();
    let theirs = common.clone();
    let worker = move || Worker { common: theirs.clone(), _presence: presence.clone() };
    let system = System::new();
    system.block_on(async {
        let named = || thread::Builder::new().name("hashing".to_owned());
        let address = SyncArbiter::start_with_thread_builder(workers, named, worker);
        if announce.send(address).is_err() {
            return;
        }
        tokio::select! {
            _ = stopped => {}
            () = common.shelf.sweep() => {}
        }
    });
    // The queue goes with the system. Workers empty it, answering each job with a refusal, and end.
    drop(system);
    while departures.recv().is_ok() {}
    common.shelf.clear();
}

pub(super) struct Worker {
    common: Arc<PoolState>,
    _presence: mpsc::Sender<()>,
}

impl Actor for Worker {
    type Context = SyncContext<Self>;

    fn started(&mut self, _: &mut Self::Context) {
        give_way();
    }
}

/// By how much the priority of hashing is lowered, in steps of `nice`. Where both want all of the
/// cores, requests keep most of them and hashing keeps some: `bench/run storm` measures it.
pub const LOWERED_BY: i32 = 10;

/// Lowers the priority of this thread, so that answering requests comes before hashing.
fn give_way() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{getpriority_process, setpriority_process};
        let this_thread = Some(rustix::thread::gettid());
        let lowered = getpriority_process(this_thread)
            .and_then(|nice| setpriority_process(this_thread, (nice + LOWERED_BY).min(19)));
        if let Err(error) = lowered {
            tracing::debug!(%error, "hashing runs at ordinary priority");
        }
    }
}

pub(super) struct Job<W, T> {
    pub(super) work: W,
    pub(super) answer: oneshot::Sender<Result<T, HashingError>>,
    /// Held until the worker is done, whether or not anyone still waits for it.
    pub(super) permit: OwnedSemaphorePermit,
}

impl<W, T> Message for Job<W, T> {
    type Result = ();
}

impl<W, T> Handler<Job<W, T>> for Worker
where
    W: FnOnce(&mut Memory) -> T + Send + 'static,
    T: Send + 'static,
{
    type Result = ();

    fn handle(&mut self, job: Job<W, T>, _: &mut Self::Context) {
        let Job { work, answer, permit } = job;
        let outcome = if answer.is_closed() {
            self.common.tally.abandoned.fetch_add(1, Ordering::Relaxed);
            return;
        } else if self.common.permits.is_closed() {
            Err(HashingError::Stopped)
        } else {
            self.common.run(work)
        };
        // First the permit: a caller that has its answer may at once ask again.
        drop(permit);
        let _ = answer.send(outcome);
    }
}
