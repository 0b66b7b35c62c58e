//! The security log as the person reads it whom it is about.

use super::{
    super::{ReadError, Store, engine, sql, value::Value},
    entry::{LogEntry, LogPlace},
};

impl Store {
    /// Reads what the log says of an account before a place, the newest first.
    pub async fn history(
        &self,
        account: &str,
        before: &LogPlace,
        most: u32,
    ) -> Result<Vec<LogEntry>, ReadError> {
        let values = [
            Value::Text(account),
            Value::Int(before.at.millis()),
            Value::Text(&before.lane),
            Value::Int(before.seq),
            Value::Int(most.into()),
        ];
        let rows = self.scan(sql::LOG_OF_ACCOUNT, &values).await?;
        Ok(rows.iter().map(LogEntry::read).collect::<engine::Result<_>>()?)
    }
}
