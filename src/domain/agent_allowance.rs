//! What an agent has taken today of its agent limits, which an operator has set (adr/0093).
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | any | grant | what it has taken today, with this; the family is started in the same commit | a sum would pass its limit, or the family refuses: then nothing is taken |
//! | it has paid for this family | grant | the same: the family answers as the first time | the family refuses |
//!
//! One for each client. A new day of UTC begins at nothing. It owns the grants that take from it: they wait in
//! its mailbox, so that however many an agent asks for at once, each is decided on what is left. It remembers
//! for a while what it has paid for: a request that is made again, since its outcome was not known, is
//! idempotent.

use super::{
    CLOCK_SKEW, Decision, Machine, SubCommand, Timestamp,
    authorization_details::Fixed,
    client::Taking,
    token_family::{self, Start, TokenFamily},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

/// How long a grant that was paid for is remembered. A request is retried within less.
const REMEMBERED: Duration = Duration::from_mins(1);

/// How many grants that were paid for are remembered at most.
const MOST_REMEMBERED: usize = 128;

const DAY: i64 = 86_400;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentAllowance {
    /// Days since 1970.
    day: i64,
    /// By the name of the limit.
    taken: BTreeMap<String, Fixed>,
    /// The families that were paid for last, and when.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    paid: VecDeque<(String, Timestamp)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Grant(Box<AllowedGrant>),
}

/// A grant, and what it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedGrant {
    pub takings: Vec<Taking>,
    /// The id of the family, drawn for this request alone.
    pub family: String,
    pub start: Start,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Taken { day: i64, taken: BTreeMap<String, Fixed>, family: String, at: Timestamp },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the agent has taken what it may take today of `{0}`")]
    Exhausted(String),
    #[error(transparent)]
    Family(token_family::Refusal),
}

impl AgentAllowance {
    /// Returns what was taken of a limit on the day of `now`.
    pub fn taken(&self, limit: &str, now: Timestamp) -> Fixed {
        if self.day != day(now) {
            return Fixed::default();
        }
        self.taken.get(limit).copied().unwrap_or_default()
    }

    fn has_paid_for(&self, family: &str) -> bool {
        self.paid.iter().any(|(paid, _)| paid == family)
    }

    /// Adds to what was taken today, if no limit is passed.
    fn take(&self, takings: &[Taking], now: Timestamp) -> Result<BTreeMap<String, Fixed>, Refusal> {
        let mut taken = if self.day == day(now) { self.taken.clone() } else { BTreeMap::new() };
        for Taking { limit, amount, per_day } in takings {
            let sum = taken.entry(limit.clone()).or_default();
            *sum = sum.plus(*amount);
            if *sum > *per_day {
                return Err(Refusal::Exhausted(limit.clone()));
            }
        }
        Ok(taken)
    }
}

fn day(now: Timestamp) -> i64 {
    now.seconds().div_euclid(DAY)
}

impl Machine for AgentAllowance {
    const KIND: &'static str = "agent_allowance";
    /// 2: what was paid for is remembered.
    const REVISION: u32 = 2;
    type Command = Command;
    type Event = Event;
    /// What the family answers.
    type Reply = Option<token_family::Reply>;
    type Refusal = Refusal;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        let Command::Grant(grant) = command;
        let AllowedGrant { takings, family, start } = &**grant;
        let events = if self.has_paid_for(family) {
            Vec::new()
        } else {
            match self.take(takings, now) {
                Ok(taken) => {
                    let (day, family) = (day(now), family.clone());
                    vec![Event::Taken { day, taken, family, at: now }]
                }
                Err(refusal) => return Decision::refuse(refusal),
            }
        };
        let start = token_family::Command::Start(Box::new(start.clone()));
        let fold = |outcome: Result<_, _>, reply: &mut Self::Reply| {
            *reply = Some(outcome.map_err(Refusal::Family)?);
            Ok(())
        };
        let start = SubCommand::to::<TokenFamily>(&**family, start, fold);
        Decision::accept(events, None).commanding(start)
    }

    fn apply(&mut self, event: &Event) {
        let Event::Taken { day, taken, family, at } = event;
        (self.day, self.taken) = (*day, taken.clone());
        self.paid.retain(|(_, paid_at)| at.since(*paid_at) < REMEMBERED);
        if self.paid.len() == MOST_REMEMBERED {
            self.paid.pop_front();
        }
        self.paid.push_back((family.clone(), *at));
    }

    /// A row confers nothing by itself.
    fn live_until(&self) -> Timestamp {
        Timestamp::FOREVER
    }

    fn forget_at(&self) -> Option<Timestamp> {
        let next = Timestamp::from_seconds((self.day + 1).saturating_mul(DAY));
        Some(next + Duration::from_hours(1) + CLOCK_SKEW)
    }
}

#[cfg(test)]
mod tests;
