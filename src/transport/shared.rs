//! What all connections share.

use super::{
    AddressRules, ConnectionLimits, connection_state::ConnectionState, registry::Registry,
    tally::Tally,
};
use crate::crypto::Dice;
use axum::Router;
use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_rustls::TlsAcceptor;

/// How far the drain has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// No drain.
    Open,
    /// Every client is asked to leave with its next answer, and new connections are still accepted.
    LameDuck,
    /// The listeners are closed; a connection that is open may still bring a request.
    Shut,
    /// Connections without a request under way are closed.
    Emptying,
}

/// What is behind one listener.
pub(super) struct Entrance {
    pub(super) router: Router,
    pub(super) tls: Option<TlsAcceptor>,
}

pub(super) struct ServerState {
    pub(super) limits: ConnectionLimits,
    pub(super) dice: Arc<dyn Dice>,
    pub(super) tally: Tally,
    pub(super) permits: Arc<Semaphore>,
    pub(super) registry: Registry,
    /// Bytes of requests that are not answered and of answers that are not sent, of all
    /// connections.
    owed: AtomicUsize,
    /// Whether a task looks for debtors already.
    collecting: AtomicBool,
    /// From how much on debtors are looked for. Those that were found need a moment to close, and
    /// looking again for every request meanwhile would cost more than they do.
    collect_at: AtomicUsize,
    stage: watch::Sender<Stage>,
    /// Whether the stage is any but the first; each request asks this.
    leaving: AtomicBool,
}

/// Everything a server is built from.
pub(super) struct Plan {
    pub(super) limits: ConnectionLimits,
    pub(super) addresses: Arc<AddressRules>,
    pub(super) dice: Arc<dyn Dice>,
}

impl ServerState {
    pub(super) fn build(plan: Plan) -> Self {
        let Plan { limits, addresses, dice } = plan;
        let connections = limits.max_connections.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            dice,
            tally: Tally::default(),
            permits: Arc::new(Semaphore::new(connections)),
            registry: Registry::new(addresses, limits.per_address()),
            collect_at: AtomicUsize::new(limits.memory),
            limits,
            owed: AtomicUsize::new(0),
            collecting: AtomicBool::new(false),
            stage: watch::Sender::new(Stage::Open),
            leaving: AtomicBool::new(false),
        }
    }

    pub(super) fn enter(&self, stage: Stage) {
        self.leaving.store(stage != Stage::Open, Relaxed);
        self.stage.send_replace(stage);
    }

    pub(super) fn stage(&self) -> watch::Receiver<Stage> {
        self.stage.subscribe()
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.leaving.load(Relaxed)
    }

    pub(super) fn owed(&self) -> usize {
        self.owed.load(Relaxed)
    }

    /// Counts the memory of a request or an answer. Where all of it is too much, the connections
    /// that owe it are closed.
    pub(super) fn charge(&self, bytes: usize) {
        let owed = self.owed.fetch_add(bytes, Relaxed) + bytes;
        if owed > self.collect_at.load(Relaxed) && !self.collecting.swap(true, Relaxed) {
            let most = self.limits.memory;
            self.collect_at.store(owed.saturating_add(most / 8), Relaxed);
            self.registry.cut_debtors(most / 8 * 7, self.tally.begun());
            self.collecting.store(false, Relaxed);
        }
    }

    pub(super) fn discharge(&self, bytes: usize) {
        let owed = self.owed.fetch_sub(bytes, Relaxed) - bytes;
        let most = self.limits.memory;
        if owed < most && self.collect_at.load(Relaxed) != most {
            self.collect_at.store(most, Relaxed);
        }
    }
}

/// A connection that its address may have; counted there for as long as this lives.
pub(super) struct AddressPermit {
    shared: Arc<ServerState>,
    pub(super) address: IpAddr,
}

impl AddressPermit {
    /// Refuses an address that has too many connections.
    pub(super) fn of(shared: &Arc<ServerState>, address: IpAddr) -> Option<Self> {
        if shared.registry.count(address) {
            return Some(Self { shared: shared.clone(), address });
        }
        shared.tally.refuse();
        None
    }
}

impl Drop for AddressPermit {
    fn drop(&mut self) {
        self.shared.registry.uncount(self.address);
    }
}

/// One connection, counted for as long as this lives.
pub(super) struct ConnectionGuard {
    admitted: AddressPermit,
    connection_state: Arc<ConnectionState>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl ConnectionGuard {
    pub(super) fn begin(admitted: AddressPermit, permit: Option<OwnedSemaphorePermit>) -> Self {
        let connection_state = Arc::new(ConnectionState::new(admitted.shared.clone()));
        admitted.shared.registry.enter(admitted.address, connection_state.clone());
        Self { admitted, connection_state, _permit: permit }
    }

    pub(super) fn shared(&self) -> &Arc<ServerState> {
        &self.admitted.shared
    }

    pub(super) fn connection_state(&self) -> &Arc<ConnectionState> {
        &self.connection_state
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        let Self { admitted, connection_state, .. } = self;
        admitted.shared.registry.leave(admitted.address, connection_state);
        admitted.shared.tally.leave();
    }
}
