//! A trial of a connection: a sign-in that signs in no person, each of its messages, and what it would have become
//! (contract §7). A connection has one, the last.
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | unborn, pending, complete | begin | pending | |
//! | pending | complete | **complete** | another trial waits; it was begun too long ago |
//!
//! The provider's answer is taken from the session that began the trial, and from no other.

use super::{Decision, Fingerprint, Machine, Record, Timestamp, account::SealedSecret};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// For so long the provider's answer is waited for.
pub const LONGEST_TRIAL: Duration = Duration::from_mins(10);

/// For so long a trial is shown: it names a person.
const KEPT: Duration = Duration::from_hours(7 * 24);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConnectionTrial {
    #[default]
    Unborn,
    Pending(Box<Pending>),
    Complete(Box<Report>),
}

/// A trial that waits for the provider's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    pub id: String,
    /// The slug.
    pub organization: String,
    /// The session that began it.
    pub session: String,
    /// Of the `state` that the answer must have.
    pub state: Fingerprint,
    /// What the answer is compared with, sealed.
    pub attempt: SealedSecret,
    pub begun_at: Timestamp,
    /// Without codes, tokens and secrets.
    pub messages: Vec<Value>,
}

/// A trial that is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    pub id: String,
    pub organization: String,
    pub begun_at: Timestamp,
    pub completed_at: Timestamp,
    pub messages: Vec<Value>,
    pub outcome: Outcome,
}

/// What a trial would have become.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// `signed_in`, `account_created`, or the code of the refusal.
    pub result: String,
    /// Why, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The address that the provider asserts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// What the sign-in would have been worth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acr: Option<String>,
    /// The roles that the claims map to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Begin(Box<Pending>),
    /// Ends the trial with this id.
    Complete {
        id: String,
        messages: Vec<Value>,
        outcome: Outcome,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Begun(Box<Pending>),
    Completed(Box<Report>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("no such trial waits for an answer")]
    NotPending,
}

impl ConnectionTrial {
    /// Returns the trial that waits for an answer now.
    pub fn pending(&self, now: Timestamp) -> Option<&Pending> {
        match self {
            Self::Pending(pending) if now < pending.begun_at + LONGEST_TRIAL => Some(pending),
            Self::Unborn | Self::Pending(_) | Self::Complete(_) => None,
        }
    }
}

impl Machine for ConnectionTrial {
    const KIND: &'static str = "connection_trial";
    type Command = Command;
    type Event = Event;
    type Reply = ();
    type Refusal = Refusal;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        match command {
            Command::Begin(pending) => {
                let record = Record::new("connection.trial_begun");
                let record = record.in_organization(&*pending.organization);
                Decision::accept(vec![Event::Begun(pending.clone())], ()).recording(record)
            }
            Command::Complete { id, messages, outcome } => {
                let Some(pending) = self.pending(now).filter(|pending| pending.id == *id) else {
                    return Decision::refuse(Refusal::NotPending);
                };
                let report = Report {
                    id: id.clone(),
                    organization: pending.organization.clone(),
                    begun_at: pending.begun_at,
                    completed_at: now,
                    messages: pending.messages.iter().chain(messages).cloned().collect(),
                    outcome: outcome.clone(),
                };
                let record = Record::new("connection.trial_completed");
                let record = record.with("result", &*outcome.result);
                let record = record.in_organization(&*pending.organization);
                Decision::accept(vec![Event::Completed(Box::new(report))], ()).recording(record)
            }
        }
    }

    fn apply(&mut self, event: &Event) {
        *self = match event {
            Event::Begun(pending) => Self::Pending(pending.clone()),
            Event::Completed(report) => Self::Complete(report.clone()),
        };
    }

    fn live_until(&self) -> Timestamp {
        self.forget_at().unwrap_or(Timestamp::NEVER)
    }

    fn forget_at(&self) -> Option<Timestamp> {
        match self {
            Self::Unborn => None,
            Self::Pending(pending) => Some(pending.begun_at + KEPT),
            Self::Complete(report) => Some(report.completed_at + KEPT),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn pending(id: &str) -> Box<Pending> {
        Box::new(Pending {
            id: id.to_owned(),
            organization: "acme".to_owned(),
            session: "s".to_owned(),
            state: Fingerprint::of(b"state"),
            attempt: SealedSecret::new("sealed"),
            begun_at: NOW,
            messages: vec!["asked".into()],
        })
    }

    fn decide(
        trial: &mut ConnectionTrial,
        command: &Command,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let decision = trial.decide(command, now);
        decision.events.iter().for_each(|event| trial.apply(event));
        let text = serde_json::to_string(trial).unwrap();
        assert_eq!(serde_json::from_str::<ConnectionTrial>(&text).unwrap(), *trial);
        decision.outcome
    }

    fn complete(id: &str) -> Command {
        let outcome = Outcome { result: "signed_in".to_owned(), ..Outcome::default() };
        Command::Complete { id: id.to_owned(), messages: vec!["answered".into()], outcome }
    }

    #[test]
    fn an_answer_is_taken_once_in_time_and_by_the_last_trial() {
        let mut trial = ConnectionTrial::default();
        assert_eq!(decide(&mut trial, &complete("a"), NOW), Err(Refusal::NotPending));
        decide(&mut trial, &Command::Begin(pending("a")), NOW).unwrap();
        decide(&mut trial, &Command::Begin(pending("b")), NOW).unwrap();
        assert_eq!(decide(&mut trial, &complete("a"), NOW), Err(Refusal::NotPending));
        let late = NOW + LONGEST_TRIAL;
        assert_eq!(decide(&mut trial, &complete("b"), late), Err(Refusal::NotPending));
        decide(&mut trial, &complete("b"), NOW).unwrap();
        let ConnectionTrial::Complete(report) = &trial else { panic!("{trial:?}") };
        assert_eq!(report.messages, ["asked", "answered"]);
        assert_eq!(decide(&mut trial, &complete("b"), NOW), Err(Refusal::NotPending));
        assert_eq!(trial.forget_at(), Some(NOW + KEPT));
    }
}
