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
    Birth, CLOCK_SKEW, Decision, Device, Fingerprint, Listing, Machine, Record, Timestamp,
    assurance::{Evidence, Method},
    grant::Person,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The sessions of an account, the newest first.
pub const SESSIONS: &str = "sessions";

/// The highest rank that has fifteen digits.
const LAST_RANK: i64 = 999_999_999_999_999;

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
    /// Where it began.
    #[serde(default)]
    device: Device,
}

/// A new session and the token that opens it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begin {
    pub person: Person,
    pub token: Fingerprint,
    pub idle: Duration,
    pub ceiling: Duration,
    pub device: Device,
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
        let Begin { person, token, idle, ceiling, device } = begin;
        let (created_at, seen_at) = (now, now);
        Self::Open(Box::new(Open { person, token, created_at, seen_at, idle, ceiling, device }))
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
        Person { account: self.person.account.clone(), evidence }
    }

    /// Lists how the person has proved who they are, as `amr` does.
    pub fn methods(&self) -> Vec<Method> {
        self.person.evidence.methods()
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
    const REVISION: u32 = 2;
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
        // Downwards: a list is read from its start, and people look for what is new.
        let rank = format!("{:015}", LAST_RANK.saturating_sub(open.created_at.millis()).max(0));
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
        let device = Device::default();
        Session::begun(Begin { person, token, idle: 7 * DAY, ceiling: 30 * DAY, device }, NOW)
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
    fn only_its_account_sees_a_session_and_only_while_it_lasts() {
        let mut session = session();
        assert!(session.owned_by("ana", NOW).is_some_and(|open| open.created_at() == NOW));
        assert!(session.owned_by("eve", NOW).is_none());
        assert!(session.owned_by("ana", NOW + 7 * DAY).is_none(), "it has expired");
        assert_eq!(ask(&mut session, &Command::End, NOW), Ok(()));
        assert!(session.owned_by("ana", NOW).is_none(), "it was ended");
    }

    #[test]
    fn an_ended_session_keeps_nothing_of_where_it_began_and_the_newest_is_listed_first() {
        let device =
            Device { user_agent: Some("curl/8".to_owned()), network: Some("::/48".to_owned()) };
        let begun = |now| {
            let (person, token) = (person("ana", now), Fingerprint::of(b"token"));
            let (idle, ceiling, device) = (DAY, DAY, device.clone());
            Session::begun(Begin { person, token, idle, ceiling, device }, now)
        };
        let (mut older, newer) = (begun(NOW), begun(NOW + DAY));
        assert!(newer.listings()[0].rank < older.listings()[0].rank);
        assert!(serde_json::to_string(&older).unwrap().contains("curl/8"));
        assert_eq!(ask(&mut older, &Command::End, NOW), Ok(()));
        assert!(!serde_json::to_string(&older).unwrap().contains("curl/8"));
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
        let device = Device::default();
        let begin = Begin { person, token, idle: 7 * DAY, ceiling: 30 * DAY, device };
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
