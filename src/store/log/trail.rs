//! The trail of one organization: the rows of the log that its customer may read, the newest first.

use super::{
    super::{ReadError, Store, engine, sql, value::Value},
    entry::{LogEntry, LogPlace},
};
use crate::domain::Timestamp;

/// Which entries are asked for.
pub struct Trail<'a> {
    /// The slug of the organization.
    pub organization: &'a str,
    pub event: Option<&'a str>,
    /// What directories did and were refused alone.
    pub of_directories: bool,
    /// Not before.
    pub since: Option<Timestamp>,
    /// Before.
    pub until: Option<Timestamp>,
    /// The entry that it goes on from, which is newer.
    pub before: &'a LogPlace,
    pub most: u32,
}

impl Store {
    /// Reads a part of an organization's trail.
    pub async fn trail(&self, trail: &Trail<'_>) -> Result<Vec<LogEntry>, ReadError> {
        let values = [
            Value::Text(trail.organization),
            Value::Int(trail.since.map_or(i64::MIN, Timestamp::millis)),
            Value::Int(trail.until.map_or(i64::MAX, Timestamp::millis)),
            Value::Text(trail.event.unwrap_or("")),
            Value::Int(trail.before.at.millis()),
            Value::Text(&trail.before.lane),
            Value::Int(trail.before.seq),
            Value::Int(trail.most.into()),
        ];
        let asked = if trail.of_directories { sql::TRAIL_OF_DIRECTORIES } else { sql::TRAIL };
        let rows = self.scan(asked, &values).await?;
        Ok(rows.iter().map(LogEntry::read).collect::<engine::Result<_>>()?)
    }
}
