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
    idle: Duration,
    myself: ActorCell,
}

/// Look for guests that may rest.
pub(super) struct LookRound;

impl<M: Machine> Actor for Host<M> {
    type Msg = LookRound;
    type State = HostState<M>;
    type Arguments = (Arc<Room<M>>, Duration);

    async fn pre_start(
        &self,
        myself: ActorRef<Self::Msg>,
        (room, idle): Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        room.welcome_host(myself.get_cell());
        drop(myself.send_after(idle / 4, || LookRound));
        Ok(HostState { room, idle, myself: myself.get_cell() })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        LookRound: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let now = state.room.lent.clock.now();
        state.room.vitals.rested(state.room.guests.rest(now, state.idle));
        state.room.troubles.tidy(now);
        drop(myself.send_after(state.idle / 4, || LookRound));
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
