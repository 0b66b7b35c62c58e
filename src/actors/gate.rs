//! How much may be going on at once. Mailboxes have no bound, so admission has one.

use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

/// Counts the asks under way in one system; closes for good when the system stops.
#[derive(Clone)]
pub(super) struct Gate {
    places: Arc<Semaphore>,
    most: u32,
}

impl Gate {
    pub(super) fn new(most: u32) -> Self {
        Self { places: Arc::new(Semaphore::new(most as usize)), most }
    }

    /// Enters if there is room; the permit is the way out.
    pub(super) fn enter(&self) -> Option<SemaphorePermit<'_>> {
        self.places.try_acquire().ok()
    }

    /// Lets nobody in any more and waits for those inside; false where they did not leave in time.
    pub(super) async fn close(&self, patience: Duration) -> bool {
        // A waiter for all places is served before anybody who comes later.
        let all_left = timeout(patience, self.places.acquire_many(self.most)).await;
        self.places.close();
        matches!(all_left, Ok(Ok(_)))
    }
}
