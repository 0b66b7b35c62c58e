//! An access token: what it says (RFC 9068), and whether it was taken back before its time.
//!
//! Nothing is stored when one is issued: what it rests on is in it. Only a token that is revoked gets
//! a row, found by its `jti`, which is forgotten once the token would have expired anyway.
//!
//! | state | command | next |
//! |---|---|---|
//! | unseen | revoke | revoked, and it is recorded |
//! | revoked | revoke | revoked, nothing changes |

mod claims;

pub use claims::{Claims, Mint};

use super::{CLOCK_SKEW, Decision, Machine, Record, Timestamp};
use serde::{Deserialize, Serialize};

/// What its header says that it is (RFC 9068 §2.1).
pub const TYPE: &str = "at+jwt";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccessToken {
    /// Issued or not: nothing is known of it.
    #[default]
    Unseen,
    Revoked {
        expires_at: Timestamp,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Revoke { expires_at: Timestamp, client_id: String, organization: Option<String> },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Revoked { expires_at: Timestamp },
}

/// Nothing is refused: the handler has seen that the client may ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {}

impl Machine for AccessToken {
    const KIND: &'static str = "access_token";
    type Command = Command;
    type Event = Event;
    type Reply = ();
    type Refusal = Refusal;

    fn decide(&self, command: &Command, _now: Timestamp) -> Decision<Self> {
        let Command::Revoke { expires_at, client_id, organization } = command;
        match self {
            Self::Revoked { .. } => Decision::accept(Vec::new(), ()),
            Self::Unseen => {
                let mut record =
                    Record::new("access_token.revoked").with("client_id", client_id.as_str());
                if let Some(organization) = organization {
                    record = record.in_organization(organization);
                }
                let revoked = Event::Revoked { expires_at: *expires_at };
                Decision::accept(vec![revoked], ()).recording(record)
            }
        }
    }

    fn apply(&mut self, event: &Event) {
        let Event::Revoked { expires_at } = event;
        *self = Self::Revoked { expires_at: *expires_at };
    }

    /// A row says that it was revoked.
    fn live_until(&self) -> Timestamp {
        Timestamp::NEVER
    }

    fn forget_at(&self) -> Option<Timestamp> {
        match self {
            Self::Unseen => None,
            Self::Revoked { expires_at } => Some(*expires_at + CLOCK_SKEW),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_revoked_token_stays_revoked_until_it_would_have_expired() {
        let now = Timestamp::from_millis(1_800_000_000_000);
        let expires_at = now + Duration::from_mins(5);
        let revoke = Command::Revoke {
            expires_at,
            client_id: "billing".to_owned(),
            organization: Some("acme".to_owned()),
        };
        let mut token = AccessToken::default();
        let first = token.decide(&revoke, now);
        assert_eq!(first.effects.records[0].organization.as_deref(), Some("acme"));
        for event in &first.events {
            token.apply(event);
        }
        assert_eq!(token.live_until(), Timestamp::NEVER);
        assert!(token.forget_at().unwrap() > expires_at);
        assert!(token.decide(&revoke, now).events.is_empty());
    }
}
