//! A pushed authorization request (RFC 9126) that was used.
//!
//! | state | event | next | refused when |
//! |---|---|---|---|
//! | unborn | (born with the end of a flow, or with a code) | used | |
//! | used | (born again) | used | always: another flow has ended with it |
//!
//! The request itself travels sealed in its `request_uri`, so that to push one writes nothing. It is
//! used up by the commit that ends the flow or issues the code, and not by the page that a browser
//! loads: the row that is born in that commit can be born once, on any node. When no flow can be left
//! that began with it, the row is forgotten.

use super::{Birth, Decision, Machine, Timestamp};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;

/// A request that the client has pushed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pushed {
    #[serde(rename = "i")]
    pub id: String,
    /// When no flow can be left that began with it.
    #[serde(rename = "e")]
    pub over_at: Timestamp,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PushedRequest {
    #[default]
    Unborn,
    Used {
        forget_at: Timestamp,
    },
}

impl PushedRequest {
    /// Describes its use, in the commit that it leads to.
    pub fn used(pushed: &Pushed) -> Birth {
        Birth::of(&*pushed.id, &Self::Used { forget_at: pushed.over_at })
    }

    pub fn is_used(&self) -> bool {
        *self != Self::Unborn
    }
}

impl Machine for PushedRequest {
    const KIND: &'static str = "pushed_request";
    const ID_IS_DERIVED: bool = true;
    type Command = Infallible;
    type Event = Infallible;
    type Reply = Infallible;
    type Refusal = Infallible;

    fn decide(&self, command: &Infallible, _now: Timestamp) -> Decision<Self> {
        match *command {}
    }

    fn apply(&mut self, event: &Infallible) {
        match *event {}
    }

    fn live_until(&self) -> Timestamp {
        Timestamp::NEVER
    }

    fn forget_at(&self) -> Option<Timestamp> {
        match self {
            Self::Unborn => None,
            Self::Used { forget_at } => Some(*forget_at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_is_kept_while_a_flow_could_end_with_it_and_confers_nothing() {
        let over_at = Timestamp::from_millis(1_800_000_960_000);
        let birth = PushedRequest::used(&Pushed { id: "p".to_owned(), over_at });
        assert_eq!((birth.id.as_str(), birth.forget_at), ("p", Some(over_at)));
        assert_eq!(birth.live_until, Timestamp::NEVER);
        let used: PushedRequest = serde_json::from_str(&birth.state).unwrap();
        assert!(used.is_used() && !PushedRequest::Unborn.is_used());
    }
}
