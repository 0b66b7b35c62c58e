//! The host of one kind: supervises its entities and lets the idle ones rest.

use super::room::Room;
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
    room: Arc<Room<M>>,
    hospitality: Hospitality,
    myself: ActorCell,
}

/// How long guests may stay.
#[derive(Clone, Copy)]
pub(super) struct Hospitality {
    /// After how long without a command an entity rests.
    pub(super) idle: Duration,
    /// How many may stay for so long.
    pub(super) crowd: usize,
}

/// How long an entity stays in a crowd: as long as somebody who comes back at once would need.
const IN_A_CROWD: Duration = Duration::from_secs(1);

impl Hospitality {
    /// How often to look round.
    fn every(&self) -> Duration {
        (self.idle / 4).min(IN_A_CROWD)
    }
}

/// Look for guests that may rest.
pub(super) struct LookRound;

impl<M: Machine> Actor for Host<M> {
    type Msg = LookRound;
    type State = HostState<M>;
    type Arguments = (Arc<Room<M>>, Hospitality);

    async fn pre_start(
        &self,
        myself: ActorRef<Self::Msg>,
        (room, hospitality): Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        room.welcome_host(myself.get_cell());
        drop(myself.send_after(hospitality.every(), || LookRound));
        Ok(HostState { room, hospitality, myself: myself.get_cell() })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        LookRound: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let now = state.room.lent.clock.now();
        let Hospitality { idle, crowd } = state.hospitality;
        let crowded = state.room.guests.count() > crowd;
        let idle = if crowded { idle.min(IN_A_CROWD) } else { idle };
        state.room.vitals.rested(state.room.guests.rest(now, idle));
        state.room.troubles.tidy(now);
        drop(myself.send_after(state.hospitality.every(), || LookRound));
        Ok(())
    }

    /// An entity's end is its own affair: ractor's default would stop the host with it.
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
    /// Nobody is woken under a host that is gone.
    fn drop(&mut self) {
        self.room.miss_host(&self.myself);
    }
}
