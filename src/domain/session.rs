//! A session: a person signed in at one browser or program.
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | unborn | (born of a flow) | open | |
//! | open | touch | open; seen now, written down once in a while | it has expired |
//! | open | renew | open, with a new token and new evidence | it has expired; another account |
//! | open | sign into | open; the client is told when it ends | it has expired |
//! | open | end | ended; a message for each client that is told | |
//! | ended | anything | ended | always, except to end it again |
//!
//! It expires when it was not used for as long as `idle`, and at its ceiling whatever happens. Use is
//! written down at most once in a hundredth of `idle`, five minutes at the longest; a session may
//! therefore expire that much early, and never late.
//!
//! Clients with a back-channel are told in the commit that ends a session. One that expires has no such
//! commit, and no client hears of it: their own sessions have times of their own (adr/0066).

mod rank;

pub use rank::SessionRank;

use super::{
    Birth, CLOCK_SKEW, Decision, Device, Fingerprint, Listing, Machine, Record, Timestamp,
    assurance::{Evidence, Method},
    logout::SessionEnded,
    person::Person,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The sessions of an account, the last used first, as far as use was written down. After those in which the account itself
/// proved something come those of each organization's provider: see [`SessionRank`].
pub const SESSIONS: &str = "sessions";

/// So many live sessions of an account are kept; beyond that the longest unused ends. Those that rest on one organization's
/// provider alone are counted apart: it ends no others by them.
pub const MOST_SESSIONS: u32 = 1_000;

/// How long use may go unwritten.
const LONGEST_GRAIN: Duration = Duration::from_mins(5);

/// How many clients are told of the end of one session; beyond that, the first ones are forgotten.
const MOST_TOLD: usize = 100;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Session {
    #[default]
    Unborn,
    Open(Box<Open>),
    Ended {
        account: String,
        forget_at: Timestamp,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open {
    person: Person,
    /// Of the token its holder presents.
    token: Fingerprint,
    created_at: Timestamp,
    seen_at: Timestamp,
    idle: Duration,
    ceiling: Duration,
    /// Where it began.
    #[serde(default)]
    device: Device,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    told: Option<Box<SessionClients>>,
}

/// The clients of a session: they are told when it ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionClients {
    /// The id of the session, which clients know as `sid`.
    session: String,
    /// Their ids, in the order in which the person signed into them.
    clients: Vec<String>,
}

impl SessionClients {
    /// The first client of a session.
    pub fn first(session: impl Into<String>, client_id: impl Into<String>) -> Self {
        Self { session: session.into(), clients: vec![client_id.into()] }
    }
}

/// A new session and the token that opens it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begin {
    pub person: Person,
    pub token: Fingerprint,
    pub idle: Duration,
    pub ceiling: Duration,
    pub device: Device,
    /// The client that the person signs into with it, if that is told when it ends.
    pub told: Option<SessionClients>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Touch,
    /// The person proved again who they are: a change of privilege changes the token.
    Renew {
        person: Person,
        token: Fingerprint,
        /// The token of the caller who renews it, who may be late: another request may have renewed it.
        former: Option<Fingerprint>,
    },
    /// The person signed into a client that is told when the session ends.
    SignInto {
        /// The id of this very session.
        session: String,
        client_id: String,
    },
    End,
    /// The account has more sessions than are kept, and this is the longest unused.
    MakeRoom,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Seen { at: Timestamp },
    Renewed { token: Fingerprint, evidence: Evidence, at: Timestamp },
    SignedInto { session: String, client_id: String },
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("there is no such session")]
    Unknown,
    #[error("it has expired or was ended")]
    Over,
    #[error("it is the session of another account")]
    OtherAccount,
    #[error("it has another token by now")]
    OtherToken,
}

impl Session {
    /// Describes the birth of a session in the commit of the flow that leads to it.
    pub fn birth(id: impl Into<String>, begin: Begin, now: Timestamp) -> Birth {
        Birth::of(id, &Self::begun(begin, now))
    }

    fn begun(begin: Begin, now: Timestamp) -> Self {
        let Begin { person, token, idle, ceiling, device, told } = begin;
        let (created_at, seen_at, told) = (now, now, told.map(Box::new));
        let open = Open { person, token, created_at, seen_at, idle, ceiling, device, told };
        Self::Open(Box::new(open))
    }

    /// Returns the session, if `token` opens it now.
    pub fn opened_by(&self, token: Fingerprint, now: Timestamp) -> Option<&Open> {
        match self {
            Self::Open(open) if open.token == token && now < open.over_at() => Some(open),
            _ => None,
        }
    }

    /// Returns the session, if it is one of this account and not over: its owner may look at it and
    /// end it without its token.
    pub fn owned_by(&self, account: &str, now: Timestamp) -> Option<&Open> {
        match self {
            Self::Open(open) if open.person.account == account && now < open.over_at() => {
                Some(open)
            }
            _ => None,
        }
    }
}

impl Open {
    /// Returns the person, with what their evidence is worth now.
    pub fn person_at(&self, now: Timestamp) -> Person {
        let evidence = self.person.evidence.after_use(self.seen_at, now);
        Person { evidence, ..self.person.clone() }
    }

    /// Lists how the person has proved who they are, as `amr` does.
    pub fn methods(&self) -> Vec<Method> {
        self.person.evidence.methods()
    }

    /// Returns the organization on whose provider alone it rests.
    pub fn only_for(&self) -> Option<&str> {
        self.person.evidence.second_factor_only_for()
    }

    /// Returns the epoch of the person in which it began.
    pub fn epoch(&self) -> u64 {
        self.person.epoch
    }

    pub fn created_at(&self) -> Timestamp {
        self.created_at
    }

    /// Returns when it was last used, as far as that was written down.
    pub fn seen_at(&self) -> Timestamp {
        self.seen_at
    }

    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Lists the clients that are told when it ends.
    pub fn told(&self) -> &[String] {
        self.told.as_ref().map_or(&[], |told| &told.clients)
    }

    /// Tells whether this client is told when it ends.
    pub fn tells(&self, client_id: &str) -> bool {
        self.told().iter().any(|one| one == client_id)
    }

    fn sign_into(&mut self, session: &str, client_id: &str) {
        match &mut self.told {
            None => self.told = Some(Box::new(SessionClients::first(session, client_id))),
            Some(told) => {
                if told.clients.len() == MOST_TOLD {
                    told.clients.remove(0);
                }
                told.clients.push(client_id.to_owned());
            }
        }
    }

    /// Returns what the clients are told when it ends.
    pub fn logout_messages(&self) -> impl Iterator<Item = SessionEnded> {
        self.told.iter().flat_map(move |told| {
            told.clients.iter().map(move |client_id| SessionEnded {
                client_id: client_id.clone(),
                account: self.person.account.clone(),
                session: told.session.clone(),
            })
        })
    }

    /// Ends it, and leaves a message for each client that is told.
    fn end(&self, now: Timestamp) -> Decision<Session> {
        let decision = Decision::accept(vec![Event::Ended], ());
        self.logout_messages()
            .fold(decision, |decision, one| decision.dispatching(one.dispatch(now)))
    }

    /// Returns what is proved in it from now on. What an organization's provider alone has said comes beside what the account
    /// itself has proved, and never in its place (adr/0148).
    fn renewed_by(&self, evidence: &Evidence, now: Timestamp) -> Evidence {
        if evidence.is_only_scoped() {
            self.person_at(now).evidence.with_scoped_of(evidence)
        } else {
            evidence.clone()
        }
    }

    /// Tells whether its use should be written down.
    pub fn is_due(&self, now: Timestamp) -> bool {
        now.since(self.seen_at) >= (self.idle / 100).min(LONGEST_GRAIN)
    }

    fn over_at(&self) -> Timestamp {
        (self.seen_at + self.idle).min(self.created_at + self.ceiling)
    }
}

impl Machine for Session {
    const KIND: &'static str = "session";
    /// 3: it knows which clients are told when it ends. 4: by which authenticators it was proved. 5: single sign-on.
    /// 6: after how many sign-outs it was proved. 7: when a provider says that it was proved there.
    const REVISION: u32 = 7;
    type Command = Command;
    type Event = Event;
    type Reply = ();
    type Refusal = Refusal;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        let open = match (self, command) {
            (Self::Unborn, _) => return Decision::refuse(Refusal::Unknown),
            (Self::Ended { .. }, Command::End | Command::MakeRoom) => {
                return Decision::accept(Vec::new(), ());
            }
            (Self::Ended { .. }, _) => return Decision::refuse(Refusal::Over),
            (Self::Open(open), Command::End | Command::MakeRoom) => open,
            (Self::Open(open), _) if now >= open.over_at() => {
                return Decision::refuse(Refusal::Over);
            }
            (Self::Open(open), _) => open,
        };
        let record = |event| Record::new(event).with("account", open.person.account.as_str());
        match command {
            Command::Touch if open.is_due(now) => {
                Decision::accept(vec![Event::Seen { at: now }], ())
            }
            Command::Touch => Decision::accept(Vec::new(), ()),
            Command::Renew { person, .. } if person.account != open.person.account => {
                Decision::refuse(Refusal::OtherAccount)
            }
            Command::Renew { former: Some(former), .. } if *former != open.token => {
                Decision::refuse(Refusal::OtherToken)
            }
            Command::Renew { person, token, .. } => {
                let evidence = open.renewed_by(&person.evidence, now);
                let renewed = Event::Renewed { token: *token, evidence, at: now };
                Decision::accept(vec![renewed], ()).recording(record("session.renewed"))
            }
            Command::SignInto { client_id, .. } if open.tells(client_id) => {
                Decision::accept(Vec::new(), ())
            }
            Command::SignInto { session, client_id } => {
                let (session, client_id) = (session.clone(), client_id.clone());
                Decision::accept(vec![Event::SignedInto { session, client_id }], ())
            }
            Command::End => open.end(now).recording(record("session.ended")),
            Command::MakeRoom => {
                open.end(now).recording(record("session.ended").with("because", "too_many"))
            }
        }
    }

    fn apply(&mut self, event: &Event) {
        let Self::Open(open) = self else { return };
        match event {
            Event::Seen { at } => {
                open.person.evidence = open.person.evidence.after_use(open.seen_at, *at);
                open.seen_at = *at;
            }
            Event::Renewed { token, evidence, at } => {
                (open.token, open.seen_at) = (*token, *at);
                open.person.evidence = evidence.clone();
            }
            Event::SignedInto { session, client_id } => open.sign_into(session, client_id),
            Event::Ended => {
                let (account, forget_at) =
                    (open.person.account.clone(), open.over_at() + CLOCK_SKEW);
                *self = Self::Ended { account, forget_at };
            }
        }
    }

    fn live_until(&self) -> Timestamp {
        match self {
            Self::Open(open) => open.over_at(),
            Self::Unborn | Self::Ended { .. } => Timestamp::NEVER,
        }
    }

    fn forget_at(&self) -> Option<Timestamp> {
        match self {
            Self::Unborn => None,
            Self::Open(open) => Some(open.over_at() + CLOCK_SKEW),
            Self::Ended { forget_at, .. } => Some(*forget_at),
        }
    }

    fn listings(&self) -> Vec<Listing> {
        let Self::Open(open) = self else { return Vec::new() };
        let rank = SessionRank::of(&open.person.evidence).used_at(open.seen_at);
        vec![Listing::new(SESSIONS, &*open.person.account, rank)]
    }

    /// A commit that relies on a session requires its row to be live.
    fn tolerates_stale(command: &Command) -> bool {
        matches!(command, Command::Touch)
    }
}

#[cfg(test)]
mod tests;
