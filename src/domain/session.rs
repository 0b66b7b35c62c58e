//! A session: a person signed in at one browser or program.
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | unborn | (born of a flow) | open | |
//! | open | touch | open; seen now, written down once in a while | it has expired |
//! | open | renew | open, with a new token and new evidence | it has expired; another account |
//! | open | end | ended | |
//! | ended | anything | ended | always, except to end it again |
//!
//! It expires when it was not used for as long as `idle`, and at its ceiling whatever happens. Use is
//! written down at most once in a hundredth of `idle`, five minutes at the longest; a session may
//! therefore expire that much early, and never late.

use super::{
    Birth, CLOCK_SKEW, Decision, Fingerprint, Listing, Machine, Record, Timestamp,
    assurance::Evidence, grant::Person,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The sessions of an account.
pub const SESSIONS: &str = "sessions";

/// How long use may go unwritten.
const LONGEST_GRAIN: Duration = Duration::from_mins(5);

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
}

/// A new session and the token that opens it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begin {
    pub person: Person,
    pub token: Fingerprint,
    pub idle: Duration,
    pub ceiling: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Touch,
    /// The person proved again who they are: a change of privilege changes the token.
    Renew {
        person: Person,
        token: Fingerprint,
    },
    End,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Seen { at: Timestamp },
    Renewed { token: Fingerprint, evidence: Evidence, at: Timestamp },
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
}

impl Session {
    /// Describes the birth of a session in the commit of the flow that leads to it.
    pub fn birth(id: impl Into<String>, begin: Begin, now: Timestamp) -> Birth {
        Birth::of(id, &Self::begun(begin, now))
    }

    fn begun(begin: Begin, now: Timestamp) -> Self {
        let Begin { person, token, idle, ceiling } = begin;
        let (created_at, seen_at) = (now, now);
        Self::Open(Box::new(Open { person, token, created_at, seen_at, idle, ceiling }))
    }

    /// Returns the session, if `token` opens it now.
    pub fn opened_by(&self, token: Fingerprint, now: Timestamp) -> Option<&Open> {
        match self {
            Self::Open(open) if open.token == token && now < open.over_at() => Some(open),
            _ => None,
        }
    }
}

impl Open {
    /// Returns the person, with what their evidence is worth now.
    pub fn person_at(&self, now: Timestamp) -> Person {
        let evidence = self.person.evidence.after_use(self.seen_at, now);
        Person { account: self.person.account.clone(), evidence }
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
    type Command = Command;
    type Event = Event;
    type Reply = ();
    type Refusal = Refusal;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        let open = match (self, command) {
            (Self::Unborn, _) => return Decision::refuse(Refusal::Unknown),
            (Self::Ended { .. }, Command::End) => return Decision::accept(Vec::new(), ()),
            (Self::Ended { .. }, _) => return Decision::refuse(Refusal::Over),
            (Self::Open(open), Command::Touch | Command::Renew { .. }) if now >= open.over_at() => {
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
            Command::Renew { person, token } => {
                let evidence = person.evidence.clone();
                let renewed = Event::Renewed { token: *token, evidence, at: now };
                Decision::accept(vec![renewed], ()).recording(record("session.renewed"))
            }
            Command::End => {
                Decision::accept(vec![Event::Ended], ()).recording(record("session.ended"))
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
        let rank = format!("{:015}", open.created_at.millis());
        vec![Listing::new(SESSIONS, &*open.person.account, rank)]
    }

    /// A commit that relies on a session requires its row to be live.
    fn tolerates_stale(command: &Command) -> bool {
        matches!(command, Command::Touch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::assurance::{Level, Worth};

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
    const DAY: Duration = Duration::from_hours(24);

    fn person(account: &str, at: Timestamp) -> Person {
        Person { account: account.to_owned(), evidence: Evidence::of(Worth::PASSWORD.given(at)) }
    }

    fn session() -> Session {
        let (person, token) = (person("ana", NOW), Fingerprint::of(b"token"));
        Session::begun(Begin { person, token, idle: 7 * DAY, ceiling: 30 * DAY }, NOW)
    }

    fn ask(session: &mut Session, command: &Command, now: Timestamp) -> Result<(), Refusal> {
        let decision = session.decide(command, now);
        for event in &decision.events {
            session.apply(event);
        }
        decision.outcome
    }

    #[test]
    fn a_session_slides_with_use_up_to_its_ceiling() {
        let mut session = session();
        assert_eq!(session.live_until(), NOW + 7 * DAY);
        for day in 1..30 {
            assert_eq!(ask(&mut session, &Command::Touch, NOW + day * DAY), Ok(()), "day {day}");
        }
        assert_eq!(session.live_until(), NOW + 30 * DAY, "regardless of activity");
        assert_eq!(ask(&mut session, &Command::Touch, NOW + 30 * DAY), Err(Refusal::Over));
        assert!(session.opened_by(Fingerprint::of(b"token"), NOW + 30 * DAY).is_none());
    }

    #[test]
    fn a_session_unused_for_its_idle_time_is_over() {
        let mut session = session();
        assert!(session.opened_by(Fingerprint::of(b"token"), NOW + 7 * DAY - DAY / 2).is_some());
        assert_eq!(ask(&mut session, &Command::Touch, NOW + 7 * DAY), Err(Refusal::Over));
    }

    #[test]
    fn use_is_written_down_once_in_a_while() {
        let session = session();
        let soon = session.decide(&Command::Touch, NOW + Duration::from_mins(4));
        assert!(soon.events.is_empty() && soon.outcome.is_ok());
        let later = session.decide(&Command::Touch, NOW + Duration::from_mins(5));
        assert_eq!(later.events, [Event::Seen { at: NOW + Duration::from_mins(5) }]);
    }

    #[test]
    fn only_its_token_opens_a_session_and_a_renewal_changes_it() {
        let mut session = session();
        assert!(session.opened_by(Fingerprint::of(b"other"), NOW).is_none());
        let (later, token) = (NOW + DAY, Fingerprint::of(b"new"));
        let renew = Command::Renew { person: person("ana", later), token };
        assert_eq!(ask(&mut session, &renew, later), Ok(()));
        assert!(session.opened_by(Fingerprint::of(b"token"), later).is_none());
        let open = session.opened_by(token, later).unwrap();
        assert_eq!(open.person_at(later).evidence.last(), Some(later));
        let foreign = Command::Renew { person: person("eve", later), token };
        assert_eq!(ask(&mut session, &foreign, later), Err(Refusal::OtherAccount));
    }

    #[test]
    fn an_ended_session_confers_nothing_and_stays_ended() {
        let mut session = session();
        assert_eq!(ask(&mut session, &Command::End, NOW), Ok(()));
        assert_eq!(session.live_until(), Timestamp::NEVER);
        assert_eq!(ask(&mut session, &Command::Touch, NOW), Err(Refusal::Over));
        assert_eq!(ask(&mut session, &Command::End, NOW), Ok(()));
        assert!(session.opened_by(Fingerprint::of(b"token"), NOW).is_none());
    }

    #[test]
    fn two_factors_count_as_one_after_an_hour_without_use() {
        let mut person = person("ana", NOW);
        person.evidence = person.evidence.and(Worth::TOTP.given(NOW));
        let token = Fingerprint::of(b"token");
        let begin = Begin { person, token, idle: 7 * DAY, ceiling: 30 * DAY };
        let mut session = Session::begun(begin, NOW);
        let level = |session: &Session, now| {
            session.opened_by(token, now).unwrap().person_at(now).evidence.level(now)
        };
        let hour = Duration::from_hours(1);
        let used = NOW + hour / 2;
        assert_eq!(ask(&mut session, &Command::Touch, used), Ok(()));
        assert_eq!(level(&session, used + hour / 2), Some(Level::Aal2));
        assert_eq!(level(&session, used + hour), Some(Level::Aal1));
        assert_eq!(ask(&mut session, &Command::Touch, used + hour), Ok(()));
        assert_eq!(level(&session, used + hour), Some(Level::Aal1), "use does not bring it back");
    }
}
