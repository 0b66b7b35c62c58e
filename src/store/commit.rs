//! An atomic commit: what the store is asked to make durable, all of it or nothing.

use crate::domain::{Birth, Listing, Name, Record, Requirement, Timestamp};

/// Compare-and-swaps on one or more entities and everything that must become true with them.
pub struct Commit {
    /// When it was decided; the time of its log rows and the birth version of what it creates.
    pub at: Timestamp,
    /// At least one; the caller gets the new version of the first.
    pub changes: Vec<Change>,
    pub requirements: Vec<Requirement>,
    /// Nothing that is required may change before the commit has ended; else it is enough that it holds when it is looked at.
    pub locks_requirements: bool,
    pub records: Vec<EntityRecord>,
    pub messages: Vec<Message>,
}

/// One entity's step from the version it was decided on to the next.
pub struct Change {
    pub kind: &'static str,
    pub id: String,
    pub expected: ExpectedRow,
    /// The revision of the machine that wrote `state`.
    pub revision: u32,
    /// The id follows from what callers present: where it is to be new, it may well be there.
    pub id_is_derived: bool,
    pub state: String,
    pub live_until: Timestamp,
    pub forget_at: Option<Timestamp>,
    pub names: Delta<Name>,
    pub listings: Delta<Listing>,
}

/// What a change expects to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedRow {
    /// The version the decision rests on.
    Version(i64),
    /// No row, as when it was decided; to find one is a conflict.
    Nothing,
    /// No row, for the id is meant to be new; to find one means that it is taken.
    NewId,
}

impl ExpectedRow {
    /// The version a decision rests on, where 0 is no row.
    pub fn read(version: i64) -> Self {
        if version == 0 { Self::Nothing } else { Self::Version(version) }
    }
}

impl From<Birth> for Change {
    fn from(birth: Birth) -> Self {
        let Birth {
            kind,
            id,
            revision,
            id_is_derived,
            state,
            live_until,
            forget_at,
            names,
            listings,
        } = birth;
        Self {
            kind,
            id,
            expected: ExpectedRow::NewId,
            revision,
            id_is_derived,
            state,
            live_until,
            forget_at,
            names: Delta { added: names, removed: Vec::new() },
            listings: Delta { added: listings, removed: Vec::new() },
        }
    }
}

/// A record for the security log, and the entity that wrote it.
pub struct EntityRecord {
    pub kind: &'static str,
    pub id: String,
    pub record: Record,
}

/// What a change adds to and removes from a set.
pub struct Delta<T> {
    pub added: Vec<T>,
    pub removed: Vec<T>,
}

impl<T: PartialEq + Clone> Delta<T> {
    pub fn between(before: &[T], after: &[T]) -> Self {
        let missing_from = |set: &[T], other: &[T]| {
            let mut missing: Vec<T> = Vec::new();
            for item in set.iter().filter(|item| !other.contains(item)) {
                if !missing.contains(item) {
                    missing.push(item.clone());
                }
            }
            missing
        };
        Self { added: missing_from(after, before), removed: missing_from(before, after) }
    }
}

/// A message for the outbox; its payload is sealed, the store cannot read it.
pub struct Message {
    pub id: String,
    pub topic: &'static str,
    pub class: i64,
    /// The key that it takes turns by.
    pub queue: String,
    pub payload: Vec<u8>,
    pub expires_at: Timestamp,
}

/// Why a commit did not happen, or why it is unknown whether it did.
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
        let delta = Delta::between(&["kept", "gone"], &["new", "kept", "new"]);
        assert_eq!((delta.added, delta.removed), (vec!["new"], vec!["gone"]));
    }
}
