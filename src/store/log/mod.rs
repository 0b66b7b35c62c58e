//! The security log as its readers see it; [`verify`] proves it, [`retention`] shortens it.

mod entry;
mod evidence;
mod follow;
mod history;
mod list;
pub(super) mod retention;
pub(super) mod trail;
mod verify;

pub use entry::{LogEntry, LogPlace};
pub use verify::{Finding, Proof};

use super::{
    CommitError, Head, LogRow, ReadError, Store,
    chain::ROOT,
    engine,
    maintenance::{Maintenance, Outcome},
    sql,
    value::Value,
};
use crate::domain::Timestamp;
use std::collections::BTreeSet;

/// How many rows are read at a time.
const PAGE: i64 = 1_000;

impl Store {
    /// Names every lane's head in the log and returns them, for keeping outside the database.
    pub async fn anchor_log(&self, now: Timestamp) -> Result<Vec<Head>, CommitError> {
        match self.run_maintenance(Maintenance::Anchor { now }).await? {
            Outcome::Heads(heads) => Ok(heads),
            Outcome::Count(_) => Err(CommitError::Unknown),
        }
    }

    async fn recorded_heads(&self) -> Result<Vec<Head>, ReadError> {
        let rows = self.scan(sql::LANES, &[]).await?;
        Ok(rows.iter().map(Head::read).collect::<engine::Result<_>>()?)
    }

    /// Tells whether anything but the log's records of itself was written after `heads`.
    pub async fn log_written_after(&self, heads: &[Head]) -> Result<bool, ReadError> {
        for Head { lane, .. } in self.recorded_heads().await? {
            let seen = heads.iter().find(|head| head.lane == lane).map_or(0, |head| head.seq);
            let asked = [Value::Text(&lane), Value::Int(seen), Value::Text("log")];
            if !self.scan(sql::LOG_WRITTEN_AFTER, &asked).await?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Tells whether our keys know the last row of the root lane; a log without one fits any keys.
    pub async fn log_is_ours(&self) -> Result<bool, ReadError> {
        let heads = self.recorded_heads().await?;
        let Some(root) = heads.into_iter().find(|head| head.lane == ROOT && head.seq > 0) else {
            return Ok(true);
        };
        let last = self.log_page(ROOT, root.seq - 1).await?;
        Ok(last.first().is_none_or(|row| self.inner.chain_keys.mac(&row.mac_key, &[]).is_some()))
    }

    /// Reads a page of one lane, after row `after`.
    pub async fn log_page(&self, lane: &str, after: i64) -> Result<Vec<LogRow>, ReadError> {
        self.log_rows(lane, after, PAGE).await
    }

    async fn log_rows(&self, lane: &str, after: i64, most: i64) -> Result<Vec<LogRow>, ReadError> {
        let values = [Value::Text(lane), Value::Int(after), Value::Int(most)];
        let rows = self.scan(sql::LOG_PAGE, &values).await?;
        Ok(rows.iter().map(|row| LogRow::read(lane, row)).collect::<engine::Result<_>>()?)
    }

    /// Returns every lane that has rows or a head.
    pub async fn log_lanes(&self) -> Result<Vec<String>, ReadError> {
        let heads = self.recorded_heads().await?;
        let mut lanes: BTreeSet<String> = heads.into_iter().map(|head| head.lane).collect();
        let mut rows = self.scan(sql::LOG_FIRST_LANE, &[]).await?;
        while let Some(lane) = rows.first().map(|row| row.optional_text(0)).transpose()?.flatten() {
            rows = self.scan(sql::LOG_NEXT_LANE, &[Value::Text(&lane)]).await?;
            lanes.insert(lane);
        }
        Ok(lanes.into_iter().collect())
    }
}
