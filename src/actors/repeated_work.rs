//! Work that another part of the system gives, done again and again under the root.

use ractor::{Actor, ActorProcessingErr, ActorRef};
use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

type TurnFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What is done, and how often. One turn is over before the next begins.
#[derive(Clone)]
pub struct RepeatedWork {
    pub name: &'static str,
    pub every: Duration,
    pub turn: Arc<dyn Fn() -> TurnFuture + Send + Sync>,
}

pub(super) struct Repeater;

/// Time for a turn.
pub(super) struct Turn;

impl Actor for Repeater {
    type Msg = Turn;
    type State = RepeatedWork;
    type Arguments = RepeatedWork;

    async fn pre_start(
        &self,
        myself: ActorRef<Self::Msg>,
        work: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        drop(myself.send_after(work.every, || Turn));
        Ok(work)
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        Turn: Self::Msg,
        work: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        (work.turn)().await;
        drop(myself.send_after(work.every, || Turn));
        Ok(())
    }
}
