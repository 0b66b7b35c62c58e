//! What the store is asked to make durable, all of it or nothing.

use crate::domain::{Birth, Listing, Name, Record, Requirement, Timestamp};

/// A compare-and-swap on one entity and everything that must become true with it.
pub struct Commit {
    /// When it was decided; the time of its log rows and the birth version of what it creates.
    pub at: Timestamp,
    pub change: Change,
    pub births: Vec<Birth>,
    pub requirements: Vec<Requirement>,
    pub records: Vec<Record>,
    pub messages: Vec<Message>,
}

/// One entity's step from the version it was decided on to the next.
pub struct Change {
    pub kind: &'static str,
    pub id: String,
    /// The version the decision rests on; 0 where there is no row yet.
    pub expected: i64,
    pub state: String,
    pub live_until: Timestamp,
    pub forget_at: Option<Timestamp>,
    pub names: Delta<Name>,
    pub listings: Delta<Listing>,
}

/// What a change adds to and removes from a set.
pub struct Delta<T> {
    pub added: Vec<T>,
    pub removed: Vec<T>,
}

impl<T: PartialEq + Clone> Delta<T> {
    pub fn between(before: &[T], after: &[T]) -> Self {
        let missing_from = |set: &[T], other: &[T]| {
            set.iter().filter(|item| !other.contains(item)).cloned().collect()
        };
        Self { added: missing_from(after, before), removed: missing_from(before, after) }
    }
}

/// A message for the outbox, sealed by whoever may read it.
pub struct Message {
    pub id: String,
    pub topic: &'static str,
    pub payload: Vec<u8>,
    pub expires_at: Timestamp,
}

/// Why a commit did not happen, or why nobody knows whether it did.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// The row is no longer the version the decision rests on.
    #[error("the entity has moved on")]
    Conflict,
    /// Another entity holds a name, or an id, that this commit wanted.
    #[error("the name is taken")]
    Taken { space: &'static str },
    /// A required fact no longer holds.
    #[error("a requirement no longer holds")]
    Unmet { kind: &'static str },
    /// Nothing was written; asking again later may succeed.
    #[error("the store is unavailable")]
    Unavailable,
    /// COMMIT itself failed: it may or may not have happened.
    #[error("the fate of the commit is unknown")]
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delta_names_only_what_differs() {
        let delta = Delta::between(&["kept", "gone"], &["kept", "new"]);
        assert_eq!((delta.added, delta.removed), (vec!["new"], vec!["gone"]));
    }
}
