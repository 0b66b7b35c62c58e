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
    /// Connections closed at once because their address had too many.
    pub refused: u64,
    /// Idle connections that were closed because others needed their permit.
    pub closed_idle: u64,
    /// Connections that were closed because they did not take their answers.
    pub cut_off: u64,
    /// TLS handshakes that failed or took too long.
    pub handshakes_failed: u64,
    /// Requests whose answer has not been sent in full.
    pub requests_under_way: u64,
    /// Bytes of requests that are not answered, and of answers that are not sent.
    pub owed_bytes: u64,
}

#[derive(Default)]
pub(super) struct Tally {
    open: AtomicU64,
    accepted: AtomicU64,
    refused: AtomicU64,
    closed_idle: AtomicU64,
    cut_off: AtomicU64,
    handshakes_failed: AtomicU64,
    begun: AtomicU64,
    ended: AtomicU64,
    emptied: Notify,
}

impl Tally {
    pub(super) fn report(&self, owed: usize) -> Report {
        // Read first: no request can have ended that has not begun.
        let ended = self.ended.load(Relaxed);
        Report {
            open: self.open.load(Relaxed),
            accepted: self.accepted.load(Relaxed),
            refused: self.refused.load(Relaxed),
            closed_idle: self.closed_idle.load(Relaxed),
            cut_off: self.cut_off.load(Relaxed),
            handshakes_failed: self.handshakes_failed.load(Relaxed),
            requests_under_way: self.begun.load(Relaxed).saturating_sub(ended),
            owed_bytes: owed as u64,
        }
    }

    /// Counts a connection and returns its number.
    pub(super) fn enter(&self) -> u64 {
        self.open.fetch_add(1, Relaxed);
        self.accepted.fetch_add(1, Relaxed)
    }

    pub(super) fn leave(&self) {
        if self.open.fetch_sub(1, Relaxed) == 1 {
            self.emptied.notify_waiters();
        }
    }

    pub(super) fn refuse(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    pub(super) fn close_idle(&self) {
        self.closed_idle.fetch_add(1, Relaxed);
    }

    pub(super) fn cut_off(&self) {
        self.cut_off.fetch_add(1, Relaxed);
    }

    pub(super) fn fail_handshake(&self) {
        self.handshakes_failed.fetch_add(1, Relaxed);
    }

    /// Counts a request and returns its number.
    pub(super) fn begin_request(&self) -> u64 {
        self.begun.fetch_add(1, Relaxed)
    }

    pub(super) fn end_request(&self) {
        self.ended.fetch_add(1, Relaxed);
    }

    /// Returns how many requests have begun.
    pub(super) fn begun(&self) -> u64 {
        self.begun.load(Relaxed)
    }

    /// Waits until no connection is open.
    pub(super) async fn empty(&self) {
        loop {
            // Waits from here on, so that no connection can end unnoticed in between.
            let emptied = self.emptied.notified();
            if self.open.load(Relaxed) == 0 {
                return;
            }
            emptied.await;
        }
    }
}
