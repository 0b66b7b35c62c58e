//! The trail of one organization: the rows of the log that its customer may read, the newest first.

use crate::{
    domain::Timestamp,
    store::{ReadError, Store, sql, value::Value},
};

/// Which entries are asked for.
pub struct Trail<'a> {
    /// The slug of the organization.
    pub organization: &'a str,
    pub event: Option<&'a str>,
    /// Not before.
    pub since: Option<Timestamp>,
    /// Before.
    pub until: Option<Timestamp>,
    /// The entry after which it goes on: its time, its lane and its number there.
    pub after: Option<(Timestamp, &'a str, i64)>,
    pub most: u32,
}

/// An entry of the log, without what proves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrailEntry {
    pub lane: String,
    pub seq: i64,
    pub at: Timestamp,
    pub event: String,
    pub kind: String,
    pub id: String,
    /// JSON.
    pub detail: String,
}

impl Store {
    /// Reads a part of an organization's trail.
    pub async fn trail(&self, trail: &Trail<'_>) -> Result<Vec<TrailEntry>, ReadError> {
        let until = trail.until.map_or(i64::MAX, Timestamp::millis);
        // No row has this time: the first page begins before it.
        let after = trail.after.unwrap_or((Timestamp::FOREVER, "", 0));
        let values = [
            Value::Text(trail.organization),
            Value::Int(trail.since.map_or(i64::MIN, Timestamp::millis)),
            Value::Int(until),
            Value::Text(trail.event.unwrap_or("")),
            Value::Int(after.0.millis()),
            Value::Text(after.1),
            Value::Int(after.2),
            Value::Int(trail.most.into()),
        ];
        let rows = self.fetch(sql::TRAIL, &values).await?;
        let read = |row: &crate::store::value::Row| {
            Ok(TrailEntry {
                lane: row.text(0)?,
                seq: row.int(1)?,
                at: Timestamp::from_millis(row.int(2)?),
                event: row.text(3)?,
                kind: row.text(4)?,
                id: row.text(5)?,
                detail: row.text(6)?,
            })
        };
        Ok(rows.iter().map(read).collect::<sqlx::Result<_>>()?)
    }
}
