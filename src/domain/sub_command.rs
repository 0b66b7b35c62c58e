//! A command that a decision gives to another entity, in one atomic commit with it (adr/0124).
//!
//! The kernel reads the commanded entity, lets it decide at that version, and commits both or neither. What
//! the other machine answers is folded into the owner's reply; what it refuses is a value that the owner
//! maps: to a refusal of its own, and then nothing is written, or to nothing.
//!
//! The kernel does not know the machine of the other entity. It holds it as a [`StagedMachine`], which only
//! the commands for its kind can open.

use super::{Birth, Decision, Effects, Listing, Machine, Name, Timestamp};
use std::any::Any;

/// What the kernel needs to know to read an entity of a kind.
#[derive(Clone, Copy)]
pub struct EntityKind {
    pub kind: &'static str,
    /// The highest revision of a row that this binary can read.
    pub revision: u32,
    /// Parses a stored state.
    pub parse: fn(&str) -> serde_json::Result<Box<dyn StagedMachine>>,
    /// The entity where there is no row.
    pub unborn: fn() -> Box<dyn StagedMachine>,
}

impl EntityKind {
    pub fn of<N: Machine>() -> Self {
        Self {
            kind: N::KIND,
            revision: N::REVISION,
            parse: |state| serde_json::from_str::<N>(state).map(staged),
            unborn: || staged(N::default()),
        }
    }
}

fn staged<N: Machine>(machine: N) -> Box<dyn StagedMachine> {
    Box::new(Staged { before: machine.clone(), next: machine, changed: false })
}

/// An entity as it was read, and as it would be after what was decided on it.
pub struct Staged<N> {
    before: N,
    next: N,
    changed: bool,
}

impl<N: Machine> Staged<N> {
    /// Decides on what the entity would be by now.
    pub fn decide(&mut self, command: &N::Command, now: Timestamp) -> Decision<N> {
        let decision = self.next.decide(command, now);
        self.changed |= !decision.events.is_empty();
        for event in &decision.events {
            self.next.apply(event);
        }
        decision
    }

    pub fn next(&self) -> &N {
        &self.next
    }
}

/// A [`Staged`] of some machine.
pub trait StagedMachine: Any + Send + Sync {
    /// Tells whether something was decided that changes it.
    fn is_changed(&self) -> bool;

    /// Tells whether it conferred authority at `now`, as it was read.
    fn was_live(&self, now: Timestamp) -> bool;

    /// Has it written again, though nothing has changed.
    fn touch(&mut self);

    /// The names and lists it was found under.
    fn former(&self) -> (Vec<Name>, Vec<Listing>);

    /// The entity `id` as it is to be stored.
    fn stored(&self, id: &str) -> Birth;
}

impl<N: Machine> StagedMachine for Staged<N> {
    fn is_changed(&self) -> bool {
        self.changed
    }

    fn was_live(&self, now: Timestamp) -> bool {
        self.before.live_until() > now
    }

    fn touch(&mut self) {
        self.changed = true;
    }

    fn former(&self) -> (Vec<Name>, Vec<Listing>) {
        (self.before.names(), self.before.listings())
    }

    fn stored(&self, id: &str) -> Birth {
        Birth::of(id, &self.next)
    }
}

/// A command for another entity, and what its outcome means for the owner `M`.
pub struct SubCommand<M: Machine> {
    pub entity: EntityKind,
    pub id: String,
    command: Box<dyn Any + Send>,
    run: Box<Run<M>>,
}

type Run<M> = dyn FnOnce(
        &dyn Any,
        &mut dyn StagedMachine,
        &mut <M as Machine>::Reply,
        Timestamp,
    ) -> Result<Effects, <M as Machine>::Refusal>
    + Send;

impl<M: Machine> SubCommand<M> {
    /// Commands the entity `id`. `fold` adds what it answers to the owner's reply, or says why the owner
    /// refuses after all.
    pub fn to<N: Machine>(
        id: impl Into<String>,
        command: N::Command,
        fold: impl FnOnce(Result<N::Reply, N::Refusal>, &mut M::Reply) -> Result<(), M::Refusal>
        + Send
        + 'static,
    ) -> Self {
        let run = move |command: &dyn Any,
                        entity: &mut dyn StagedMachine,
                        reply: &mut M::Reply,
                        now: Timestamp| {
            let command = command.downcast_ref::<N::Command>().expect("it is boxed below");
            let entity: &mut dyn Any = entity;
            let staged = entity.downcast_mut::<Staged<N>>();
            let staged = staged.expect("an entity is staged as the machine of its kind");
            let Decision { effects, commands, outcome, .. } = staged.decide(command, now);
            assert!(commands.is_empty(), "a commanded entity commands no other");
            fold(outcome, reply).map(|()| effects)
        };
        let (entity, id, command) = (EntityKind::of::<N>(), id.into(), Box::new(command));
        Self { entity, id, command, run: Box::new(run) }
    }

    /// Returns the command, if it is one for entities of this machine.
    pub fn command<N: Machine>(&self) -> Option<&N::Command> {
        (self.entity.kind == N::KIND).then(|| self.command.downcast_ref()).flatten()
    }

    /// Commands the entity `id`; if it refuses, so does the owner.
    pub fn insisting<N: Machine>(
        id: impl Into<String>,
        command: N::Command,
        refusal: impl FnOnce(N::Refusal) -> M::Refusal + Send + 'static,
    ) -> Self {
        Self::to::<N>(id, command, |outcome, _| outcome.map(drop).map_err(refusal))
    }

    /// Lets the entity decide. What it wants in the same commit is returned, unless the owner refuses now.
    pub fn run(
        self,
        entity: &mut dyn StagedMachine,
        reply: &mut M::Reply,
        now: Timestamp,
    ) -> Result<Effects, M::Refusal> {
        (self.run)(&*self.command, entity, reply, now)
    }
}
