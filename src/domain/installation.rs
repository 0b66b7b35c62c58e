//! The installation as a whole: how often its people were signed out, and what an operator has closed (adr/0140).
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | none | begin | it has a row, which commits can require to be unchanged | never |
//! | any | end the sessions of everyone | the number of sign-outs rises, and everyone's is that | never |
//! | any | number a sign-out | it rises; the organization that is signed out keeps the number | never |
//! | any | end the flows that expire by a moment | they are over, whatever a flow's own row says | never |
//! | open | close registration or sign-up | closed, whatever the configuration says | never |
//! | closed | open it | open: the configuration says whether it is | never |
//!
//! There is one row of this kind, once an operator has used one of these commands. No number ever falls: what a person
//! proves and what they grant names the number that it was given at, and is worth nothing once a later one counts. A number
//! is at least the time in seconds, so that none is given a second time in a store that was put back from a backup.

use super::{Decision, Machine, Record, Timestamp, epoch::is_first};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, convert::Infallible, ops::Not};

/// The one entity there is of this kind.
pub const INSTALLATION_ID: &str = "installation";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installation {
    /// The number of the last sign-out, of one organization or of everything.
    #[serde(default, skip_serializing_if = "is_first")]
    sign_outs: u64,
    /// The number of the last sign-out of everyone.
    #[serde(default, skip_serializing_if = "is_first")]
    everyone: u64,
    /// A flow that expires by then is over: its row may have been lost with the store that a backup replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    flows_over_until: Option<Timestamp>,
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

impl SelfService {
    /// As commands name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Registration => "registration",
            Self::SignUp => "sign-up",
        }
    }
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
    /// Only that it is written down.
    Begin,
    /// Everything that people have proved or granted ends.
    EndAllSessions,
    /// The people of one organization are signed out of it.
    NumberSignOut,
    /// Flows that expire by then end.
    EndFlows(Timestamp),
    Close(SelfService),
    /// Gives the word back to the configuration.
    Open(SelfService),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Begun,
    /// By the number.
    AllSessionsEnded(u64),
    SignOutNumbered(u64),
    FlowsEnded(Timestamp),
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

    /// Tells whether a flow is over by the moment at which it expires.
    pub fn has_ended_flow(&self, expires_at: Timestamp) -> bool {
        self.flows_over_until.is_some_and(|until| expires_at <= until)
    }

    /// Tells whether an operator has closed it, whatever the configuration says.
    pub fn is_closed(&self, service: SelfService) -> bool {
        match service {
            SelfService::Registration => self.registration_closed,
            SelfService::SignUp => self.sign_up_closed,
        }
    }

    fn next_number(&self, now: Timestamp) -> u64 {
        let seconds = u64::try_from(now.millis() / 1000).unwrap_or_default();
        self.sign_outs.saturating_add(1).max(seconds)
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

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        let (event, record) = match *command {
            Command::Begin => (Event::Begun, None),
            Command::EndAllSessions => {
                let number = self.next_number(now);
                (Event::AllSessionsEnded(number), Some("installation.sessions_ended"))
            }
            // The organization says so in its trail.
            Command::NumberSignOut => (Event::SignOutNumbered(self.next_number(now)), None),
            // A restore says so in the log.
            Command::EndFlows(until) => (Event::FlowsEnded(until), None),
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
            Event::Begun => {}
            Event::AllSessionsEnded(number) => (self.sign_outs, self.everyone) = (number, number),
            Event::SignOutNumbered(number) => self.sign_outs = number,
            Event::FlowsEnded(until) => {
                self.flows_over_until = self.flows_over_until.max(Some(until));
            }
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
        let first = 1_800_000_000;
        let (reply, records) = ask(&mut installation, Command::NumberSignOut);
        assert_eq!((reply.sign_outs, records), (first, Vec::new()));
        assert_eq!(installation.sign_outs(), SignOuts { everyone: 0, last: first });
        let (reply, records) = ask(&mut installation, Command::EndAllSessions);
        assert_eq!((reply.sign_outs, records), (first + 1, vec!["installation.sessions_ended"]));
        ask(&mut installation, Command::NumberSignOut);
        assert_eq!(installation.sign_outs(), SignOuts { everyone: first + 1, last: first + 2 });
        let text = serde_json::to_string(&installation).unwrap();
        assert_eq!(serde_json::from_str::<Installation>(&text).unwrap(), installation);
    }

    #[test]
    fn a_number_is_not_given_again_where_a_store_was_put_back() {
        let (mut installation, mut lost) = (Installation::default(), Installation::default());
        for now in [NOW, NOW, NOW] {
            let event = lost.decide(&Command::EndAllSessions, now).events.remove(0);
            lost.apply(&event);
        }
        let later = Timestamp::from_millis(NOW.millis() + 60_000);
        let event = installation.decide(&Command::EndAllSessions, later).events.remove(0);
        installation.apply(&event);
        assert!(installation.sign_outs().everyone > lost.sign_outs().last);
    }

    #[test]
    fn flows_that_expire_by_a_moment_are_over_and_later_ones_are_not() {
        let after = |millis: i64| Timestamp::from_millis(NOW.millis() + millis);
        let mut installation = Installation::default();
        assert!(!installation.has_ended_flow(NOW));
        for until in [after(10), after(5)] {
            assert_eq!(ask(&mut installation, Command::EndFlows(until)).1, Vec::<&str>::new());
        }
        assert!(installation.has_ended_flow(NOW) && installation.has_ended_flow(after(10)));
        assert!(!installation.has_ended_flow(after(11)));
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
