//! What a machine says: facts to commit, what belongs into the same atomic commit, and the answer.

use super::{Dispatch, Listing, Machine, Name, Record, SubCommand, Timestamp};

/// Facts to commit, and the answer to give once they are durable.
pub struct Decision<M: Machine> {
    pub events: Vec<M::Event>,
    pub effects: Effects,
    /// Commands for other entities, in this order. A refusal commands nothing.
    pub commands: Vec<SubCommand<M>>,
    pub outcome: Result<M::Reply, M::Refusal>,
}

/// What else must become true in the same commit, or must be true for it to happen.
#[derive(Default)]
pub struct Effects {
    pub births: Vec<Birth>,
    pub requirements: Vec<Requirement>,
    pub records: Vec<Record>,
    pub dispatches: Vec<Dispatch>,
}

impl Effects {
    /// Tells whether anything is to be written; requirements alone write nothing.
    pub fn write_nothing(&self) -> bool {
        self.births.is_empty() && self.records.is_empty() && self.dispatches.is_empty()
    }
}

impl<M: Machine> Decision<M> {
    /// Grants the command.
    pub fn accept(events: Vec<M::Event>, reply: M::Reply) -> Self {
        Self::new(events, Ok(reply))
    }

    /// Refuses, and nothing changes.
    pub fn refuse(why: M::Refusal) -> Self {
        Self::new(Vec::new(), Err(why))
    }

    /// Refuses, and what was seen is kept: the reuse of a token ends its family.
    pub fn refuse_and_record(events: Vec<M::Event>, why: M::Refusal) -> Self {
        Self::new(events, Err(why))
    }

    fn new(events: Vec<M::Event>, outcome: Result<M::Reply, M::Refusal>) -> Self {
        Self { events, effects: Effects::default(), commands: Vec::new(), outcome }
    }

    /// Refuses after all; what was seen is kept.
    pub fn refusing(self, why: M::Refusal) -> Self {
        Self { outcome: Err(why), ..self }
    }

    /// Creates another entity in the same commit.
    pub fn bearing(mut self, birth: Birth) -> Self {
        self.effects.births.push(birth);
        self
    }

    /// Has another entity decide in the same commit. If it refuses and `command` insists, nothing is written.
    pub fn commanding(mut self, command: SubCommand<M>) -> Self {
        self.commands.push(command);
        self
    }

    /// Lets the commit happen only while `requirement` holds.
    pub fn requiring(mut self, requirement: Requirement) -> Self {
        self.effects.requirements.push(requirement);
        self
    }

    /// Writes to the security log in the same commit.
    pub fn recording(mut self, record: Record) -> Self {
        self.effects.records.push(record);
        self
    }

    /// Leaves a message for the outside in the same commit.
    pub fn dispatching(mut self, dispatch: Dispatch) -> Self {
        self.effects.dispatches.push(dispatch);
        self
    }
}

/// Another entity's first state, as it will be stored.
pub struct Birth {
    pub kind: &'static str,
    pub id: String,
    pub revision: u32,
    pub id_is_derived: bool,
    pub state: String,
    pub live_until: Timestamp,
    pub forget_at: Option<Timestamp>,
    pub names: Vec<Name>,
    pub listings: Vec<Listing>,
}

impl Birth {
    /// Describes the entity `id` in the state `machine`.
    pub fn of<M: Machine>(id: impl Into<String>, machine: &M) -> Self {
        Self {
            kind: M::KIND,
            id: id.into(),
            revision: M::REVISION,
            id_is_derived: M::ID_IS_DERIVED,
            state: serde_json::to_string(machine).expect("a machine is plain data with text keys"),
            live_until: machine.live_until(),
            forget_at: machine.forget_at(),
            names: machine.names(),
            listings: machine.listings(),
        }
    }
}

/// A fact about another entity that must hold in the very transaction of the commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// It exists and confers authority: its `live_until` lies ahead.
    Live { kind: &'static str, id: String },
    /// It is still the version that was read.
    Unchanged { kind: &'static str, id: String, version: i64 },
}

impl Requirement {
    pub fn live<M: Machine>(id: impl Into<String>) -> Self {
        Self::Live { kind: M::KIND, id: id.into() }
    }

    pub fn unchanged<M: Machine>(id: impl Into<String>, version: i64) -> Self {
        Self::Unchanged { kind: M::KIND, id: id.into(), version }
    }

    /// Tells whether an entity of this version and end of life is what is required, at `now`.
    pub fn holds(&self, version: i64, live_until: Timestamp, now: Timestamp) -> bool {
        match self {
            Self::Live { .. } => live_until > now,
            Self::Unchanged { version: expected, .. } => version == *expected,
        }
    }

    pub fn kind(&self) -> &'static str {
        match self {
            Self::Live { kind, .. } | Self::Unchanged { kind, .. } => kind,
        }
    }

    pub fn id(&self) -> &str {
        match self {
            Self::Live { id, .. } | Self::Unchanged { id, .. } => id,
        }
    }
}
