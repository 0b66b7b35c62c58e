//! Agent limits: what an operator lets an agent do, beside the scopes that it was registered with (adr/0093).

use crate::domain::{
    Timestamp,
    authorization_details::{Detail, Details, Fixed},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who answers for an agent, what it is for, until when, and how much it may do in a day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentLimits {
    /// What it is for, as people read it.
    pub purpose: String,
    /// Who answers for it: a person or a team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// From then on it is as if the client were not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<DailyLimit>,
}

/// How much of a type of details an agent may take within a day of UTC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DailyLimit {
    /// The type of `authorization_details`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where the amount stands in a detail; one member inside another is joined by a dot.
    pub member: String,
    /// Where its unit stands, as a currency does, and which unit this limit is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    pub per_day: Fixed,
}

/// What a grant takes of a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taking {
    /// The name of the limit.
    pub limit: String,
    pub amount: Fixed,
    pub per_day: Fixed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unit {
    pub member: String,
    pub is: String,
}

/// Why details are more than an agent may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unmeasured {
    #[error("a detail names no amount that a limit of its type could measure")]
    NoAmount,
}

impl AgentLimits {
    /// Says what these details take of each limit; a detail of a limited type that no limit measures is
    /// refused.
    pub fn measure(&self, details: &Details) -> Result<Vec<Taking>, Unmeasured> {
        let mut taken: Vec<Taking> = Vec::new();
        for detail in details.iter() {
            let limits = self.limits.iter().filter(|limit| limit.kind == detail.kind());
            let mut limits = limits.peekable();
            if limits.peek().is_none() {
                continue;
            }
            let taking = |limit: &DailyLimit| {
                let (limit, amount, per_day) = (limit.name(), limit.of(detail)?, limit.per_day);
                Some(Taking { limit, amount, per_day })
            };
            let measured: Vec<Taking> = limits.filter_map(taking).collect();
            if measured.is_empty() {
                return Err(Unmeasured::NoAmount);
            }
            taken.extend(measured);
        }
        Ok(taken)
    }
}

impl AgentLimits {
    /// Tells whether an agent may do no more by this than by another: it ends no later, no limit of the other
    /// is gone or higher, and no limit is added to a type that was closed beside its own.
    pub fn narrows(&self, other: &Self) -> bool {
        let ends = match (self.expires_at, other.expires_at) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(own), Some(others)) => own <= others,
        };
        let same = |name: &str| self.limits.iter().find(|one| one.name() == name);
        let kept = |limit: &DailyLimit| {
            same(&limit.name()).is_some_and(|own| own.per_day <= limit.per_day)
        };
        let opens = |limit: &DailyLimit| {
            let mut of_type = other.limits.iter().filter(|one| one.kind == limit.kind).peekable();
            of_type.peek().is_some() && !of_type.any(|one| one.name() == limit.name())
        };
        ends && other.limits.iter().all(kept) && !self.limits.iter().any(opens)
    }

    /// Tells whether two limits measure the same amount.
    pub fn names_twice(&self) -> bool {
        let names = self.limits.iter().map(DailyLimit::name);
        names.collect::<std::collections::BTreeSet<String>>().len() < self.limits.len()
    }
}

impl DailyLimit {
    /// Names it among the limits of one agent, whatever their order.
    pub fn name(&self) -> String {
        let unit = self.unit.as_ref().map(|unit| format!(" {}={}", unit.member, unit.is));
        format!("{} {}{}", self.kind, self.member, unit.unwrap_or_default())
    }

    /// Returns the amount that a detail takes of this limit, if the limit is about it.
    fn of(&self, detail: &Detail) -> Option<Fixed> {
        let unit = self.unit.as_ref();
        let fits =
            |unit: &Unit| find(detail, &unit.member).and_then(Value::as_str) == Some(&*unit.is);
        if !unit.is_none_or(fits) {
            return None;
        }
        Fixed::of(find(detail, &self.member)?)
    }
}

fn find<'a>(detail: &'a Detail, path: &str) -> Option<&'a Value> {
    let mut names = path.split('.');
    let first = detail.members().get(names.next()?)?;
    names.try_fold(first, |value, name| value.get(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn limit(kind: &str, currency: &str, per_day: &str) -> DailyLimit {
        DailyLimit {
            kind: kind.to_owned(),
            member: "amount.value".to_owned(),
            unit: Some(Unit { member: "amount.currency".to_owned(), is: currency.to_owned() }),
            per_day: Fixed::parse(per_day).unwrap(),
        }
    }

    fn agent_limits(expires_at: Option<Timestamp>, limits: &[DailyLimit]) -> AgentLimits {
        let purpose = "Pays invoices".to_owned();
        AgentLimits { purpose, owner: None, expires_at, limits: limits.to_vec() }
    }

    #[test]
    fn agent_limits_are_only_narrowed() {
        let pay = |per_day| limit("payment", "EUR", per_day);
        let held = agent_limits(Some(NOW), &[pay("100")]);
        for narrower in [
            agent_limits(Some(NOW), &[pay("100")]),
            agent_limits(Some(NOW), &[pay("99.99")]),
            agent_limits(Some(Timestamp::NEVER), &[pay("0")]),
            // A type that had no limit is closed.
            agent_limits(Some(NOW), &[pay("100"), limit("refund", "EUR", "1")]),
        ] {
            assert!(narrower.narrows(&held), "{narrower:?}");
        }
        for wider in [
            agent_limits(None, &[pay("100")]),
            agent_limits(Some(NOW + std::time::Duration::from_millis(1)), &[pay("100")]),
            agent_limits(Some(NOW), &[pay("100.000001")]),
            agent_limits(Some(NOW), &[]),
            agent_limits(Some(NOW), &[limit("refund", "EUR", "1")]),
            // Another currency was refused.
            agent_limits(Some(NOW), &[pay("100"), limit("payment", "USD", "1")]),
        ] {
            assert!(!wider.narrows(&held), "{wider:?}");
        }
        assert!(held.narrows(&agent_limits(None, &[])), "any is narrower than none");
        assert!(agent_limits(None, &[pay("1"), pay("2")]).names_twice() && !held.names_twice());
    }
}
