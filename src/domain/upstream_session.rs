//! An upstream session: that a provider has said who a person is, until it says that they have signed out there
//! (adr/0135).
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | unborn | (born of a flow) | open | |
//! | open | end | **ended** | |
//!
//! What was proved by it, and every token that rests on that, ends with it. It ends by itself when no session of ours can
//! rest on it any more.

use super::{
    Birth, CLOCK_SKEW, Decision, Listing, Machine, Record, Requirement, Timestamp,
    account::SealedSecret, assurance::SingleSignOn, connection::Connection,
    external_identity::ExternalIdentity,
};
use serde::{Deserialize, Serialize};

/// The open upstream sessions of an external identity.
pub const UPSTREAM_SESSIONS: &str = "upstream_sessions";

/// Those that a provider knows by a name of its own (`sid`).
pub const UPSTREAM_SIDS: &str = "upstream_sids";

/// Names a session of a provider among those of its connection.
pub fn sid_of(connection: &str, sid: &str) -> String {
    format!("{connection} {sid}")
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum UpstreamSession {
    #[default]
    Unborn,
    Open(Box<Open>),
    Ended {
        forget_at: Timestamp,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open {
    pub account: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization: Option<String>,
    pub connection: String,
    /// The id of the external identity.
    pub identity: String,
    /// What the provider calls it, if it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sid: Option<String>,
    /// The ID token, by which the provider knows what the person signs out of; sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<SealedSecret>,
    /// No session of ours that rests on it lives longer.
    pub ends_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// The provider says that the person has signed out.
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("there is no such session that is open")]
    Unknown,
}

impl UpstreamSession {
    /// Describes its birth in the commit of the flow in which the provider said who the person is.
    pub fn birth(id: impl Into<String>, open: Open) -> Birth {
        Birth::of(id, &Self::Open(Box::new(open)))
    }

    pub fn open(&self) -> Option<&Open> {
        match self {
            Self::Open(open) => Some(open),
            Self::Unborn | Self::Ended { .. } => None,
        }
    }
}

impl Machine for UpstreamSession {
    const KIND: &'static str = "upstream_session";
    type Command = Command;
    type Event = Event;
    type Reply = ();
    type Refusal = Refusal;

    fn decide(&self, Command::End: &Command, _now: Timestamp) -> Decision<Self> {
        let Self::Open(open) = self else { return Decision::refuse(Refusal::Unknown) };
        let record = Record::new("upstream_session.ended").with("account", &*open.account);
        let record = record.with("connection", &*open.connection);
        let record = match &open.organization {
            Some(slug) => record.in_organization(&**slug),
            None => record,
        };
        Decision::accept(vec![Event::Ended], ()).recording(record)
    }

    fn apply(&mut self, Event::Ended: &Event) {
        if let Self::Open(open) = self {
            *self = Self::Ended { forget_at: open.ends_at + CLOCK_SKEW };
        }
    }

    fn live_until(&self) -> Timestamp {
        self.open().map_or(Timestamp::NEVER, |open| open.ends_at)
    }

    fn forget_at(&self) -> Option<Timestamp> {
        match self {
            Self::Unborn => None,
            Self::Open(open) => Some(open.ends_at + CLOCK_SKEW),
            Self::Ended { forget_at } => Some(*forget_at),
        }
    }

    fn listings(&self) -> Vec<Listing> {
        let Some(open) = self.open() else { return Vec::new() };
        let rank = format!("{:015}", open.ends_at.millis());
        let by_sid = open
            .sid
            .as_ref()
            .map(|sid| Listing::new(UPSTREAM_SIDS, sid_of(&open.connection, sid), rank.clone()));
        let by_identity = Listing::new(UPSTREAM_SESSIONS, &*open.identity, rank.clone());
        [by_identity].into_iter().chain(by_sid).collect()
    }
}

impl SingleSignOn {
    /// Lists what must be live for it to count, by kind and id.
    pub fn rests_on(&self) -> [(&'static str, &str); 3] {
        [
            (Connection::KIND, &*self.connection),
            (ExternalIdentity::KIND, &*self.identity),
            (UpstreamSession::KIND, &*self.session),
        ]
    }

    /// The same as requirements of a commit.
    pub fn requirements(&self) -> impl Iterator<Item = Requirement> {
        self.rests_on().map(|(kind, id)| Requirement::Live { kind, id: id.to_owned() }).into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    #[test]
    fn it_ends_once_and_for_ever() {
        let open = Open {
            account: "ana".to_owned(),
            organization: Some("acme".to_owned()),
            connection: "c".to_owned(),
            identity: "i".to_owned(),
            sid: Some("s".to_owned()),
            hint: None,
            ends_at: NOW,
        };
        let mut session = UpstreamSession::Open(Box::new(open));
        assert_eq!(session.live_until(), NOW);
        assert_eq!(session.listings().len(), 2);
        let decision = session.decide(&Command::End, NOW);
        assert!(decision.outcome.is_ok());
        assert_eq!(decision.effects.records[0].organization.as_deref(), Some("acme"));
        decision.events.iter().for_each(|event| session.apply(event));
        assert_eq!(session.live_until(), Timestamp::NEVER);
        assert!(session.listings().is_empty());
        assert_eq!(session.decide(&Command::End, NOW).outcome, Err(Refusal::Unknown));
    }
}
