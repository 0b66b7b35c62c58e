//! Everything that the next step may depend on: the store, two nodes, and what is in flight.
//!
//! It is small and copied at every step. What clients know is one set: a token that was delivered
//! may be stolen later, and a stolen one is as good as the client's own to any caller.

use super::{
    chronicle::Chronicle,
    rules::{Rules, Stored},
    scene::{Ask, Asker, INSTANTS, Limit, Request, Token},
};
use std::fmt;

/// Refresh tokens, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tokens(u8);

impl Tokens {
    pub fn with(self, token: Token) -> Self {
        Self(self.0 | 1 << token)
    }

    pub fn contains(self, token: Token) -> bool {
        self.0 & 1 << token != 0
    }

    pub fn within(self, others: Self) -> bool {
        self.0 & !others.0 == 0
    }
}

/// A state of the family as of a version: in the store, or in an actor's memory; 0 is no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row {
    pub stored: Stored,
    pub version: u8,
}

/// A decision on its way into the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Write {
    pub basis: Row,
    pub request: Request,
    /// The instant it was decided at.
    pub at: u8,
}

/// The actor of the family on one node, if it is awake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node {
    pub held: Option<Row>,
    pub work: Option<Work>,
}

/// A command that an actor has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Work {
    pub request: Request,
    pub at: u8,
    pub attempt: u8,
    /// Whether what it bears was already spent when it was asked.
    pub replays: bool,
    pub stage: Stage,
}

/// Where an actor waits for the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    Reading,
    /// It would answer without writing, if this is still the row's version.
    Checking(Row),
    Committing(Row),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub clock: u8,
    pub asked: u8,
    pub limit: Limit,
    pub session_ended: bool,
    pub row: Row,
    pub nodes: [Node; 2],
    /// A commit whose actor is gone: it may still land.
    ///
    /// Of several at most one could, since they rest on the same version: it is the one kept here.
    pub stray: Option<Write>,
    /// A request whose handler was not told what came of it, and may ask again.
    pub doubt: Option<Request>,
    /// What has left the server, or was overheard.
    pub known: Tokens,
    pub past: Chronicle,
}

/// How far the world goes.
#[derive(Clone, Copy)]
pub struct Bounds {
    pub requests: u8,
    pub instants: u8,
    /// Whether the session may be ended, and whether the role may be lost.
    pub session_ends: bool,
    pub role_is_lost: bool,
    /// Whether a handler that is in doubt asks again.
    pub repeats: bool,
}

/// What becomes of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Delivered,
    Lost,
    /// Lost to its asker and read by a thief.
    Stolen,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Tick,
    LoseRole,
    EndSession,
    Ask(u8, Ask),
    /// What is in doubt is asked again, with the same secret.
    Repeat(u8),
    Read(u8),
    Check(u8),
    Commit(u8, Fate),
    /// The actor is gone, and what it was about to write or say with it.
    Die(u8),
    /// The actor is gone, and it is not known what became of its commit.
    LoseTrack(u8),
    Rest(u8),
    /// What a dead actor had sent lands after all.
    Land,
    Forget,
}

impl World {
    pub fn new(rules: &mut Rules) -> Self {
        Self {
            clock: 0,
            asked: 0,
            limit: Limit::Full,
            // What is offline outlives its session: let it be over from the first.
            session_ended: rules.offline,
            row: Row { stored: rules.begun(), version: 1 },
            nodes: [Node::default(); 2],
            stray: None,
            doubt: None,
            known: Tokens::default(),
            past: Chronicle::default(),
        }
    }

    /// The same world, without telling the nodes apart.
    pub fn canonical(mut self) -> Self {
        self.nodes.sort_unstable();
        self
    }

    /// Lists what may happen next; some of it turns out to be impossible when it is tried.
    pub fn actions(&self, bounds: Bounds) -> Vec<Action> {
        let mut actions = Vec::with_capacity(32);
        if self.clock + 1 < bounds.instants {
            actions.push(Action::Tick);
        }
        if bounds.role_is_lost && self.limit == Limit::Full {
            actions.push(Action::LoseRole);
        }
        if bounds.session_ends && !self.session_ended {
            actions.push(Action::EndSession);
        }
        if self.row.version > 0 {
            actions.push(Action::Forget);
        }
        if self.stray.is_some() {
            actions.push(Action::Land);
        }
        for n in [0, 1] {
            self.add_actions_of(n, bounds, &mut actions);
        }
        actions
    }

    fn add_actions_of(&self, n: u8, bounds: Bounds, actions: &mut Vec<Action>) {
        let Node { held, work } = self.nodes[usize::from(n)];
        match work.map(|work| work.stage) {
            None => {
                if held.is_some() {
                    actions.push(Action::Rest(n));
                }
                if bounds.repeats && self.doubt.is_some() {
                    actions.push(Action::Repeat(n));
                }
                if self.asked < bounds.requests {
                    actions.extend(self.asks().map(|ask| Action::Ask(n, ask)));
                }
                return;
            }
            Some(Stage::Reading) => actions.push(Action::Read(n)),
            Some(Stage::Checking(_)) => actions.push(Action::Check(n)),
            Some(Stage::Committing(_)) => {
                let fates = [Fate::Delivered, Fate::Lost, Fate::Stolen];
                actions.extend(fates.map(|fate| Action::Commit(n, fate)));
                actions.push(Action::LoseTrack(n));
            }
        }
        actions.push(Action::Die(n));
    }

    fn asks(&self) -> impl Iterator<Item = Ask> {
        let known = (0..self.asked).filter(|token| self.known.contains(*token));
        let askers = [Asker::Client, Asker::Impostor];
        let refreshes = known.flat_map(move |token| askers.map(|one| Ask::Refresh(one, token)));
        askers.map(Ask::Redeem).into_iter().chain([Ask::Revoke]).chain(refreshes)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |n: &u8| if *n == 0 { "node A" } else { "node B" };
        let who = |asker: &Asker| match asker {
            Asker::Client => "the client",
            Asker::Impostor => "an impostor",
        };
        match self {
            Self::Tick => f.write_str("time passes"),
            Self::LoseRole => f.write_str("the person loses the role"),
            Self::EndSession => f.write_str("the session is ended"),
            Self::Ask(n, Ask::Redeem(asker)) => {
                write!(f, "{} presents the code at {}", who(asker), name(n))
            }
            Self::Ask(n, Ask::Refresh(asker, token)) => {
                write!(f, "{} presents refresh token {token} at {}", who(asker), name(n))
            }
            Self::Ask(n, Ask::Revoke) => write!(f, "the client revokes at {}", name(n)),
            Self::Repeat(n) => write!(f, "what is in doubt is asked again at {}", name(n)),
            Self::Read(n) => write!(f, "{} reads the row", name(n)),
            Self::Check(n) => write!(f, "{} checks the row's version", name(n)),
            Self::Commit(n, Fate::Delivered) => write!(f, "{} commits", name(n)),
            Self::Commit(n, Fate::Lost) => write!(f, "{} commits, and its answer is lost", name(n)),
            Self::Commit(n, Fate::Stolen) => {
                write!(f, "{} commits, and its answer is stolen", name(n))
            }
            Self::Die(n) => write!(f, "the actor on {} dies", name(n)),
            Self::LoseTrack(n) => write!(f, "{} does not hear what became of its commit", name(n)),
            Self::Rest(n) => write!(f, "the actor on {} rests", name(n)),
            Self::Land => f.write_str("the commit of an actor that is gone lands"),
            Self::Forget => f.write_str("the janitor forgets the row"),
        }
    }
}

/// The time as rules see it.
pub fn time(instant: u8) -> porteiro::domain::Timestamp {
    INSTANTS[usize::from(instant)]
}
