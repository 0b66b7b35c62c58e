//! How far the security log was read for endpoints: one cursor for the whole installation (adr/0083).
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | resting | begin | following, from the places given | |
//! | following | begin | the same | |
//! | following | advance | the lane is read up to a row; its messages are in the outbox | the lane is not where the reader thought |
//! | resting | advance | the same | always |
//! | any | rest | resting | |
//!
//! A place is the number of the last row of a lane that was read. A lane that is not named was opened
//! since, and is read from its start.

use super::Delivery;
use crate::domain::{Decision, Listing, Machine, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The one entity there is of this kind.
pub const FEED: &str = "log";

/// The list of the cursor while it follows the log; else it is empty.
pub const FOLLOWING: &str = "webhook_feeds";

/// Lane → the last row that was read.
pub type Places = BTreeMap<String, i64>;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Feed {
    #[default]
    Resting,
    Following {
        places: Places,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Begin(Places),
    Advance(Advance),
    Rest,
}

/// A part of a lane that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advance {
    pub lane: String,
    /// Where the reader began.
    pub from: i64,
    pub to: i64,
    pub deliveries: Vec<Delivery>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Began(Places),
    Advanced { lane: String, to: i64 },
    Rested,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("another node was first")]
pub struct Elsewhere;

impl Feed {
    /// Returns how far a lane was read, while the log is followed.
    pub fn place(&self, lane: &str) -> Option<i64> {
        match self {
            Self::Resting => None,
            Self::Following { places } => Some(places.get(lane).copied().unwrap_or(0)),
        }
    }
}

impl Machine for Feed {
    const KIND: &'static str = "webhook_feed";
    type Command = Command;
    type Event = Event;
    type Reply = ();
    type Refusal = Elsewhere;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        match (command, self) {
            (Command::Begin(places), Self::Resting) => {
                Decision::accept(vec![Event::Began(places.clone())], ())
            }
            (Command::Rest, Self::Following { .. }) => Decision::accept(vec![Event::Rested], ()),
            (Command::Begin(_), Self::Following { .. }) | (Command::Rest, Self::Resting) => {
                Decision::accept(Vec::new(), ())
            }
            (Command::Advance(advance), _) => {
                if self.place(&advance.lane) != Some(advance.from) {
                    return Decision::refuse(Elsewhere);
                }
                let (lane, to) = (advance.lane.clone(), advance.to);
                let advanced = Decision::accept(vec![Event::Advanced { lane, to }], ());
                let dispatches = advance.deliveries.iter().map(|one| one.dispatch(now));
                dispatches.fold(advanced, Decision::dispatching)
            }
        }
    }

    fn apply(&mut self, event: &Event) {
        match (event.clone(), &mut *self) {
            (Event::Began(places), this) => *this = Self::Following { places },
            (Event::Advanced { lane, to }, Self::Following { places }) => {
                places.insert(lane, to);
            }
            (Event::Advanced { .. }, Self::Resting) => {}
            (Event::Rested, this) => *this = Self::Resting,
        }
    }

    fn listings(&self) -> Vec<Listing> {
        match self {
            Self::Resting => Vec::new(),
            Self::Following { .. } => vec![Listing::new(FOLLOWING, "", "")],
        }
    }
}
