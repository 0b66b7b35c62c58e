//! The logo of an organization: its bytes, in a row of their own under the organization's slug.
//!
//! Whether it may change is the organization's to say, in the same commit.

use crate::domain::{Decision, Machine, Timestamp, picture::Picture};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Logo {
    picture: Option<Picture>,
}

/// Keeps this picture, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keep(pub Option<Picture>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept(Option<Picture>);

impl Logo {
    pub fn picture(&self) -> Option<&Picture> {
        self.picture.as_ref()
    }
}

impl Machine for Logo {
    const KIND: &'static str = "logo";
    type Command = Keep;
    type Event = Kept;
    type Reply = ();
    type Refusal = Infallible;

    fn decide(&self, Keep(picture): &Keep, _now: Timestamp) -> Decision<Self> {
        let same = self.picture == *picture;
        let events = if same { Vec::new() } else { vec![Kept(picture.clone())] };
        Decision::accept(events, ())
    }

    fn apply(&mut self, Kept(picture): &Kept) {
        self.picture.clone_from(picture);
    }
}
