//! The rules under the model: the decisions of the real machines, each made once and remembered.
//!
//! `decide` is pure, so a state, an ask, what was read for it and an instant have one decision. A stored state
//! is a number that stands for the JSON that the store would hold.

use super::{
    asks::{Ask, Change, Decided, Find, Put, Reading, Said, Seen, Slot},
    scene::{Look, Scene},
    world::{Row, Stage, Stored, Word, Work},
};
use porteiro::domain::{Requirement, Timestamp};
use std::{collections::HashMap, rc::Rc};

/// A mistake of the kernel or the store that could be made, for the checker to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// A row is written whatever its version is.
    LastWriterWins,
    /// What a commit requires of other rows is not looked at.
    RequirementsIgnored,
    /// A name may have two holders.
    NamesNotUnique,
    /// Of a commit only the owner's row is written.
    TornCommit,
    /// The caller is answered before the commit.
    AnsweredBeforeCommit,
}

/// What a decision is to do to the store.
pub struct Plan {
    pub word: Word,
    pub own: Option<Stored>,
    /// The other rows: which, the version that each must have, and its next state.
    pub others: Vec<(Slot, u8, Stored)>,
    /// With the entity, where it is one of the scene.
    pub requirements: Vec<(Option<Slot>, Requirement)>,
    pub commanded: Vec<Slot>,
    pub messages: u8,
    pub unmet: Option<Slot>,
}

#[derive(Clone)]
pub enum Verdict {
    /// These rows must be read first.
    Commands(Rc<Vec<Slot>>),
    Plan(Rc<Plan>),
}

/// All that a decision depends on.
#[derive(PartialEq, Eq, Hash)]
struct Question {
    ask: u8,
    at: u8,
    secret: u8,
    own: Option<Stored>,
    facts: Vec<Row>,
    commanded: Option<Vec<Row>>,
}

pub struct Rules {
    pub scene: Scene,
    pub bug: Option<Bug>,
    states: Vec<(String, Look)>,
    numbers: HashMap<(Slot, String), Stored>,
    words: Vec<Said>,
    verdicts: HashMap<Question, Verdict>,
}

impl Rules {
    pub fn new(scene: Scene, bug: Option<Bug>) -> Self {
        let (states, numbers, words, verdicts) = Default::default();
        Self { scene, bug, states, numbers, words, verdicts }
    }

    pub fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    pub fn ask(&self, ask: u8) -> &Ask {
        &self.scene.asks[usize::from(ask)]
    }

    pub fn time(&self, instant: u8) -> Timestamp {
        self.scene.instants[usize::from(instant)]
    }

    /// Returns what is read off a row, if there is one.
    pub fn look(&self, row: Row) -> Option<&Look> {
        (row.version > 0).then(|| &self.states[usize::from(row.stored)].1)
    }

    pub fn said(&self, word: Word) -> Said {
        self.words[usize::from(word)]
    }

    pub fn word(&mut self, said: Said) -> Word {
        let known = self.words.iter().position(|one| *one == said);
        let place = known.unwrap_or_else(|| {
            self.words.push(said);
            self.words.len() - 1
        });
        Word::try_from(place).unwrap()
    }

    /// The rows at the beginning.
    pub fn beginning(&mut self) -> Vec<Row> {
        let begins: Vec<_> = self.scene.entities.iter().map(|one| one.begins.clone()).collect();
        let rows = (0..).zip(begins).map(|(slot, state)| match state {
            None => Row::default(),
            Some(state) => Row { stored: self.store(slot, state), version: 1 },
        });
        rows.collect()
    }

    fn slot(&self, kind: &str, id: &str) -> Slot {
        let mut entities = self.scene.entities.iter();
        let place = entities.position(|one| one.kind == kind && one.id == id);
        let place = place.unwrap_or_else(|| panic!("there is no {kind} {id} on the scene"));
        Slot::try_from(place).unwrap()
    }

    fn store(&mut self, slot: Slot, state: String) -> Stored {
        let key = (slot, state);
        if let Some(known) = self.numbers.get(&key) {
            return *known;
        }
        let look = (self.scene.entities[usize::from(slot)].look)(&key.1);
        let number = Stored::try_from(self.states.len()).unwrap();
        self.states.push((key.1.clone(), look));
        self.numbers.insert(key, number);
        number
    }

    fn seen(&self, row: Row) -> Seen<'_> {
        let state = (row.version > 0).then(|| self.states[usize::from(row.stored)].0.as_str());
        Seen { state, version: row.version.into() }
    }

    /// Returns what is decided on the row `basis`, with these rows of what is commanded.
    pub fn decide(&mut self, work: &Work, basis: Row, commanded: Option<&[Row]>) -> Verdict {
        let Work { ask, at, secret, facts, .. } = work;
        let own = (basis.version > 0).then_some(basis.stored);
        let (facts, commanded) = (facts.clone(), commanded.map(<[Row]>::to_vec));
        let question = Question { ask: *ask, at: *at, secret: *secret, own, facts, commanded };
        if let Some(known) = self.verdicts.get(&question) {
            return known.clone();
        }
        let verdict = self.make(&question, basis);
        self.verdicts.insert(question, verdict.clone());
        verdict
    }

    fn make(&mut self, question: &Question, basis: Row) -> Verdict {
        let slots = if question.commanded.is_none() {
            Rc::default()
        } else {
            let unread = Question { commanded: None, facts: question.facts.clone(), ..*question };
            match self.verdicts.get(&unread) {
                Some(Verdict::Commands(slots)) => Rc::clone(slots),
                _ => panic!("what is commanded was read before it was known"),
            }
        };
        let put = {
            let facts: Vec<Seen<'_>> = question.facts.iter().map(|row| self.seen(*row)).collect();
            let rows = question.commanded.as_deref().unwrap_or_default();
            let find = |kind: &str, id: &str| {
                let slot = self.slot(kind, id);
                let place = slots.iter().position(|one| *one == slot).unwrap();
                self.seen(rows[place])
            };
            let reading = Reading {
                now: self.time(question.at),
                own: self.seen(basis).state,
                facts: &facts,
                secret: question.secret,
                commanded: question.commanded.as_ref().map(|_| &find as &Find<'_>),
            };
            (self.ask(question.ask).decide)(&reading)
        };
        match put {
            Put::Commands(named) => {
                let mut slots: Vec<Slot> = Vec::new();
                for slot in named.iter().map(|(kind, id)| self.slot(kind, id)) {
                    if !slots.contains(&slot) {
                        slots.push(slot);
                    }
                }
                Verdict::Commands(Rc::new(slots))
            }
            Put::Decided(decided) => {
                let of = self.ask(question.ask).of;
                Verdict::Plan(Rc::new(self.plan(of, decided, &slots)))
            }
        }
    }

    fn plan(&mut self, of: Slot, decided: Decided, commanded: &[Slot]) -> Plan {
        let Decided { said, own, others, requirements, messages, unmet } = decided;
        let own = own.map(|state| self.store(of, state));
        let others = others.into_iter().map(|change| {
            let Change { kind, id, state, version } = change;
            let slot = self.slot(kind, &id);
            (slot, u8::try_from(version).unwrap(), self.store(slot, state))
        });
        let others = others.collect();
        let requirements = requirements.into_iter().map(|fact| {
            let fixed = self.scene.fixed.contains(&fact.kind());
            ((!fixed).then(|| self.slot(fact.kind(), fact.id())), fact)
        });
        let requirements = requirements.collect();
        let unmet = unmet.map(|kind| {
            let mut entities = self.scene.entities.iter();
            Slot::try_from(entities.position(|one| one.kind == kind).unwrap()).unwrap()
        });
        let (commanded, messages) = (commanded.to_vec(), u8::try_from(messages).unwrap());
        Plan { word: self.word(said), own, others, requirements, commanded, messages, unmet }
    }

    /// Returns the plan that a work has come to.
    pub fn plan_of(&mut self, work: &Work) -> (Row, Rc<Plan>) {
        let (Stage::Checking(basis, rows) | Stage::Committing(basis, rows)) = &work.stage else {
            panic!("nothing is decided yet")
        };
        match self.decide(work, *basis, rows.as_deref()) {
            Verdict::Plan(plan) => (*basis, plan),
            Verdict::Commands(_) => panic!("what is commanded was not read"),
        }
    }
}
