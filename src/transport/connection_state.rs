//! What one connection is doing, as far as its bytes and its requests tell.
//!
//! An HTTP/1 connection goes round: at rest, bytes are heard, a request is under way, its answer
//! is owed until it has been flushed, at rest. HTTP/2 only counts requests.
//!
//! A connection is charged for each request from its head to the last byte of its answer. A client
//! that asks for much at once, and one that reads nothing, make it owe more and more;
//! [`ServerState::charge`] sets a bound.

use super::shared::{ServerState, Stage};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed},
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

/// What memory a request takes beside the bytes of its head and of its answer: a task, a stream,
/// what a handler keeps.
const PER_REQUEST: usize = 8 * 1024;

/// What a connection should do about a drain, or about a lack of room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Advice {
    Stay,
    /// Finish what is under way and close.
    Finish,
    /// Finish within a moment: another connection needs the permit.
    MakeRoom,
    /// Close at once.
    Drop,
}

/// Whether a connection was told to close, for reasons of this server.
mod closing {
    pub(super) const NOT: u8 = 0;
    pub(super) const IF_IDLE: u8 = 1;
    pub(super) const AT_ONCE: u8 = 2;
}

/// What is being waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AwaitedEvent {
    /// Ourselves.
    Answer,
    /// The rest of a head, or the first one.
    Head,
    /// The next request, or that the last answer is taken.
    Request,
}

pub(super) struct ConnectionState {
    shared: Arc<ServerState>,
    /// Goes up whenever what is being waited for changes.
    changes: AtomicU64,
    under_way: AtomicUsize,
    /// Whether there has been a request.
    served: AtomicBool,
    /// Whether bytes came while no request was under way.
    heard: AtomicBool,
    /// Whether an answer has been given to the connection and not all of it sent.
    owed: AtomicBool,
    /// Whether the body of a request over HTTP/1 has not come, or has not been read.
    upload_unread: AtomicBool,
    stirred: Notify,
    closing: AtomicU8,
    /// Which connection this is, counted from the first.
    number: u64,
    /// Which request was its last, counted over all connections; before its first request, the
    /// last that had begun anywhere.
    last_request: AtomicU64,
    /// Bytes of requests that are not answered, and of answers that are not sent.
    owing: AtomicUsize,
    /// Those of them that were handed over in full, and wait for the next flush.
    unflushed: AtomicUsize,
    /// The age in which requests begin now.
    age: AtomicUsize,
    /// How many requests are under way that began in each age.
    by_age: [AtomicUsize; AGES],
}

impl ConnectionState {
    pub(super) fn new(shared: Arc<ServerState>) -> Self {
        let number = shared.tally.enter();
        let last_request = AtomicU64::new(shared.tally.begun());
        Self {
            shared,
            changes: AtomicU64::new(0),
            under_way: AtomicUsize::new(0),
            served: AtomicBool::new(false),
            heard: AtomicBool::new(false),
            owed: AtomicBool::new(false),
            upload_unread: AtomicBool::new(false),
            stirred: Notify::new(),
            closing: AtomicU8::new(closing::NOT),
            number,
            last_request,
            owing: AtomicUsize::new(0),
            unflushed: AtomicUsize::new(0),
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
        if self.unflushed.load(Relaxed) > 0 {
            let sent = self.unflushed.swap(0, Relaxed);
            self.owing.fetch_sub(sent, Relaxed);
            self.shared.discharge(sent);
        }
        if self.owed.load(Relaxed) && !self.is_under_way() {
            self.owed.store(false, Relaxed);
            // What came in the meantime was the rest of a body that no handler read.
            self.heard.store(false, Relaxed);
            self.changes.fetch_add(1, Relaxed);
            // It may close only now.
            if self.is_closing() {
                self.stirred.notify_one();
            }
        }
    }

    /// Whether nothing that a request could have caused is left to be sent over HTTP/1.
    pub(super) fn is_at_rest(&self) -> bool {
        !self.owed.load(Relaxed) && !self.is_under_way()
    }

    pub(super) fn awaiting(&self, version: Version) -> AwaitedEvent {
        let mid_head = version == Version::Http1 && self.heard.load(Relaxed);
        match (self.is_under_way(), self.served.load(Relaxed)) {
            (true, _) => AwaitedEvent::Answer,
            (false, true) if !mid_head => AwaitedEvent::Request,
            (false, _) => AwaitedEvent::Head,
        }
    }

    pub(super) fn advice(&self, stage: Stage, version: Version) -> Advice {
        match (self.closing.load(Relaxed), version) {
            (closing::AT_ONCE, _) => return Advice::Drop,
            // Nothing is under way, and nothing is left to be sent.
            (closing::IF_IDLE, Version::Http1) if self.is_at_rest() => return Advice::Drop,
            (closing::IF_IDLE, Version::Http2) if self.is_at_rest() => return Advice::MakeRoom,
            _ => {}
        }
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

    /// Waits until a request begins during a drain, or the connection is told to close.
    pub(super) async fn stirred(&self) {
        self.stirred.notified().await;
    }

    /// Waits until the connection is told to close; for one that has had no request.
    pub(super) async fn told_to_close(&self) {
        while !self.is_closing() {
            self.stirred().await;
        }
    }

    /// Whether it could be closed without failing a request.
    pub(super) fn is_idle(&self) -> bool {
        self.is_at_rest() && !self.is_closing()
    }

    fn is_closing(&self) -> bool {
        self.closing.load(Relaxed) != closing::NOT
    }

    /// Orders connections by when they were last used, the longest ago first.
    pub(super) fn last_used(&self) -> (u64, u64) {
        (self.last_request.load(Relaxed), self.number)
    }

    /// Has it close; one that gets a request in this moment answers it.
    pub(super) fn close_if_idle(&self) {
        self.shared.tally.close_idle();
        self.tell(closing::IF_IDLE);
    }

    /// Has it close at once, whatever is under way.
    pub(super) fn cut_off(&self) {
        self.shared.tally.cut_off();
        self.tell(closing::AT_ONCE);
    }

    pub(super) fn is_cut_off(&self) -> bool {
        self.closing.load(Relaxed) == closing::AT_ONCE
    }

    fn tell(&self, closing: u8) {
        self.closing.fetch_max(closing, Relaxed);
        self.stirred.notify_one();
    }

    /// Returns how many bytes its requests and answers take.
    pub(super) fn owes(&self) -> usize {
        self.owing.load(Relaxed)
    }

    /// Notes that a request over HTTP/1 comes with a body.
    pub(super) fn begin_upload(&self) {
        self.upload_unread.store(true, Relaxed);
    }

    /// Notes that the whole body has been read.
    pub(super) fn end_upload(&self) {
        self.upload_unread.store(false, Relaxed);
    }

    /// Whether the next request can follow on this connection (RFC 9112 §9.6).
    pub(super) fn has_unread_upload(&self) -> bool {
        self.upload_unread.load(Relaxed)
    }

    pub(super) fn is_under_way(&self) -> bool {
        self.under_way.load(Relaxed) > 0
    }
}

/// What was never sent is not owed by a connection that has ended.
impl Drop for ConnectionState {
    fn drop(&mut self) {
        self.shared.discharge(*self.owing.get_mut());
    }
}

/// One request, until its answer has been handed to the system in full or given up.
pub(super) struct PendingRequest {
    connection_state: Arc<ConnectionState>,
    /// The age in which it began.
    age: usize,
    /// What it is charged for.
    charged: usize,
    version: Version,
    /// Whether it goes with the last part of its answer's body.
    with_body: bool,
}

impl ConnectionState {
    /// Cuts this connection off if it owes more than the request that has just begun, and all
    /// connections together owe twice of what they may.
    pub(super) fn give_up_on_overload(&self) {
        let is_overload = self.shared.owed() > self.shared.limits.memory.saturating_mul(2);
        if is_overload && self.under_way.load(Relaxed) > 1 && !self.is_cut_off() {
            self.cut_off();
        }
    }
}

impl PendingRequest {
    /// Begins a request with a head of so many bytes.
    pub(super) fn begin(
        connection_state: &Arc<ConnectionState>,
        version: Version,
        head: usize,
    ) -> Self {
        let age = connection_state.age.load(Relaxed);
        connection_state.by_age[age].fetch_add(1, Relaxed);
        connection_state.under_way.fetch_add(1, Relaxed);
        connection_state.served.store(true, Relaxed);
        connection_state.heard.store(false, Relaxed);
        connection_state.changes.fetch_add(1, Relaxed);
        let number = connection_state.shared.tally.begin_request();
        connection_state.last_request.store(number, Relaxed);
        if connection_state.is_leaving() {
            connection_state.stirred.notify_one();
        }
        let connection_state = connection_state.clone();
        let mut under_way = Self { connection_state, age, charged: 0, version, with_body: false };
        under_way.charge(head.saturating_add(PER_REQUEST));
        under_way
    }

    /// Goes with the last part of the answer's body from now on.
    pub(super) fn go_with_body(mut self) -> Self {
        self.with_body = true;
        self
    }

    /// Whether its connection is to be closed at once.
    pub(super) fn is_cut_off(&self) -> bool {
        self.connection_state.is_cut_off()
    }

    /// Whether the answer must be the last on its connection.
    pub(super) fn must_close(&self) -> bool {
        let one = &self.connection_state;
        one.is_leaving() || one.has_unread_upload() || one.is_closing()
    }

    /// Notes that there is an answer of so many bytes; it is owed until it has been sent.
    pub(super) fn answer(&mut self, bytes: usize) {
        // The memory of the request is free by now.
        let more = bytes.saturating_add(PER_REQUEST).saturating_sub(self.charged);
        if more > 0 {
            self.charge(more);
        }
    }

    fn charge(&mut self, bytes: usize) {
        let Self { connection_state, charged, .. } = self;
        *charged += bytes;
        let owing = connection_state.owing.fetch_add(bytes, Relaxed) + bytes;
        let most = connection_state.shared.limits.memory_per_connection;
        if owing > most && !connection_state.is_cut_off() {
            connection_state.cut_off();
        }
        connection_state.shared.charge(bytes);
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        let Self { connection_state, age, charged, version, with_body } = self;
        if *with_body && *version == Version::Http2 {
            // The HTTP/2 library lets go of a body after it has been flushed.
            connection_state.owing.fetch_sub(*charged, Relaxed);
            connection_state.shared.discharge(*charged);
        } else {
            connection_state.owed.store(true, Relaxed);
            connection_state.unflushed.fetch_add(*charged, Relaxed);
        }
        connection_state.by_age[*age].fetch_sub(1, Relaxed);
        connection_state.under_way.fetch_sub(1, Relaxed);
        connection_state.changes.fetch_add(1, Relaxed);
        connection_state.shared.tally.end_request();
    }
}
