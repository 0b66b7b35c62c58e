//! What operators want to count.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tokio::sync::Notify;

/// What the transport is doing at this moment, and has done since it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Connections that are open, handshakes included.
    pub open: u64,
    /// Connections accepted in all.
    pub accepted: u64,
    /// TLS handshakes that failed or took too long.
    pub handshakes_failed: u64,
    /// Requests whose answer is not complete.
    pub requests_under_way: u64,
}

#[derive(Default)]
pub(super) struct Tally {
    open: AtomicU64,
    accepted: AtomicU64,
    handshakes_failed: AtomicU64,
    under_way: AtomicU64,
    emptied: Notify,
}

impl Tally {
    pub(super) fn report(&self) -> Report {
        Report {
            open: self.open.load(Relaxed),
            accepted: self.accepted.load(Relaxed),
            handshakes_failed: self.handshakes_failed.load(Relaxed),
            requests_under_way: self.under_way.load(Relaxed),
        }
    }

    pub(super) fn enter(&self) {
        self.open.fetch_add(1, Relaxed);
        self.accepted.fetch_add(1, Relaxed);
    }

    pub(super) fn leave(&self) {
        if self.open.fetch_sub(1, Relaxed) == 1 {
            self.emptied.notify_waiters();
        }
    }

    pub(super) fn fail_handshake(&self) {
        self.handshakes_failed.fetch_add(1, Relaxed);
    }

    pub(super) fn begin_request(&self) {
        self.under_way.fetch_add(1, Relaxed);
    }

    pub(super) fn end_request(&self) {
        self.under_way.fetch_sub(1, Relaxed);
    }

    /// Waits until no connection is open.
    pub(super) async fn empty(&self) {
        loop {
            // Counted as waiting from here on, so that nobody can leave unnoticed in between.
            let emptied = self.emptied.notified();
            if self.open.load(Relaxed) == 0 {
                return;
            }
            emptied.await;
        }
    }
}
