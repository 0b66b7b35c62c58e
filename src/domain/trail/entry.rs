//! An entry of a trail as its customer reads it: in lists, in exports and in webhooks.

use crate::domain::Timestamp;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// An entry of the trail.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Entry {
    /// It never changes, and is never used again.
    pub id: String,
    pub at: String,
    /// What happened; the catalogue of events lists them.
    pub event: String,
    /// What it happened to.
    pub subject: Subject,
    /// Ids and reasons; `context` says who acted, and from where.
    #[schema(value_type = Object)]
    pub detail: Value,
}

/// What an entry is about.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Subject {
    pub kind: String,
    pub id: String,
}

/// What a row of the log has.
pub struct EntryParts<'a> {
    pub lane: &'a str,
    pub seq: i64,
    pub at: Timestamp,
    pub event: &'a str,
    pub kind: &'a str,
    pub id: &'a str,
    /// In JSON.
    pub detail: &'a str,
}

impl Entry {
    pub fn of(row: &EntryParts<'_>) -> Self {
        Self {
            id: format!("{}.{}", row.lane, row.seq),
            at: row.at.rfc3339(),
            event: row.event.to_owned(),
            subject: Subject { kind: row.kind.to_owned(), id: row.id.to_owned() },
            detail: serde_json::from_str(row.detail).unwrap_or(Value::Null),
        }
    }
}
