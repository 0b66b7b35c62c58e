//! That a person wants no more requests for approval from a client.
//!
//! | state | command | next |
//! |---|---|---|
//! | unborn, or lifted | block | blocked |
//! | blocked | block | blocked: nothing is committed |
//! | blocked | lift | lifted |
//! | unborn, or lifted | lift | the same: nothing is committed |
//!
//! Nothing is refused.

use super::{Decision, Listing, Machine, Record, SubCommand, Timestamp};
use serde::{Deserialize, Serialize};

/// The clients that an account has blocked.
pub const BLOCKED_CLIENTS: &str = "blocked_clients";

/// Who has blocked whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sides {
    pub account: String,
    pub client_id: String,
}

impl Sides {
    /// Returns the id of the one block between them.
    pub fn id(&self) -> String {
        // An account is a UUID; a client's id may hold anything.
        format!("{}:{}", self.account, self.client_id)
    }

    /// Has the client blocked in the commit of another decision.
    pub fn block<M: Machine>(self) -> SubCommand<M> {
        let (id, block) = (self.id(), Command::Block(self));
        SubCommand::insisting::<ApprovalBlock>(id, block, |never| match never {})
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ApprovalBlock {
    #[default]
    Unborn,
    Blocked {
        sides: Sides,
        at: Timestamp,
    },
    Lifted,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Block(Sides),
    Lift,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Blocked { sides: Sides, at: Timestamp },
    Lifted,
}

/// Nothing is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {}

impl ApprovalBlock {
    /// Returns who has blocked whom, and since when.
    pub fn blocked(&self) -> Option<(&Sides, Timestamp)> {
        match self {
            Self::Blocked { sides, at } => Some((sides, *at)),
            Self::Unborn | Self::Lifted => None,
        }
    }
}

fn record(event: &'static str, sides: &Sides) -> Record {
    Record::new(event)
        .with("account", sides.account.as_str())
        .with("client_id", sides.client_id.as_str())
}

impl Machine for ApprovalBlock {
    const KIND: &'static str = "approval_block";
    type Command = Command;
    type Event = Event;
    /// Whether something has changed.
    type Reply = bool;
    type Refusal = Refusal;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        match (command, self.blocked()) {
            (Command::Block(sides), None) => {
                let blocked = Event::Blocked { sides: sides.clone(), at: now };
                Decision::accept(vec![blocked], true)
                    .recording(record("approval.client_blocked", sides))
            }
            (Command::Lift, Some((sides, _))) => Decision::accept(vec![Event::Lifted], true)
                .recording(record("approval.client_unblocked", sides)),
            (Command::Block(_), Some(_)) | (Command::Lift, None) => {
                Decision::accept(Vec::new(), false)
            }
        }
    }

    fn apply(&mut self, event: &Event) {
        *self = match event.clone() {
            Event::Blocked { sides, at } => Self::Blocked { sides, at },
            Event::Lifted => Self::Lifted,
        };
    }

    /// What was lifted says nothing.
    fn forget_at(&self) -> Option<Timestamp> {
        matches!(self, Self::Lifted).then_some(Timestamp::NEVER)
    }

    fn listings(&self) -> Vec<Listing> {
        let Some((sides, at)) = self.blocked() else { return Vec::new() };
        vec![Listing::new(BLOCKED_CLIENTS, &*sides.account, format!("{:015}", at.millis()))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn sides() -> Sides {
        Sides { account: "ana".to_owned(), client_id: "agent".to_owned() }
    }

    fn take(block: &mut ApprovalBlock, command: &Command) -> Vec<&'static str> {
        let decision = block.decide(command, NOW);
        decision.events.iter().for_each(|event| block.apply(event));
        decision.effects.records.iter().map(|record| record.event).collect()
    }

    #[test]
    fn a_client_is_blocked_once_and_until_it_is_lifted() {
        let mut block = ApprovalBlock::default();
        assert!(take(&mut block, &Command::Lift).is_empty() && block.blocked().is_none());
        let blocking = Command::Block(sides());
        assert_eq!(take(&mut block, &blocking), ["approval.client_blocked"]);
        assert!(take(&mut block, &blocking).is_empty(), "nothing changes");
        assert_eq!((block.blocked(), block.listings().len()), (Some((&sides(), NOW)), 1));
        let text = serde_json::to_string(&block).unwrap();
        assert_eq!(serde_json::from_str::<ApprovalBlock>(&text).unwrap(), block);
        assert_eq!(take(&mut block, &Command::Lift), ["approval.client_unblocked"]);
        assert_eq!((block.blocked(), block.listings().len()), (None, 0));
        assert_eq!(take(&mut block, &blocking), ["approval.client_blocked"]);
    }
}
