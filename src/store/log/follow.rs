//! The security log lane by lane, for what follows it: numbers of a lane have no gaps, and become
//! visible in their order.

use super::super::{
    Head, LogRow, ReadError, Store, engine, sql,
    value::{Row, Value},
};
use crate::domain::Timestamp;

impl Store {
    /// Returns the last row of every lane.
    pub async fn log_heads(&self) -> Result<Vec<Head>, ReadError> {
        self.recorded_heads().await
    }

    /// Reads up to `most` rows of a lane, after row `after`.
    pub async fn log_part(
        &self,
        lane: &str,
        after: i64,
        most: u32,
    ) -> Result<Vec<LogRow>, ReadError> {
        self.log_rows(lane, after, most.into()).await
    }

    /// Returns the first row of each lane that was written at this time or later.
    pub async fn log_since(&self, at: Timestamp) -> Result<Vec<(String, i64)>, ReadError> {
        let rows = self.scan(sql::LOG_SINCE, &[Value::Int(at.millis())]).await?;
        let read = |row: &Row| Ok((row.text(0)?, row.int(1)?));
        Ok(rows.iter().map(read).collect::<engine::Result<_>>()?)
    }
}
