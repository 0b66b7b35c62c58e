//! The entries of an export, each judged by itself: one that cannot be read does not hide the others.

use super::imported_person::EntryOutcome;
use crate::{
    config::Complaint,
    provisioning::{file::MOST_ENTITIES, table::excerpt},
};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, IgnoredAny, SeqAccess, Visitor},
};
use serde_json::Value;
use std::{fmt, marker::PhantomData};

/// A user as a server exports it.
pub(super) trait ExportedUser: DeserializeOwned {
    /// Turns it into a person; `None` is one that is no person.
    fn found(self) -> EntryOutcome;
}

/// A list of users, of which one at a time is held as JSON.
pub(super) struct People<E> {
    pub(super) judged: Vec<EntryOutcome>,
    exported: PhantomData<E>,
}

impl<'de, E: ExportedUser> Deserialize<'de> for People<E> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let judged = deserializer.deserialize_seq(UsersVisitor::<E>(PhantomData))?;
        Ok(Self { judged, exported: PhantomData })
    }
}

struct UsersVisitor<E>(PhantomData<E>);

impl<'de, E: ExportedUser> Visitor<'de> for UsersVisitor<E> {
    type Value = Vec<EntryOutcome>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of users")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut users: A) -> Result<Vec<EntryOutcome>, A::Error> {
        let mut judged = Vec::new();
        while judged.len() < MOST_ENTITIES {
            let Some(user) = users.next_element::<Value>()? else { return Ok(judged) };
            judged.push(judge::<E>(user));
        }
        let mut more = false;
        while users.next_element::<IgnoredAny>()?.is_some() {
            more = true;
        }
        if more {
            judged.push(Err(vec![format!("there are more than {MOST_ENTITIES} users")]));
        }
        Ok(judged)
    }
}

/// Judges one entry.
pub(super) fn judge<E: ExportedUser>(user: Value) -> EntryOutcome {
    if !user.is_object() {
        return Err(vec!["is not an object".to_owned()]);
    }
    // What serde says of a value may repeat it, and it may be a hash.
    let read: Result<E, _> = serde_path_to_error::deserialize(user);
    let wrong = |path: String| vec![format!("`{}` is of a wrong type", excerpt(&path))];
    read.map_err(|error| wrong(error.path().to_string()))?.found()
}

/// Says that a file is not the JSON it should be, and where.
pub(super) fn not_json(error: &serde_json::Error) -> Vec<Complaint> {
    let text = match error.classify() {
        serde_json::error::Category::Data => "is not an export of users",
        serde_json::error::Category::Eof => "ends too soon to be JSON",
        _ => "is not JSON",
    };
    vec![Complaint::new(error.line(), text)]
}
