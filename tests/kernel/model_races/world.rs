//! Everything that the next step may depend on: the store, two nodes, what callers know, and what is in flight.

use super::asks::Slot;

/// A state that the store has seen, by its number.
pub type Stored = u16;

/// The number of a word.
pub type Word = u8;

/// A row: in the store, or as it was read; version 0 where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row {
    pub stored: Stored,
    pub version: u8,
}

/// What an actor remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Held {
    pub row: Row,
    /// The instant at which it was the store's.
    pub seen: u8,
}

/// A command that a node has begun.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Work {
    pub node: u8,
    pub ask: u8,
    pub attempt: u8,
    /// The instant it is decided at.
    pub at: u8,
    pub secret: u8,
    /// What its handler had read.
    pub facts: Vec<Row>,
    pub stage: Stage,
}

/// Where it waits for the store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    Reading,
    /// The rows of what it commands are to be read; the owner's was fresh, or was remembered.
    Commanding(Row, bool),
    /// It would answer without a commit, if this is still the row.
    Checking(Row, Option<Vec<Row>>),
    Committing(Row, Option<Vec<Row>>),
}

/// What a caller waits for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// It has not asked yet, or asks again; its handler is on this node, if it has one.
    Waiting {
        ask: u8,
        node: Option<u8>,
    },
    Working(Work),
    Done(Word),
}

/// A request of a caller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Call {
    pub request: u8,
    /// How often its caller has asked, having heard nothing.
    pub tries: u8,
    /// How often its handler has read the facts anew.
    pub rereads: u8,
    pub state: State,
}

/// A commit that has landed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Landed {
    pub request: u8,
    pub ask: u8,
    pub word: Word,
    pub at: u8,
    pub secret: u8,
    pub messages: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct World {
    pub clock: u8,
    /// How many commits there have been: versions do not come back.
    pub writes: u8,
    /// How many answers, actors and nodes were lost.
    pub losses: u8,
    pub rows: Vec<Row>,
    pub held: [Vec<Option<Held>>; 2],
    pub calls: Vec<Call>,
    /// Commits whose actor is gone, each with its request: they may still land.
    pub strays: Vec<(u8, Work)>,
    pub landed: Vec<Landed>,
}

/// How far the world goes.
#[derive(Clone, Copy)]
pub struct Bounds {
    pub losses: u8,
    pub instants: u8,
}

/// What becomes of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Delivered,
    Lost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Tick,
    /// The janitor forgets a row whose time has come.
    Forget(Slot),
    /// The node dies, and with it what it remembers and works on.
    Crash(u8),
    /// A node takes up a request.
    Begin(u8, u8),
    /// The work on a request goes one step on.
    Go(u8, Fate),
    /// The fate of its commit is not known; its handler asks again.
    LoseTrack(u8),
    /// A commit whose actor is gone lands after all.
    Land(u8),
}

impl World {
    /// The same world, without telling the nodes apart.
    pub fn canonical(&self) -> Vec<u8> {
        let [one, other] = [0, 1].map(|first| self.key(first));
        one.min(other)
    }

    /// Writes down all of it, with the node `first` as the first.
    fn key(&self, first: u8) -> Vec<u8> {
        let Self { clock, writes, losses, rows, held, calls, strays, landed } = self;
        let mut key = Vec::with_capacity(160);
        key.extend([*clock, *writes, *losses]);
        for row in rows {
            row.write(&mut key);
        }
        for node in [first, 1 - first] {
            for held in &held[usize::from(node)] {
                match held {
                    None => key.push(u8::MAX),
                    Some(Held { row, seen }) => {
                        key.push(*seen);
                        row.write(&mut key);
                    }
                }
            }
        }
        for Call { request: _, tries, rereads, state } in calls {
            key.extend([*tries, *rereads]);
            match state {
                State::Waiting { ask, node } => {
                    key.extend([1, *ask, node.map_or(2, |node| node ^ first)]);
                }
                State::Working(work) => work.write(first, &mut key),
                State::Done(word) => key.extend([2, *word]),
            }
        }
        let mut in_flight: Vec<Vec<u8>> = strays
            .iter()
            .map(|(request, work)| {
                // Its node has nothing to do with it any more.
                let mut key = vec![*request];
                work.write(work.node, &mut key);
                key
            })
            .collect();
        in_flight.sort();
        key.push(u8::try_from(in_flight.len()).unwrap());
        key.extend(in_flight.concat());
        for one in landed {
            let Landed { request, ask, word, at, secret, messages } = *one;
            key.extend([request, ask, word, at, secret, messages]);
        }
        key
    }

    /// Lists what may happen next; some of it turns out to be impossible when it is tried.
    pub fn actions(&self, bounds: Bounds) -> Vec<Action> {
        let mut actions = Vec::with_capacity(24);
        if self.clock + 1 < bounds.instants {
            actions.push(Action::Tick);
        }
        let may_lose = self.losses < bounds.losses;
        for (slot, row) in (0..).zip(&self.rows) {
            if row.version > 0 {
                actions.push(Action::Forget(slot));
            }
        }
        for (place, call) in (0..).zip(&self.calls) {
            match &call.state {
                State::Done(_) => {}
                State::Waiting { node, .. } => {
                    let nodes = [0, 1].into_iter().filter(|n| node.is_none_or(|node| node == *n));
                    actions.extend(nodes.map(|n| Action::Begin(place, n)));
                }
                State::Working(work) => {
                    actions.push(Action::Go(place, Fate::Delivered));
                    if may_lose && matches!(work.stage, Stage::Committing(..)) {
                        actions.extend([Action::Go(place, Fate::Lost), Action::LoseTrack(place)]);
                    }
                }
            }
        }
        let works_on = |node: u8| {
            let mut calls = self.calls.iter();
            calls.any(|call| matches!(&call.state, State::Working(work) if work.node == node))
        };
        actions.extend([0, 1].into_iter().filter(|n| may_lose && works_on(*n)).map(Action::Crash));
        actions.extend((0..).zip(&self.strays).map(|(place, _)| Action::Land(place)));
        actions
    }
}

impl Row {
    fn write(self, key: &mut Vec<u8>) {
        key.extend(self.stored.to_le_bytes());
        key.push(self.version);
    }
}

impl Work {
    fn write(&self, first: u8, key: &mut Vec<u8>) {
        let Self { node, ask, attempt, at, secret, facts, stage } = self;
        key.extend([3, *node ^ first, *ask, *attempt, *at, *secret]);
        for row in facts {
            row.write(key);
        }
        let (number, basis, commanded) = match stage {
            Stage::Reading => (0, None, None),
            Stage::Commanding(basis, fresh) => (1 + u8::from(*fresh), Some(basis), None),
            Stage::Checking(basis, commanded) => (3, Some(basis), commanded.as_ref()),
            Stage::Committing(basis, commanded) => (4, Some(basis), commanded.as_ref()),
        };
        key.push(number);
        if let Some(row) = basis {
            row.write(key);
        }
        key.push(commanded.map_or(0, |rows| u8::try_from(rows.len()).unwrap()));
        for row in commanded.into_iter().flatten() {
            row.write(key);
        }
    }
}
