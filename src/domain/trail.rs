//! What is written into the trail of an organization though nothing of the organization changes.
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | any | note | the same; the log has a row | never |
//!
//! It is an entity of its own, one for each organization: a row of the log belongs to a commit, and an
//! organization that is only looked at must keep its version.

mod entry;

pub use entry::{Entry, EntryParts, Subject};

use super::{Decision, Machine, Record, Timestamp};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trail {}

/// What customers read of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// A holder of `organizations:administer` has used it here.
    Administered { operation: &'static str },
    /// An operation of the management API was refused to a caller with a good token.
    Refused {
        operation: &'static str,
        code: &'static str,
        /// How often it was refused in the same way since that was last noted.
        repeated: u64,
    },
}

impl Note {
    /// Writes it into the trail of the organization of this slug.
    pub fn of(self, organization: &str) -> Command {
        Command { organization: organization.to_owned(), note: self }
    }

    fn record(self) -> Record {
        match self {
            Self::Administered { operation } => {
                Record::new("organization.administered").with("operation", operation)
            }
            Self::Refused { operation, code, repeated } => {
                let record = Record::new("api.refused");
                let record = record.with("operation", operation).with("code", code);
                if repeated > 0 { record.with("repeated", repeated) } else { record }
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    organization: String,
    note: Note,
}

impl Machine for Trail {
    const KIND: &'static str = "organization_trail";
    type Command = Command;
    type Event = Infallible;
    type Reply = ();
    type Refusal = Infallible;

    fn decide(&self, command: &Command, _now: Timestamp) -> Decision<Self> {
        let record = command.note.record().in_organization(&*command.organization);
        Decision::accept(Vec::new(), ()).recording(record)
    }

    fn apply(&mut self, event: &Infallible) {
        match *event {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_a_row_of_the_log_in_that_organization_and_nothing_else() {
        let code = "other_organization";
        let note = Note::Refused { operation: "getOrganization", code, repeated: 0 };
        let decision = Trail::default().decide(&note.of("acme"), Timestamp::NEVER);
        assert!(decision.events.is_empty());
        let [record] = &*decision.effects.records else { panic!("one record") };
        assert_eq!((record.event, record.organization.as_deref()), ("api.refused", Some("acme")));
    }
}
