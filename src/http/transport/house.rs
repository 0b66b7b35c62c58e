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

pub(super) struct House {
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

/// Everything a house is built from.
pub(super) struct Plan {
    pub(super) router: Router,
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) limits: ConnectionLimits,
    pub(super) dice: Arc<dyn Dice>,
    pub(super) places: usize,
}

impl House {
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
pub(super) struct Visit {
    house: Arc<House>,
    _place: Option<OwnedSemaphorePermit>,
}

impl Visit {
    pub(super) fn begin(house: Arc<House>, place: Option<OwnedSemaphorePermit>) -> Self {
        house.tally.enter();
        Self { house, _place: place }
    }

    pub(super) fn house(&self) -> &Arc<House> {
        &self.house
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.house.tally.leave();
    }
}
