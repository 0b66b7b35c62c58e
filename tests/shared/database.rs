//! A database client beside the product: another process that reads and changes rows by hand.

use crate::shared::straight;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

pub enum Database {
    Sqlite(rusqlite::Connection),
    Postgres(PgConnection),
}

impl Database {
    pub async fn at(url: &str) -> Self {
        if url.starts_with("postgres") {
            return Self::Postgres(PgConnection::connect(&straight(url)).await.unwrap());
        }
        let connection =
            rusqlite::Connection::open(url.strip_prefix("sqlite://").unwrap()).unwrap();
        connection.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
        Self::Sqlite(connection)
    }

    /// Runs a statement and says how many rows it touched, or what the database said.
    pub async fn run(&mut self, sql: impl Into<String>) -> Result<u64, String> {
        let sql = sql.into();
        match self {
            Self::Sqlite(c) => {
                c.execute_batch(&sql).map(|()| c.changes()).map_err(|error| error.to_string())
            }
            Self::Postgres(c) => {
                let ran = sqlx::query(AssertSqlSafe(sql)).execute(c).await;
                ran.map(|ran| ran.rows_affected()).map_err(|error| error.to_string())
            }
        }
    }
}
