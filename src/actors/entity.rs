//! The shell around every machine: hydrate → decide → commit, with retries → answer → rest.
//!
//! One actor owns one entity on this node and takes its commands one at a time. The row's version
//! tells whether another node has changed it. What it promises:
//!
//! - the answer is sent after the commit is durable;
//! - a conflict means reload and retry the decision, a few times, then [`Failure::Contended`];
//! - an unknown commit ends the actor: the next command reads what is really there;
//! - an answer that commits nothing rests on the row's present version, unless the machine says
//!   that the command tolerates less.

use super::{
    commit_builder::Author,
    concurrent_work,
    deciding::{self, Outcome},
    entity_state::{EntityState, LastEntityState, STALE},
    failure::{Answer, Failure, answer, causes},
    hydrate::{EntitySnapshot, HydrateError, hydrate},
    kind_shared::KindContext,
    mailbox::{Condition, Envelope, Request},
};
use crate::{
    domain::{Machine, Requirement, Timestamp},
    store::{CommitError, Liveness},
};
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef};
use std::{marker::PhantomData, sync::Arc};

/// How often a decision is made anew after losing to another node.
const ATTEMPTS: usize = 5;

pub(super) struct Entity<M>(PhantomData<fn() -> M>);

impl<M> Entity<M> {
    pub(super) fn new() -> Self {
        Self(PhantomData)
    }
}

/// What the actor holds: the machine as of a version, once it has been read.
pub(super) struct State<M: Machine> {
    id: Arc<str>,
    shared: Arc<KindContext<M>>,
    myself: ActorCell,
    held: Option<EntityState<M>>,
    /// The same after the last command, for askers that tolerate it.
    last: Arc<LastEntityState<M>>,
    /// A command has been begun and not finished: seen when the state is dropped, this is a failure.
    busy: bool,
}

/// How a command ended.
enum CommandOutcome<M: Machine> {
    Answered(Answer<M>),
    /// Memory and disk may differ; the actor must end.
    Unknown,
    /// The stored state cannot be read by this machine; the actor must end.
    Poisoned(HydrateError),
}

/// What is held cannot be shown to be what is stored.
struct StaleState;

impl<M: Machine> Actor for Entity<M> {
    type Msg = Envelope<M>;
    type State = State<M>;
    type Arguments = (Arc<str>, Arc<KindContext<M>>, Arc<LastEntityState<M>>);

    async fn pre_start(
        &self,
        myself: ActorRef<Self::Msg>,
        (id, shared, last): Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let held = shared.newborns.take(&id);
        Ok(State { id, shared, myself: myself.get_cell(), held, last, busy: false })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        envelope: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        state.shared.metrics.waited(envelope.waited());
        let Some((request, port)) = envelope.open() else { return Ok(()) };
        state.busy = true;
        // Boxed: an actor that waits for work should not carry the working set of a commit.
        let settled = Box::pin(state.settle(&request)).await;
        // Before the answer: what its caller asks next is not answered from before it.
        state.last.set(state.held.clone());
        match settled {
            CommandOutcome::Answered(answer) => port.answer(answer),
            CommandOutcome::Unknown => {
                state.shared.metrics.unknown();
                myself.stop(Some("the fate of a commit is unknown".to_owned()));
                port.answer(Err(Failure::Unknown));
            }
            CommandOutcome::Poisoned(error) => {
                port.answer(Err(Failure::Unavailable));
                return Err(error.into());
            }
        }
        state.busy = false;
        state.shared.quarantine.recovered(&state.id);
        Ok(())
    }
}

impl<M: Machine> Drop for State<M> {
    /// However the actor ended, its id is free; if in the middle of a command, that is noted.
    fn drop(&mut self) {
        if self.busy {
            self.shared.failed(&self.id);
        }
        self.shared.directory.evict(&self.id, &self.myself);
    }
}

impl<M: Machine> State<M> {
    async fn settle(&mut self, request: &Request<M>) -> CommandOutcome<M> {
        let Request { context, command, condition, work } = request;
        for _ in 0..ATTEMPTS {
            if let Some(work) = work {
                work.forget();
            }
            let now = self.shared.services.clock.now();
            let (fresh, held) = match self.held.take() {
                Some(held) => (false, held),
                None => match self.read(now).await {
                    Ok(held) => (true, held),
                    Err(settled) => return settled,
                },
            };
            if let Condition::IsAt(wanted) = *condition
                && held.version != wanted
            {
                let version = held.version;
                // What is held may be behind the row: only the row can say no.
                if fresh || self.check(version, &[], now).await.is_ok() {
                    self.held = Some(held);
                    return CommandOutcome::Answered(Err(Failure::OtherVersion { version }));
                }
                continue;
            }
            let EntityState { machine, version, seen_at } = held;
            let author =
                Author { kind: M::KIND, id: &self.id, context, services: &self.shared.services };
            let decided = deciding::decide((&*machine, version), command, (&author, now)).await;
            let (next, commit, outcome, commanded) = match decided {
                Ok((Outcome::Write { next, commit, answer }, commanded)) => {
                    (next, commit, answer, commanded)
                }
                Ok((Outcome::Unmet { kind }, _)) => {
                    self.held = Some(EntityState { machine, version, seen_at });
                    return CommandOutcome::Answered(Err(Failure::Unmet { kind }));
                }
                Ok((Outcome::Read { requirements, answer: outcome }, commanded)) => {
                    let at_any = !matches!(condition, Condition::IsAt(_));
                    let young = now.since(seen_at) < STALE && at_any;
                    let trusted = fresh || (young && M::tolerates_stale(command));
                    let (unmet, seen_at) = if trusted && requirements.is_empty() {
                        (None, seen_at)
                    } else {
                        match self.check(version, &requirements, now).await {
                            Ok(Some(kind)) if commanded.contains(&kind) => continue,
                            Ok(unmet) => (unmet, now),
                            Err(StaleState) => continue,
                        }
                    };
                    self.held = Some(EntityState { machine, version, seen_at });
                    let unmet = unmet.map(|kind| Err(Failure::Unmet { kind }));
                    let answer = unmet.unwrap_or_else(|| answer::<M>(outcome, version));
                    return CommandOutcome::Answered(answer);
                }
                Err(error) => {
                    tracing::warn!(why = causes(&error), "a commanded entity could not be read");
                    self.held = Some(EntityState { machine, version, seen_at });
                    return unavailable();
                }
            };
            let services = &*self.shared.services;
            let committed = concurrent_work::commit((services, commit), request, &outcome).await;
            let failure = match committed {
                Ok(version) => {
                    self.held =
                        Some(EntityState { machine: Arc::new(next), version, seen_at: now });
                    return CommandOutcome::Answered(answer::<M>(outcome, version));
                }
                Err(CommitError::Unknown) => return CommandOutcome::Unknown,
                Err(CommitError::Conflict) => {
                    self.shared.metrics.conflict();
                    continue;
                }
                Err(CommitError::Unmet { kind }) if commanded.contains(&kind) => continue,
                Err(CommitError::Taken { space }) => Failure::Taken { space },
                Err(CommitError::Unmet { kind }) => Failure::Unmet { kind },
                Err(CommitError::Unavailable) => {
                    self.held = Some(EntityState { machine, version, seen_at });
                    return unavailable();
                }
            };
            // Said on the strength of a version that may be past: if so, decide again.
            if self.check(version, &[], now).await.is_ok() {
                self.held = Some(EntityState { machine, version, seen_at: now });
                return CommandOutcome::Answered(Err(failure));
            }
        }
        CommandOutcome::Answered(Err(Failure::Contended))
    }

    async fn read(&self, seen_at: Timestamp) -> Result<EntityState<M>, CommandOutcome<M>> {
        match hydrate::<M>(&self.shared.services.store, &self.id).await {
            Ok(EntitySnapshot { machine, version }) => {
                Ok(EntityState { machine: Arc::new(machine), version, seen_at })
            }
            Err(error @ HydrateError::Poisoned { .. }) => Err(CommandOutcome::Poisoned(error)),
            // To decide on a row that a newer binary wrote would erase what this one cannot keep.
            Err(error) => {
                tracing::warn!(why = causes(&error), "an entity could not be read");
                Err(unavailable())
            }
        }
    }

    /// Checks, in one query, that `version` is what the store holds now, and returns the kind of a
    /// requirement that does not hold, if there is one.
    async fn check(
        &self,
        version: i64,
        requirements: &[Requirement],
        now: Timestamp,
    ) -> Result<Option<&'static str>, StaleState> {
        let mut asked = vec![(M::KIND, &*self.id)];
        asked.extend(requirements.iter().map(|fact| (fact.kind(), fact.id())));
        let found = self.shared.services.store.liveness(&asked).await.map_err(|_| StaleState)?;
        if found[0].map_or(0, |row| row.version) != version {
            return Err(StaleState);
        }
        let holds = |fact: &Requirement, liveness: Option<Liveness>| {
            liveness.is_some_and(|found| fact.holds(found.version, found.live_until, now))
        };
        let mut facts = requirements.iter().zip(&found[1..]);
        Ok(facts.find(|(fact, found)| !holds(fact, **found)).map(|(fact, _)| fact.kind()))
    }
}

fn unavailable<M: Machine>() -> CommandOutcome<M> {
    CommandOutcome::Answered(Err(Failure::Unavailable))
}
