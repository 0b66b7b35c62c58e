//! An access token: what it says (RFC 9068), and whether it was taken back before its time.
//!
//! Nothing is stored when one is issued: what it rests on is in it. Only a token that is revoked, or by
//! which something was changed at our own API, gets a row, found by its `jti`, which is forgotten once the
//! token would have expired anyway. The row of a change is what a revocation conflicts with (adr/0111).
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | unseen, used | revoke | revoked, and it is recorded | |
//! | unseen | use | used | |
//! | used | use | used, nothing changes | |
//! | revoked | revoke | revoked, nothing changes | |
//! | revoked | use | revoked | always |

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
    /// A change was made by it.
    Used {
        expires_at: Timestamp,
    },
    Revoked {
        expires_at: Timestamp,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Revoke {
        expires_at: Timestamp,
        client_id: String,
        organization: Option<String>,
    },
    /// A change is made by it, in the same commit.
    Use {
        expires_at: Timestamp,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Used { expires_at: Timestamp },
    Revoked { expires_at: Timestamp },
}

/// A revocation is never refused: the handler has seen that the client may ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    Revoked,
}

impl Machine for AccessToken {
    const KIND: &'static str = "access_token";
    // 2: `Used`, which an older binary would take for revoked
    const REVISION: u32 = 2;
    const ID_IS_DERIVED: bool = true;
    type Command = Command;
    type Event = Event;
    type Reply = ();
    type Refusal = Refusal;

    fn decide(&self, command: &Command, _now: Timestamp) -> Decision<Self> {
        match (command, self) {
            (Command::Revoke { .. }, Self::Revoked { .. })
            | (Command::Use { .. }, Self::Used { .. }) => Decision::accept(Vec::new(), ()),
            (Command::Use { .. }, Self::Revoked { .. }) => Decision::refuse(Refusal::Revoked),
            (Command::Use { expires_at }, Self::Unseen) => {
                Decision::accept(vec![Event::Used { expires_at: *expires_at }], ())
            }
            (
                Command::Revoke { expires_at, client_id, organization },
                Self::Unseen | Self::Used { .. },
            ) => {
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
        *self = match *event {
            Event::Used { expires_at } => Self::Used { expires_at },
            Event::Revoked { expires_at } => Self::Revoked { expires_at },
        };
    }

    fn live_until(&self) -> Timestamp {
        match self {
            // How long it is good is in the token itself.
            Self::Unseen | Self::Used { .. } => Timestamp::FOREVER,
            Self::Revoked { .. } => Timestamp::NEVER,
        }
    }

    fn forget_at(&self) -> Option<Timestamp> {
        match self {
            Self::Unseen => None,
            Self::Used { expires_at } | Self::Revoked { expires_at } => {
                Some(*expires_at + CLOCK_SKEW)
            }
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
        let used = token.decide(&Command::Use { expires_at }, now);
        assert_eq!(used.outcome, Err(Refusal::Revoked));
    }

    #[test]
    fn a_token_that_was_used_is_good_and_can_be_revoked() {
        let now = Timestamp::from_millis(1_800_000_000_000);
        let expires_at = now + Duration::from_mins(5);
        let mut token = AccessToken::default();
        let first = token.decide(&Command::Use { expires_at }, now);
        first.events.iter().for_each(|event| token.apply(event));
        assert!(token.live_until() > expires_at && token.forget_at().unwrap() > expires_at);
        assert!(token.decide(&Command::Use { expires_at }, now).events.is_empty(), "once");
        let (client_id, organization) = ("billing".to_owned(), None);
        let revoke = Command::Revoke { expires_at, client_id, organization };
        let revoked = token.decide(&revoke, now);
        revoked.events.iter().for_each(|event| token.apply(event));
        assert_eq!(token.live_until(), Timestamp::NEVER);
    }
}
