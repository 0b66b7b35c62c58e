//! The host of one kind: supervises its entities and lets the idle ones rest.

use super::kind_shared::KindContext;
use crate::domain::Machine;
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SupervisionEvent};
use std::{marker::PhantomData, sync::Arc, time::Duration};

pub(super) struct Host<M>(PhantomData<fn() -> M>);

impl<M> Host<M> {
    pub(super) fn new() -> Self {
        Self(PhantomData)
    }
}

pub(super) struct HostState<M: Machine> {
    shared: Arc<KindContext<M>>,
    idle_policy: IdlePolicy,
    myself: ActorCell,
}

/// How long entities stay in memory.
#[derive(Clone, Copy)]
pub(super) struct IdlePolicy {
    /// After how long without a command an entity's actor ends.
    pub(super) idle: Duration,
    /// How many may stay for so long.
    pub(super) max_awake: usize,
}

/// How long an entity stays in memory when too many are: long enough for a client that asks again
/// at once.
const IDLE_WHEN_FULL: Duration = Duration::from_secs(1);

impl IdlePolicy {
    /// How often to sweep.
    fn every(&self) -> Duration {
        (self.idle / 4).min(IDLE_WHEN_FULL)
    }
}

/// Look for entities that may rest.
pub(super) struct Sweep;

impl<M: Machine> Actor for Host<M> {
    type Msg = Sweep;
    type State = HostState<M>;
    type Arguments = (Arc<KindContext<M>>, IdlePolicy);

    async fn pre_start(
        &self,
        myself: ActorRef<Self::Msg>,
        (shared, idle_policy): Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        shared.set_host(myself.get_cell());
        drop(myself.send_after(idle_policy.every(), || Sweep));
        Ok(HostState { shared, idle_policy, myself: myself.get_cell() })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        Sweep: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let now = state.shared.services.clock.now();
        let IdlePolicy { idle, max_awake } = state.idle_policy;
        let is_full = state.shared.directory.count() > max_awake;
        let idle = if is_full { idle.min(IDLE_WHEN_FULL) } else { idle };
        state.shared.metrics.rested(state.shared.directory.rest(now, idle));
        state.shared.newborns.sweep();
        state.shared.quarantine.tidy(now);
        drop(myself.send_after(state.idle_policy.every(), || Sweep));
        Ok(())
    }

    /// An entity that ends must not stop the host, as ractor's default would.
    async fn handle_supervisor_evt(
        &self,
        _myself: ActorRef<Self::Msg>,
        event: SupervisionEvent,
        _state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        if let SupervisionEvent::ActorFailed(_, error) = event {
            tracing::error!(kind = M::KIND, %error, "an entity failed; the next command reads it anew");
        }
        Ok(())
    }
}

impl<M: Machine> Drop for HostState<M> {
    /// No actor is started under a host that is gone.
    fn drop(&mut self) {
        self.shared.clear_host(&self.myself);
    }
}
