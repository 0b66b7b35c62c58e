//! Rows as another process reads them.

use crate::database::Database;
use rusqlite::types::Value;
use sqlx::Row as _;

impl Database {
    /// Reads rows of so many columns of text.
    pub async fn texts<const COLUMNS: usize>(
        &mut self,
        sql: &'static str,
    ) -> Vec<[String; COLUMNS]> {
        match self {
            Self::Sqlite(c) => {
                let mut statement = c.prepare(sql).unwrap();
                let text = |value| match value {
                    Value::Text(text) => text,
                    other => panic!("no text: {other:?}"),
                };
                let rows = statement.query_map([], |row| {
                    Ok(std::array::from_fn(|column| text(row.get(column).unwrap())))
                });
                rows.unwrap().collect::<rusqlite::Result<_>>().unwrap()
            }
            Self::Postgres(c) => {
                let rows = sqlx::query(sql).fetch_all(c).await.unwrap();
                rows.iter().map(|row| std::array::from_fn(|column| row.get(column))).collect()
            }
        }
    }
}
