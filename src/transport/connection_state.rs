//! What one connection is doing, as far as its bytes and its requests tell.
//!
//! An HTTP/1 connection goes round: at rest, bytes are heard, a request is under way, its answer
//! is owed until it has been flushed, at rest. HTTP/2 only counts requests.

use super::shared::{Shared, Stage};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
};
use tokio::sync::Notify;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    Http1,
    Http2,
}

/// After how many changes of age a request is among the oldest that are told apart.
pub(super) const OLDEST: u32 = 9;
const AGES: usize = OLDEST as usize + 1;

/// What a connection should do about a drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Advice {
    Stay,
    /// Finish what is under way and close.
    Finish,
    /// Close; nothing has been said.
    Drop,
}

/// What is being waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaiting {
    /// Ourselves.
    Answer,
    /// The rest of a head, or the first one.
    Head,
    /// The next request, or that the last answer is taken.
    Request,
}

pub(super) struct ConnectionState {
    shared: Arc<Shared>,
    /// Goes up whenever what is being waited for changes.
    changes: AtomicU64,
    under_way: AtomicUsize,
    /// Whether there has been a request.
    served: AtomicBool,
    /// Whether bytes came while no request was under way.
    heard: AtomicBool,
    /// Whether an answer has been given to the connection and not all of it sent.
    owed: AtomicBool,
    stirred: Notify,
    /// The age in which requests begin now.
    age: AtomicUsize,
    /// How many requests are under way that began in each age.
    by_age: [AtomicUsize; AGES],
}

impl ConnectionState {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            changes: AtomicU64::new(0),
            under_way: AtomicUsize::new(0),
            served: AtomicBool::new(false),
            heard: AtomicBool::new(false),
            owed: AtomicBool::new(false),
            stirred: Notify::new(),
            age: AtomicUsize::new(0),
            by_age: Default::default(),
        }
    }

    /// Begins another age; tells whether a request is under way that began before all of them.
    pub(super) fn grow_older(&self) -> bool {
        let next = (self.age.load(Relaxed) + 1) % AGES;
        self.age.store(next, Relaxed);
        self.by_age[next].load(Relaxed) > 0
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.shared.is_leaving()
    }

    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Relaxed)
    }

    /// Notes that bytes came.
    pub(super) fn hear(&self) {
        if self.is_under_way() || self.heard.load(Relaxed) {
            return;
        }
        self.heard.store(true, Relaxed);
        // A fresh connection is waited for from its beginning, not from its first byte.
        if self.served.load(Relaxed) {
            self.changes.fetch_add(1, Relaxed);
        }
    }

    /// Notes that all that hyper had to say has been sent.
    pub(super) fn flushed(&self) {
        if self.owed.load(Relaxed) && !self.is_under_way() {
            self.owed.store(false, Relaxed);
            // What came in the meantime was the rest of a body nobody wanted.
            self.heard.store(false, Relaxed);
            self.changes.fetch_add(1, Relaxed);
        }
    }

    /// Whether nothing that a request could have caused is left to be sent over HTTP/1.
    pub(super) fn is_at_rest(&self) -> bool {
        !self.owed.load(Relaxed) && !self.is_under_way()
    }

    pub(super) fn awaiting(&self, version: Version) -> Awaiting {
        let mid_head = version == Version::Http1 && self.heard.load(Relaxed);
        match (self.is_under_way(), self.served.load(Relaxed)) {
            (true, _) => Awaiting::Answer,
            (false, true) if !mid_head => Awaiting::Request,
            (false, _) => Awaiting::Head,
        }
    }

    pub(super) fn advice(&self, stage: Stage, version: Version) -> Advice {
        let (served, heard) = (self.served.load(Relaxed), self.heard.load(Relaxed));
        match (stage, version) {
            // GOAWAY refuses nothing that is on its way, but a fresh connection came to ask.
            (Stage::LameDuck | Stage::Shut, Version::Http2) if served => Advice::Finish,
            (Stage::Open | Stage::LameDuck | Stage::Shut, _) => Advice::Stay,
            // Hyper would drop the half of a request it has; with the other half comes an answer
            // that closes.
            (Stage::Emptying, Version::Http1) if served && heard && !self.is_under_way() => {
                Advice::Stay
            }
            (Stage::Emptying, Version::Http2) if !served && !heard => Advice::Drop,
            (Stage::Emptying, _) => Advice::Finish,
        }
    }

    /// Waits until a request begins during a drain.
    pub(super) async fn stirred(&self) {
        self.stirred.notified().await;
    }

    fn is_under_way(&self) -> bool {
        self.under_way.load(Relaxed) > 0
    }
}

/// One request, until its answer has been handed over in full or given up.
pub(super) struct UnderWay {
    connection_state: Arc<ConnectionState>,
    /// The age in which it began.
    age: usize,
}

impl UnderWay {
    pub(super) fn begin(connection_state: &Arc<ConnectionState>) -> Self {
        let age = connection_state.age.load(Relaxed);
        connection_state.by_age[age].fetch_add(1, Relaxed);
        connection_state.under_way.fetch_add(1, Relaxed);
        connection_state.served.store(true, Relaxed);
        connection_state.heard.store(false, Relaxed);
        connection_state.changes.fetch_add(1, Relaxed);
        connection_state.shared.tally.begin_request();
        if connection_state.is_leaving() {
            connection_state.stirred.notify_one();
        }
        Self { connection_state: connection_state.clone(), age }
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.connection_state.is_leaving()
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let Self { connection_state, age } = self;
        connection_state.owed.store(true, Relaxed);
        connection_state.by_age[*age].fetch_sub(1, Relaxed);
        connection_state.under_way.fetch_sub(1, Relaxed);
        connection_state.changes.fetch_add(1, Relaxed);
        connection_state.shared.tally.end_request();
    }
}
