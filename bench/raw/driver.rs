//! The same rows through the driver the product uses, without the kernel round it.

use super::{ROWS, state};
use sqlx::{
    Connection as _, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};
use std::{path::Path, time::Instant};

pub(crate) struct Driver {
    connection: SqliteConnection,
    generation: i64,
}

const ADVANCE: &str = "UPDATE entities SET version = version + 1, state = $1, live_until = $2, \
     forget_at = $3 WHERE kind = $4 AND id = $5 AND version = $6";

impl Driver {
    pub(crate) async fn open(path: &Path) -> Self {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full);
        let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
        let schema = include_str!("../../migrations/0001_entities.sql");
        sqlx::raw_sql(schema).execute(&mut connection).await.unwrap();
        for row in 0..ROWS {
            sqlx::query(
                "INSERT INTO entities (kind, id, version, revision, state, live_until) \
                         VALUES ('family', $1, 1, 1, $2, 1)",
            )
            .bind(format!("family-{row:04}"))
            .bind(state(0))
            .execute(&mut connection)
            .await
            .unwrap();
        }
        Self { connection, generation: 1 }
    }

    /// Rows per second over so many transactions of 64 compare-and-swaps.
    pub(crate) async fn rate(&mut self, transactions: i64) -> f64 {
        let begun = Instant::now();
        for _ in 0..transactions {
            let mut transaction = self.connection.begin_with("BEGIN IMMEDIATE").await.unwrap();
            for row in 0..ROWS {
                let swapped = sqlx::query(ADVANCE)
                    .bind(state(self.generation))
                    .bind(i64::MAX)
                    .bind(None::<i64>)
                    .bind("family")
                    .bind(format!("family-{row:04}"))
                    .bind(self.generation)
                    .execute(&mut *transaction)
                    .await
                    .unwrap();
                assert_eq!(swapped.rows_affected(), 1);
            }
            transaction.commit().await.unwrap();
            self.generation += 1;
        }
        (transactions * ROWS) as f64 / begun.elapsed().as_secs_f64()
    }
}
