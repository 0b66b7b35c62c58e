//! The security log as the person reads it whom it is about.

use super::super::{ReadError, Store, sql, value::Value};
use crate::domain::Timestamp;

/// A place in the history of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryPlace {
    pub at: Timestamp,
    pub lane: String,
    pub seq: i64,
}

impl HistoryPlace {
    /// After everything.
    pub fn end() -> Self {
        Self { at: Timestamp::FOREVER, lane: String::new(), seq: 0 }
    }
}

/// A row of that history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryRow {
    pub place: HistoryPlace,
    pub event: String,
    /// The slug of the organization whose customer may read it.
    pub organization: Option<String>,
    /// The entity whose commit wrote it.
    pub kind: String,
    pub id: String,
    /// In JSON.
    pub detail: String,
}

impl Store {
    /// Reads what the log says of an account before a place, the newest first.
    pub async fn history(
        &self,
        account: &str,
        before: &HistoryPlace,
        most: u32,
    ) -> Result<Vec<HistoryRow>, ReadError> {
        let values = [
            Value::Text(account),
            Value::Int(before.at.millis()),
            Value::Text(&before.lane),
            Value::Int(before.seq),
            Value::Int(most.into()),
        ];
        let rows = self.read(sql::LOG_OF_ACCOUNT, &values).await?;
        let mut history = Vec::with_capacity(rows.len());
        for row in &rows {
            let at = Timestamp::from_millis(row.int(2)?);
            history.push(HistoryRow {
                place: HistoryPlace { at, lane: row.text(0)?, seq: row.int(1)? },
                event: row.text(3)?,
                organization: row.optional_text(4)?,
                kind: row.text(5)?,
                id: row.text(6)?,
                detail: row.text(7)?,
            });
        }
        Ok(history)
    }
}
