//! A row of the log as its readers see it, without what proves it, and the order in which they read.

use crate::{
    domain::Timestamp,
    store::{LogRow, engine, value::Row},
};

/// A place in the log, in the order of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogPlace {
    pub at: Timestamp,
    pub lane: String,
    pub seq: i64,
}

impl LogPlace {
    /// The place before everything that was written at this time or later.
    pub fn before(at: Timestamp) -> Self {
        Self { at, lane: String::new(), seq: 0 }
    }

    /// The place after everything: no row has this time.
    pub fn end() -> Self {
        Self::before(Timestamp::FOREVER)
    }

    /// The place of a row.
    pub fn of(row: &LogRow) -> Self {
        Self { at: row.at, lane: row.lane.clone(), seq: row.seq }
    }
}

/// What is told of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    pub place: LogPlace,
    pub event: String,
    /// The slug of the organization whose customer may read it.
    pub organization: Option<String>,
    /// The entity whose commit wrote it.
    pub kind: String,
    pub id: String,
    /// In JSON.
    pub detail: String,
}

impl LogEntry {
    /// Reads the columns that the queries for entries have, in their order.
    pub(super) fn read(row: &Row) -> engine::Result<Self> {
        let at = Timestamp::from_millis(row.int(2)?);
        Ok(Self {
            place: LogPlace { at, lane: row.text(0)?, seq: row.int(1)? },
            event: row.text(3)?,
            organization: row.optional_text(4)?,
            kind: row.text(5)?,
            id: row.text(6)?,
            detail: row.text(7)?,
        })
    }
}
