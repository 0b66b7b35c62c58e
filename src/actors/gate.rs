//! A concurrency limit: how much may be going on at once. Mailboxes have no bound, so admission has one.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time,
};

/// A permit to be under way; it belongs to the command and not to its caller, which may leave before
/// it is done.
pub(super) type Permit = OwnedSemaphorePermit;

/// Counts the commands under way in one system; closes for good when the system stops.
#[derive(Clone)]
pub(super) struct Gate {
    permits: Arc<Semaphore>,
    most: u32,
    /// What runs to its end though its caller may have gone.
    detached: Arc<Mutex<JoinSet<()>>>,
}

impl Gate {
    pub(super) fn new(most: u32) -> Self {
        let permits = Arc::new(Semaphore::new(most as usize));
        Self { permits, most, detached: Arc::default() }
    }

    /// Enters if a permit is left.
    pub(super) fn enter(&self) -> Option<Permit> {
        self.permits.clone().try_acquire_owned().ok()
    }

    /// Runs `task` to its end, whether or not the caller waits for it.
    pub(super) fn run(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut detached = self.detached.lock().unwrap_or_else(PoisonError::into_inner);
        while detached.try_join_next().is_some() {}
        detached.spawn(task);
    }

    /// Admits no more and waits for what is under way; false where it did not end in time.
    pub(super) async fn close(&self, timeout: Duration) -> bool {
        // A waiter for all permits is served before any caller that comes later.
        let all_left = time::timeout(timeout, self.permits.acquire_many(self.most)).await;
        self.permits.close();
        matches!(all_left, Ok(Ok(_)))
    }
}
