//! A scene: which entities there are, who asks what of them, and what must hold.

use super::{
    asks::{Ask, Said, Slot},
    rules::Rules,
    world::{Landed, State, World},
};
use porteiro::domain::{Machine, Name, Timestamp};

/// What is read off a stored state.
#[derive(Clone)]
pub struct Look {
    pub live_until: Timestamp,
    pub forget_at: Option<Timestamp>,
    pub names: Vec<Name>,
    /// The state in a word.
    pub word: Said,
}

/// An entity of a scene.
pub struct Entity {
    pub kind: &'static str,
    pub id: &'static str,
    pub look: Box<dyn Fn(&str) -> Look>,
    /// Its row at the beginning, if there is one.
    pub begins: Option<String>,
}

impl Entity {
    /// An entity of a real machine.
    pub fn of<M: Machine>(id: &'static str, word: fn(&M) -> Said) -> Self {
        let look = move |text: &str| {
            let machine: M = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&machine).unwrap(), text, "it is stored whole");
            Look {
                live_until: machine.live_until(),
                forget_at: machine.forget_at(),
                names: machine.names(),
                word: word(&machine),
            }
        };
        Self { kind: M::KIND, id, look: Box::new(look), begins: None }
    }

    /// A fact of which the model knows only when it changes.
    pub fn fact(kind: &'static str, id: &'static str, states: &'static [Said]) -> Self {
        let look = move |text: &str| {
            let word = states.iter().find(|state| **state == text).copied();
            let (live_until, forget_at, names) = (Timestamp::FOREVER, None, Vec::new());
            Look { live_until, forget_at, names, word: word.unwrap() }
        };
        Self { kind, id, look: Box::new(look), begins: Some(states[0].to_owned()) }
    }

    pub fn beginning(self, state: impl Into<String>) -> Self {
        Self { begins: Some(state.into()), ..self }
    }

    pub fn beginning_as<M: Machine>(self, machine: &M) -> Self {
        self.beginning(serde_json::to_string(machine).unwrap())
    }
}

/// Who is on the scene, and what must hold there.
pub struct Scene {
    pub entities: Vec<Entity>,
    /// Kinds of which nothing changes here: every requirement of them holds.
    pub fixed: &'static [&'static str],
    pub instants: Vec<Timestamp>,
    pub asks: Vec<Ask>,
    /// What each request asks first.
    pub requests: &'static [usize],
    /// What must hold in every world.
    pub standing: fn(&View<'_>) -> Option<&'static str>,
    /// What must hold when a commit is about to land.
    pub landing: fn(&View<'_>, &Landing) -> Option<&'static str>,
}

/// A commit that is about to land.
pub struct Landing {
    pub ask: Said,
    pub said: Said,
    /// The states of the facts as the handler had read them.
    pub facts: Vec<Said>,
}

/// A world as properties see it.
pub struct View<'a> {
    pub rules: &'a Rules,
    pub world: &'a World,
}

/// The word for an entity that has no row.
pub const NO_ROW: Said = "no row";

/// A commit that has landed.
pub struct Done {
    pub ask: Said,
    pub said: Said,
    pub at: Timestamp,
    /// The instant it was decided at.
    pub instant: u8,
    pub secret: u8,
    pub messages: u8,
}

impl View<'_> {
    /// The state of an entity in a word.
    pub fn word(&self, slot: Slot) -> Said {
        self.rules.look(self.world.rows[usize::from(slot)]).map_or(NO_ROW, |look| look.word)
    }

    /// The time on the scene.
    pub fn now(&self) -> Timestamp {
        self.rules.time(self.world.clock)
    }

    /// What a request has heard at its end.
    pub fn heard(&self, request: u8) -> Option<Said> {
        let call = self.world.calls.iter().find(|call| call.request == request)?;
        match call.state {
            State::Done(word) => Some(self.rules.said(word)),
            _ => None,
        }
    }

    /// How many requests have heard this at their end.
    pub fn hearing(&self, said: Said) -> usize {
        let ends = self.world.calls.iter().filter_map(|call| self.heard(call.request));
        ends.filter(|heard| *heard == said).count()
    }

    /// What was committed, in its order.
    pub fn landed(&self) -> impl DoubleEndedIterator<Item = Done> + '_ {
        self.world.landed.iter().map(|one| {
            let Landed { ask, word, at, secret, messages, .. } = *one;
            let (ask, said) = (self.rules.scene.asks[usize::from(ask)].name, self.rules.said(word));
            let (time, instant) = (self.rules.time(at), at);
            Done { ask, said, at: time, instant, secret, messages }
        })
    }

    /// How often this was committed.
    pub fn landings(&self, ask: Said, said: Said) -> usize {
        self.landed().filter(|one| one.ask == ask && one.said == said).count()
    }
}
