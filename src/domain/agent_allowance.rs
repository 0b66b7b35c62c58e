//! What an agent has taken today of the limits that an operator has set it (adr/0093).
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | any | take | what it has taken today, with this | a sum would pass its limit: then nothing is taken |
//!
//! One for each client. A new day of UTC begins at nothing. It is committed together with the grant that
//! takes it, so that neither is without the other, however many ask at once.

use super::{CLOCK_SKEW, Decision, Machine, Timestamp, authorization_details::Fixed};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};

const DAY: i64 = 86_400;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentAllowance {
    /// Days since 1970.
    day: i64,
    /// By the name of the limit.
    taken: BTreeMap<String, Fixed>,
}

/// What a grant takes of a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taking {
    pub limit: String,
    pub amount: Fixed,
    pub per_day: Fixed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Take(Vec<Taking>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Taken { day: i64, taken: BTreeMap<String, Fixed> },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the agent has taken what it may take today of `{0}`")]
    Exhausted(String),
}

impl AgentAllowance {
    /// Returns what was taken of a limit on the day of `now`.
    pub fn taken(&self, limit: &str, now: Timestamp) -> Fixed {
        if self.day != day(now) {
            return Fixed::default();
        }
        self.taken.get(limit).copied().unwrap_or_default()
    }
}

fn day(now: Timestamp) -> i64 {
    now.seconds().div_euclid(DAY)
}

impl Machine for AgentAllowance {
    const KIND: &'static str = "agent_allowance";
    type Command = Command;
    type Event = Event;
    type Reply = ();
    type Refusal = Refusal;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        let Command::Take(takings) = command;
        let today = day(now);
        let mut taken = if self.day == today { self.taken.clone() } else { BTreeMap::new() };
        for Taking { limit, amount, per_day } in takings {
            let sum = taken.entry(limit.clone()).or_default();
            *sum = sum.plus(*amount);
            if *sum > *per_day {
                return Decision::refuse(Refusal::Exhausted(limit.clone()));
            }
        }
        Decision::accept(vec![Event::Taken { day: today, taken }], ())
    }

    fn apply(&mut self, event: &Event) {
        let Event::Taken { day, taken } = event.clone();
        *self = Self { day, taken };
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
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn amount(text: &str) -> Fixed {
        Fixed::parse(text).unwrap()
    }

    fn take(allowance: &mut AgentAllowance, text: &str, now: Timestamp) -> Result<(), Refusal> {
        let limit = "payment amount".to_owned();
        let taking = Taking { limit, amount: amount(text), per_day: amount("100") };
        let decision = allowance.decide(&Command::Take(vec![taking]), now);
        decision.events.iter().for_each(|event| allowance.apply(event));
        decision.outcome
    }

    #[test]
    fn a_day_is_used_up_and_the_next_begins_at_nothing() {
        let mut allowance = AgentAllowance::default();
        take(&mut allowance, "60.5", NOW).unwrap();
        let refused = take(&mut allowance, "39.6", NOW);
        assert_eq!(refused, Err(Refusal::Exhausted("payment amount".to_owned())));
        take(&mut allowance, "39.5", NOW).unwrap();
        assert_eq!(allowance.taken("payment amount", NOW), amount("100"));
        let tomorrow = NOW + Duration::from_hours(24);
        assert_eq!(allowance.taken("payment amount", tomorrow), Fixed::default());
        take(&mut allowance, "100", tomorrow).unwrap();
        assert!(take(&mut allowance, "0.000001", tomorrow).is_err());
        assert!(allowance.forget_at().unwrap() > tomorrow);
    }

    #[test]
    fn what_is_refused_takes_nothing_of_any_limit() {
        let allowance = AgentAllowance::default();
        let taking = |limit: &str, text: &str| Taking {
            limit: limit.to_owned(),
            amount: amount(text),
            per_day: amount("10"),
        };
        let both = Command::Take(vec![taking("a", "5"), taking("b", "11")]);
        let decision = allowance.decide(&both, NOW);
        assert!(decision.outcome.is_err() && decision.events.is_empty());
    }
}
