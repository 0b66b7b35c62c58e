//! The security log in the order of time, of the whole installation or of one organization.

use super::{
    super::{
        LogRow, ReadError, Store, engine, sql,
        value::{Row, Value},
    },
    entry::LogPlace,
};

/// How many rows are read at a time.
const PAGE: i64 = 500;

impl Store {
    /// Reads a page of the log after a place; of one organization, if it is named. An empty page is the
    /// end of it.
    pub async fn log_after(
        &self,
        organization: Option<&str>,
        place: &LogPlace,
    ) -> Result<Vec<LogRow>, ReadError> {
        let LogPlace { at, lane, seq } = place;
        let [at, lane, seq] = [Value::Int(at.millis()), Value::Text(lane), Value::Int(*seq)];
        let rows = match organization {
            None => self.scan(sql::LOG_AFTER, &[at, lane, seq, Value::Int(PAGE)]).await?,
            Some(slug) => {
                let values = [at, lane, seq, Value::Text(slug), Value::Int(PAGE)];
                self.scan(sql::LOG_OF_ORGANIZATION_AFTER, &values).await?
            }
        };
        // The lane comes after the columns of one lane's page.
        let read = |row: &Row| LogRow::read(&row.text(9)?, row);
        Ok(rows.iter().map(read).collect::<engine::Result<_>>()?)
    }
}
