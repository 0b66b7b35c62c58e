//! How one detail of a type contains another.
//!
//! Every member must be equal, except those that the type lets shrink. A member that one of them lacks
//! is not equal: whether its absence means everything or nothing, only the API knows.

use super::{TYPE, number};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// How a member may become less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shrinks {
    /// A smaller number is less.
    AtMost,
    /// A list with fewer of the same values is less.
    Subset,
}

impl Shrinks {
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "at_most" => Some(Self::AtMost),
            "subset" => Some(Self::Subset),
            _ => None,
        }
    }
}

/// The members that may shrink; one inside another is named by both, joined by a dot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SubsetRules(BTreeMap<String, Shrinks>);

/// A member that cannot have a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no member that could shrink")]
pub struct BadRule(String);

impl FromIterator<(String, Shrinks)> for SubsetRules {
    fn from_iter<I: IntoIterator<Item = (String, Shrinks)>>(rules: I) -> Self {
        Self(rules.into_iter().collect())
    }
}

impl SubsetRules {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn check(&self) -> Result<(), BadRule> {
        let bad = |path: &&String| path.as_str() == TYPE || path.split('.').any(str::is_empty);
        self.0.keys().find(bad).map_or(Ok(()), |path| Err(BadRule(path.clone())))
    }

    /// Tells whether `part` confers nothing that `whole` does not.
    pub fn contains(&self, whole: &Map<String, Value>, part: &Map<String, Value>) -> bool {
        self.members("", whole, part)
    }

    fn members(&self, path: &str, whole: &Map<String, Value>, part: &Map<String, Value>) -> bool {
        let covered = |(name, part): (&String, &Value)| {
            whole.get(name).is_some_and(|whole| self.member((path, name), whole, part))
        };
        whole.len() == part.len() && part.iter().all(covered)
    }

    fn member(&self, (above, name): (&str, &str), whole: &Value, part: &Value) -> bool {
        if whole == part {
            return true;
        }
        // A rule names members by dots, and means none that has one in its own name.
        if name.contains('.') {
            return false;
        }
        let path = if above.is_empty() { name.to_owned() } else { format!("{above}.{name}") };
        match (self.0.get(&path), whole, part) {
            (Some(Shrinks::AtMost), most, amount) => number::is_at_most(amount, most),
            (Some(Shrinks::Subset), Value::Array(all), Value::Array(some)) => {
                some.iter().all(|one| all.contains(one))
            }
            (None, Value::Object(whole), Value::Object(part)) => self.members(&path, whole, part),
            _ => false,
        }
    }
}
