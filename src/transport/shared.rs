//! What all connections share.

use super::{ConnectionLimits, tally::Tally};
use crate::crypto::Dice;
use axum::Router;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_rustls::TlsAcceptor;

/// How far the drain has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// No drain.
    Open,
    /// Everyone is asked to leave with their next answer, and newcomers are still let in.
    LameDuck,
    /// The door is shut; who is inside may still bring a request.
    Shut,
    /// Who has no request under way goes.
    Emptying,
}

pub(super) struct Shared {
    pub(super) router: Router,
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) limits: ConnectionLimits,
    pub(super) dice: Arc<dyn Dice>,
    pub(super) tally: Tally,
    pub(super) places: Arc<Semaphore>,
    stage: watch::Sender<Stage>,
    /// Whether the stage is any but the first, for those who ask with every request.
    leaving: AtomicBool,
}

/// Everything a server is built from.
pub(super) struct Plan {
    pub(super) router: Router,
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) limits: ConnectionLimits,
    pub(super) dice: Arc<dyn Dice>,
    pub(super) places: usize,
}

impl Shared {
    pub(super) fn build(plan: Plan) -> Self {
        let Plan { router, tls, limits, dice, places } = plan;
        Self {
            router,
            tls,
            limits,
            dice,
            tally: Tally::default(),
            places: Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS))),
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
}

/// One connection's stay; counts it for as long as it lives.
pub(super) struct ConnectionGuard {
    shared: Arc<Shared>,
    _place: Option<OwnedSemaphorePermit>,
}

impl ConnectionGuard {
    pub(super) fn begin(shared: Arc<Shared>, place: Option<OwnedSemaphorePermit>) -> Self {
        shared.tally.enter();
        Self { shared, _place: place }
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.shared.tally.leave();
    }
}
