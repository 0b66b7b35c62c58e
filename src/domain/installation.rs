//! The installation as a whole: how often its people were signed out, and what an operator has closed (adr/0140).
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | any | end the sessions of everyone | the number of sign-outs is one more, and everyone's is that | never |
//! | any | number a sign-out | one more; the organization that is signed out keeps the number | never |
//! | open | close registration or sign-up | closed, whatever the configuration says | never |
//! | closed | open it | open: the configuration says whether it is | never |
//!
//! There is one row of this kind, once an operator has used one of these commands. No number ever falls: what a person
//! proves and what they grant names the number that it was given at, and is worth nothing once a later one counts.

use super::{Decision, Machine, Record, Timestamp, epoch::is_first};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, convert::Infallible, ops::Not};

/// The one entity there is of this kind.
pub const INSTALLATION_ID: &str = "installation";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installation {
    /// How often people were signed out, of one organization or of everything.
    #[serde(default, skip_serializing_if = "is_first")]
    sign_outs: u64,
    /// The number of the last sign-out of everyone.
    #[serde(default, skip_serializing_if = "is_first")]
    everyone: u64,
    #[serde(default, skip_serializing_if = "Not::not")]
    registration_closed: bool,
    #[serde(default, skip_serializing_if = "Not::not")]
    sign_up_closed: bool,
}

/// Says that a backup was put back, and how many entities of it ended, by their kinds (adr/0157).
pub fn restored(ended: &BTreeMap<String, u64>, keeps_sessions: bool) -> Record {
    let ended: Map<String, Value> =
        ended.iter().map(|(kind, count)| (kind.clone(), (*count).into())).collect();
    Record::new("installation.restored").with("ended", ended).with("keeps_sessions", keeps_sessions)
}

/// What strangers may do by themselves, where it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelfService {
    /// Clients register themselves (RFC 7591), or are known by a document.
    Registration,
    /// People make accounts.
    SignUp,
}

/// The sign-outs that there have been when something is proved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignOuts {
    /// The number of the last sign-out of everyone: a part of every person's epoch.
    pub everyone: u64,
    /// The number of the last sign-out of all.
    pub last: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Everything that people have proved or granted ends.
    EndAllSessions,
    /// The people of one organization are signed out of it.
    NumberSignOut,
    Close(SelfService),
    /// Gives the word back to the configuration.
    Open(SelfService),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    AllSessionsEnded,
    SignOutNumbered,
    Closed(SelfService),
    Opened(SelfService),
}

/// What became of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The number of the last sign-out.
    pub sign_outs: u64,
    /// It was otherwise before.
    pub changed: bool,
}

impl Installation {
    /// Returns what a proof that is given now notes.
    pub fn sign_outs(&self) -> SignOuts {
        SignOuts { everyone: self.everyone, last: self.sign_outs }
    }

    /// Tells whether an operator has closed it, whatever the configuration says.
    pub fn is_closed(&self, service: SelfService) -> bool {
        match service {
            SelfService::Registration => self.registration_closed,
            SelfService::SignUp => self.sign_up_closed,
        }
    }

    fn set_closed(&mut self, service: SelfService, closed: bool) {
        match service {
            SelfService::Registration => self.registration_closed = closed,
            SelfService::SignUp => self.sign_up_closed = closed,
        }
    }
}

impl SelfService {
    const fn closed(self) -> &'static str {
        match self {
            Self::Registration => "registration.closed",
            Self::SignUp => "sign_up.closed",
        }
    }

    const fn opened(self) -> &'static str {
        match self {
            Self::Registration => "registration.opened",
            Self::SignUp => "sign_up.opened",
        }
    }
}

impl Machine for Installation {
    const KIND: &'static str = "installation";
    type Command = Command;
    type Event = Event;
    type Reply = Reply;
    type Refusal = Infallible;

    fn decide(&self, command: &Command, _now: Timestamp) -> Decision<Self> {
        let (event, record) = match *command {
            Command::EndAllSessions => {
                (Event::AllSessionsEnded, Some("installation.sessions_ended"))
            }
            // The organization says so in its trail.
            Command::NumberSignOut => (Event::SignOutNumbered, None),
            Command::Close(service) if !self.is_closed(service) => {
                (Event::Closed(service), Some(service.closed()))
            }
            Command::Open(service) if self.is_closed(service) => {
                (Event::Opened(service), Some(service.opened()))
            }
            Command::Close(_) | Command::Open(_) => {
                let reply = Reply { sign_outs: self.sign_outs, changed: false };
                return Decision::accept(Vec::new(), reply);
            }
        };
        let mut next = self.clone();
        next.apply(&event);
        let reply = Reply { sign_outs: next.sign_outs, changed: true };
        let decision = Decision::accept(vec![event], reply);
        record.map(Record::new).into_iter().fold(decision, Decision::recording)
    }

    fn apply(&mut self, event: &Event) {
        match *event {
            Event::AllSessionsEnded => {
                self.sign_outs = self.sign_outs.saturating_add(1);
                self.everyone = self.sign_outs;
            }
            Event::SignOutNumbered => self.sign_outs = self.sign_outs.saturating_add(1),
            Event::Closed(service) => self.set_closed(service, true),
            Event::Opened(service) => self.set_closed(service, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn ask(installation: &mut Installation, command: Command) -> (Reply, Vec<&'static str>) {
        let decision = installation.decide(&command, NOW);
        decision.events.iter().for_each(|event| installation.apply(event));
        let Ok(reply) = decision.outcome;
        (reply, decision.effects.records.iter().map(|record| record.event).collect())
    }

    #[test]
    fn every_sign_out_has_a_number_of_its_own_and_that_of_everyone_is_remembered() {
        let mut installation = Installation::default();
        assert_eq!(installation.sign_outs(), SignOuts::default());
        let (reply, records) = ask(&mut installation, Command::NumberSignOut);
        assert_eq!((reply.sign_outs, records), (1, Vec::new()));
        assert_eq!(installation.sign_outs(), SignOuts { everyone: 0, last: 1 });
        let (reply, records) = ask(&mut installation, Command::EndAllSessions);
        assert_eq!((reply.sign_outs, records), (2, vec!["installation.sessions_ended"]));
        ask(&mut installation, Command::NumberSignOut);
        assert_eq!(installation.sign_outs(), SignOuts { everyone: 2, last: 3 });
        let text = serde_json::to_string(&installation).unwrap();
        assert_eq!(serde_json::from_str::<Installation>(&text).unwrap(), installation);
    }

    #[test]
    fn what_is_closed_stays_closed_until_it_is_opened_and_neither_is_written_twice() {
        let all = [SelfService::Registration, SelfService::SignUp];
        for (service, other) in [(all[0], all[1]), (all[1], all[0])] {
            let mut installation = Installation::default();
            assert!(!installation.is_closed(service));
            let (reply, records) = ask(&mut installation, Command::Close(service));
            assert!(reply.changed && installation.is_closed(service));
            assert!(!installation.is_closed(other));
            assert_eq!(records, [service.closed()]);
            let again = ask(&mut installation, Command::Close(service));
            assert_eq!((again.0.changed, again.1.len()), (false, 0));
            ask(&mut installation, Command::EndAllSessions);
            assert!(installation.is_closed(service), "other commands leave it as it is");
            let (reply, records) = ask(&mut installation, Command::Open(service));
            assert!(reply.changed && !installation.is_closed(service));
            assert_eq!(records, [service.opened()]);
            assert!(!ask(&mut installation, Command::Open(service)).0.changed);
        }
    }

    #[test]
    fn an_installation_where_nothing_was_done_is_as_if_there_were_no_row() {
        assert_eq!(serde_json::to_string(&Installation::default()).unwrap(), "{}");
        assert_eq!(Installation::default().live_until(), Timestamp::FOREVER);
    }
}
