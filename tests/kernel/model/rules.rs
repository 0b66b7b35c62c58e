//! The rules under the model: the very machine that production runs, and bugs planted around it.
//!
//! `decide` is pure, so each state, request and instant is put to the real machine once and
//! remembered; a family is kept as a number that stands for the JSON the store would hold.

use super::scene::{self, Ask, INSTANTS, Limit, Request, Token};
use porteiro::domain::{
    Decision, Machine as _, Requirement, Timestamp,
    session::{self, Session},
    token_family::{Command, Refusal, Reply, TokenFamily},
};
use std::{collections::HashMap, rc::Rc};

/// A mistake that could be made, for the checker to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    ReplayOnlyRefused,
    FormerTokenAccepted,
    AnsweredBeforeCommit,
    LastWriterWins,
    MemoryKeptAfterUnknown,
    SessionNotRequired,
    RefusedFromMemory,
    SpentInMemoryOnly,
    ExpiryIgnored,
    LimitsIgnored,
    FactsNotRequired,
    RepeatNotKnown,
}

/// A state of the family, as the store keeps it.
pub type Stored = u16;

/// What the machine said, and what is to be committed.
pub struct Verdict {
    /// The state to commit; nothing where the answer writes nothing.
    pub next: Option<Stored>,
    pub requirements: Vec<Requirement>,
    pub outcome: Result<Reply, Refusal>,
    /// Whether what is issued lies within the grant and the limits read, by the model's own reckoning.
    pub covered: bool,
}

/// What is read off a stored state.
#[derive(Clone, Copy)]
pub struct Look {
    pub live_until: Timestamp,
    pub forget_at: Timestamp,
    /// The refresh token that is good.
    pub present: Option<Token>,
    /// It has ended, or is not there.
    pub over: bool,
}

pub struct Rules {
    pub bug: Option<Bug>,
    pub offline: bool,
    families: Vec<(TokenFamily, Look)>,
    numbers: HashMap<String, Stored>,
    verdicts: HashMap<(Stored, Request, u8), Rc<Verdict>>,
    /// The end of the session's life while it is open, and when it has ended.
    sessions: [Timestamp; 2],
}

impl Rules {
    pub fn new(offline: bool, bug: Option<Bug>) -> Self {
        let mut session: Session = serde_json::from_str(&scene::session().state).unwrap();
        let open = session.live_until();
        for event in &session.decide(&session::Command::End, INSTANTS[0]).events {
            session.apply(event);
        }
        let sessions = [open, session.live_until()];
        let (families, numbers, verdicts) = Default::default();
        Self { bug, offline, families, numbers, verdicts, sessions }
    }

    pub fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// Returns the family that has no row.
    pub fn unborn(&mut self) -> Stored {
        self.store(&TokenFamily::default())
    }

    /// Returns the family whose code has just been sent.
    pub fn begun(&mut self) -> Stored {
        let mut family = TokenFamily::default();
        let begin = Command::Begin(Box::new(scene::begin(self.offline)));
        for event in &family.decide(&begin, INSTANTS[0]).events {
            family.apply(event);
        }
        self.store(&family)
    }

    pub fn look(&self, stored: Stored) -> Look {
        self.families[usize::from(stored)].1
    }

    pub fn session_until(&self, ended: bool) -> Timestamp {
        self.sessions[usize::from(ended)]
    }

    /// Puts a request to the machine, as of an instant.
    pub fn decide(&mut self, stored: Stored, request: Request, at: u8) -> Rc<Verdict> {
        if let Some(known) = self.verdicts.get(&(stored, request, at)) {
            return Rc::clone(known);
        }
        let family = self.families[usize::from(stored)].0.clone();
        let Decision { events, effects, commands, outcome } = self.rule(&family, request, at);
        assert!(commands.is_empty(), "the shell of this model carries out no commands");
        let writes = !(events.is_empty() && effects.write_nothing());
        let next = writes.then(|| {
            let mut next = family.clone();
            for event in &events {
                next.apply(event);
            }
            self.store(&next)
        });
        let covered = match &outcome {
            Ok(Reply::Issue(issue)) => {
                let held = scene::held(request.limit);
                let mut scopes = issue.granted.scopes().iter();
                scopes.all(|one| issue.grant.scopes.contains(one) && held.contains(&one))
            }
            _ => true,
        };
        let requirements = effects.requirements;
        let verdict = Rc::new(Verdict { next, requirements, outcome, covered });
        self.verdicts.insert((stored, request, at), Rc::clone(&verdict));
        verdict
    }

    /// Tells whether a refusal may rest on memory.
    pub fn tolerates_stale(&self, request: Request) -> bool {
        self.has(Bug::RefusedFromMemory)
            || TokenFamily::tolerates_stale(&scene::command(request, request.presented()))
    }

    /// The decision of the real machine, changed by the planted bug if it is one of the rules.
    fn rule(&self, family: &TokenFamily, request: Request, at: u8) -> Decision<TokenFamily> {
        let now = INSTANTS[usize::from(at)];
        let command = scene::command(request, request.presented());
        let decision = family.decide(&command, now);
        let without = |mut decision: Decision<TokenFamily>, kind: &str| {
            decision.effects.requirements.retain(|fact| fact.kind() != kind);
            decision
        };
        match (self.bug, &decision.outcome) {
            (Some(Bug::ReplayOnlyRefused), Err(Refusal::Replayed)) => {
                Decision::refuse(Refusal::Replayed)
            }
            (Some(Bug::FormerTokenAccepted), Err(Refusal::Reused)) => {
                family.decide(&scene::command(request, scene::present(family)), now)
            }
            (Some(Bug::ExpiryIgnored), Err(Refusal::Expired)) => {
                family.decide(&command, INSTANTS[0])
            }
            (Some(Bug::LimitsIgnored), Err(Refusal::Widening(_))) => {
                let unlimited = Request { limit: Limit::Full, ..request };
                let command = scene::command(unlimited, request.presented());
                without(family.decide(&command, now), scene::MEMBERSHIP)
                    .requiring(scene::membership(request.limit))
            }
            (Some(Bug::RepeatNotKnown), Ok(Reply::Issue(_))) if decision.events.is_empty() => {
                let unlike = Request { number: scene::MOST_REQUESTS - 1, ..request };
                family.decide(&scene::command(unlike, request.presented()), now)
            }
            (Some(Bug::SessionNotRequired), Ok(_)) => without(decision, Session::KIND),
            (Some(Bug::FactsNotRequired), Ok(_)) => without(decision, scene::MEMBERSHIP),
            _ => decision,
        }
    }

    /// Keeps a state as the store does: what is read back must be what was written.
    fn store(&mut self, family: &TokenFamily) -> Stored {
        let json = serde_json::to_string(family).unwrap();
        if let Some(known) = self.numbers.get(&json) {
            return *known;
        }
        let read: TokenFamily = serde_json::from_str(&json).unwrap();
        assert_eq!(&read, family, "a family is stored whole");
        let look = Look {
            live_until: read.live_until(),
            forget_at: read.forget_at().unwrap_or(Timestamp::FOREVER),
            present: scene::present(&read),
            over: matches!(read, TokenFamily::Ended { .. } | TokenFamily::Unborn),
        };
        let number = Stored::try_from(self.families.len()).unwrap();
        self.families.push((read, look));
        self.numbers.insert(json, number);
        number
    }
}

impl Verdict {
    pub fn issues(&self) -> bool {
        matches!(self.outcome, Ok(Reply::Issue(_)))
    }

    /// Tells whether it says that what was presented is spent.
    pub fn accuses(&self) -> bool {
        matches!(self.outcome, Err(Refusal::Replayed | Refusal::Reused))
    }
}

impl Request {
    fn presented(self) -> Option<Token> {
        match self.ask {
            Ask::Refresh(_, token) => Some(token),
            Ask::Redeem(_) | Ask::Revoke => None,
        }
    }
}
