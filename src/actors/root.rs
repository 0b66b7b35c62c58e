//! The root supervisor: starts hosts and workers, restarts what dies, and gives up loudly.
//!
//! A child that keeps dying has a fault that no restart will mend. Its budget spent, the root says so
//! once and leaves it to the system to drain and exit, so that the operator takes notice.

use crate::domain::{Clock, Timestamp};
use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, SpawnErr, SupervisionEvent};
use std::{
    collections::{BTreeMap, VecDeque},
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::sync::{oneshot, watch};

type StartFuture = Pin<Box<dyn Future<Output = Result<ActorCell, SpawnErr>> + Send>>;

/// How to start a child, again and again.
pub(super) struct Child {
    pub(super) name: &'static str,
    pub(super) start: Box<dyn Fn(ActorCell) -> StartFuture + Send + Sync>,
}

impl Child {
    /// Describes a child that is started from a fresh actor and fresh arguments each time.
    pub(super) fn new<A: Actor>(
        name: &'static str,
        make: impl Fn() -> (A, A::Arguments) + Send + Sync + 'static,
    ) -> Self {
        let start = move |supervisor: ActorCell| -> StartFuture {
            let (actor, arguments) = make();
            Box::pin(async move {
                let spawned = Actor::spawn_linked(None, actor, arguments, supervisor).await;
                spawned.map(|(actor, _ended)| actor.get_cell())
            })
        };
        Self { name, start: Box::new(start) }
    }
}

/// How often one child is restarted within how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartBudget {
    pub restarts: usize,
    pub within: Duration,
}

pub(super) enum Message {
    Start(Child, oneshot::Sender<Result<(), SpawnErr>>),
    Restart(usize),
    /// What ends from now on is meant to.
    Closing(oneshot::Sender<()>),
}

pub(super) struct Root;

pub(super) struct RootArguments {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) budget: RestartBudget,
    /// How often each child was started again.
    pub(super) restarts: Arc<Restarts>,
    /// Told the name of the child whose budget is spent.
    pub(super) given_up: watch::Sender<Option<&'static str>>,
}

/// Counts restarts by the child's name; there are as many names as children.
#[derive(Default)]
pub(super) struct Restarts(Mutex<BTreeMap<&'static str, u64>>);

impl Restarts {
    fn count(&self, child: &'static str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(child).or_default() += 1;
    }

    pub(super) fn report(&self) -> BTreeMap<&'static str, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

pub(super) struct RootState {
    arguments: RootArguments,
    children: Vec<SupervisedChild>,
    closing: bool,
}

struct SupervisedChild {
    child: Child,
    actor: Option<ActorId>,
    deaths: VecDeque<Timestamp>,
}

impl Actor for Root {
    type Msg = Message;
    type State = RootState;
    type Arguments = RootArguments;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(RootState { arguments, children: Vec::new(), closing: false })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::Start(child, reply) => {
                let started = (child.start)(myself.get_cell()).await;
                let actor = started.as_ref().ok().map(ActorCell::get_id);
                if actor.is_some() {
                    state.children.push(SupervisedChild { child, actor, deaths: VecDeque::new() });
                }
                let _ = reply.send(started.map(drop));
            }
            Message::Closing(reply) => {
                state.closing = true;
                let _ = reply.send(());
            }
            Message::Restart(_) if state.closing => {}
            Message::Restart(index) => {
                let Some(supervised) = state.children.get_mut(index) else { return Ok(()) };
                match (supervised.child.start)(myself.get_cell()).await {
                    Ok(actor) => supervised.actor = Some(actor.get_id()),
                    Err(error) => {
                        tracing::error!(child = supervised.child.name, %error, "restart failed");
                        state.died(index, &myself);
                    }
                }
            }
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Self::Msg>,
        event: SupervisionEvent,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let gone = match &event {
            SupervisionEvent::ActorFailed(who, error) => {
                tracing::error!(%error, "a supervised actor failed");
                who.get_id()
            }
            SupervisionEvent::ActorTerminated(who, ..) => who.get_id(),
            _ => return Ok(()),
        };
        let index = state.children.iter().position(|supervised| supervised.actor == Some(gone));
        if let Some(index) = index.filter(|_| !state.closing) {
            state.died(index, &myself);
        }
        Ok(())
    }
}

impl RootState {
    /// Counts a death and arranges the restart, later each time, until the budget is spent.
    fn died(&mut self, index: usize, myself: &ActorRef<Message>) {
        let RootArguments { clock, budget, restarts, given_up } = &self.arguments;
        let now = clock.now();
        let supervised = &mut self.children[index];
        supervised.actor = None;
        supervised.deaths.push_back(now);
        supervised.deaths.retain(|death| now.since(*death) < budget.within);
        let deaths = supervised.deaths.len();
        if deaths > budget.restarts {
            tracing::error!(
                child = supervised.child.name,
                deaths,
                "restart budget spent; giving up"
            );
            given_up.send_replace(Some(supervised.child.name));
            return;
        }
        restarts.count(supervised.child.name);
        let pause = Duration::from_millis(10) * 2u32.pow(u32::try_from(deaths).unwrap_or(8).min(8));
        tracing::warn!(child = supervised.child.name, deaths, "a supervised actor is restarted");
        drop(myself.send_after(pause, move || Message::Restart(index)));
    }
}
