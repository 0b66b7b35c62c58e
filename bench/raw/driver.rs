//! The same rows through the driver the product uses, without the kernel round it.

use super::{ROWS, state};
use rusqlite::{Connection, params};
use std::{path::Path, time::Instant};

pub(crate) struct Driver {
    connection: Connection,
    generation: i64,
}

const ADVANCE: &str = "UPDATE entities SET version = version + 1, state = ?1, live_until = ?2, \
     forget_at = ?3 WHERE kind = ?4 AND id = ?5 AND version = ?6";

impl Driver {
    pub(crate) fn open(path: &Path) -> Self {
        let connection = Connection::open(path).unwrap();
        connection.pragma_update(None, "journal_mode", "wal").unwrap();
        connection.pragma_update(None, "synchronous", "full").unwrap();
        let schema = include_str!("../../migrations/0001_entities.sql");
        connection.execute_batch(schema).unwrap();
        for row in 0..ROWS {
            let insert = "INSERT INTO entities (kind, id, version, revision, state, live_until) \
                         VALUES ('family', ?1, 1, 1, ?2, 1)";
            connection.execute(insert, params![format!("family-{row:04}"), state(0)]).unwrap();
        }
        Self { connection, generation: 1 }
    }

    /// Rows per second over so many transactions of 64 compare-and-swaps.
    pub(crate) fn rate(&mut self, transactions: i64) -> f64 {
        let begun = Instant::now();
        for _ in 0..transactions {
            self.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
            for row in 0..ROWS {
                let mut advance = self.connection.prepare_cached(ADVANCE).unwrap();
                let id = format!("family-{row:04}");
                let state = state(self.generation);
                let values = params![state, i64::MAX, None::<i64>, "family", id, self.generation];
                assert_eq!(advance.execute(values).unwrap(), 1);
            }
            self.connection.execute_batch("COMMIT").unwrap();
            self.generation += 1;
        }
        (transactions * ROWS) as f64 / begun.elapsed().as_secs_f64()
    }
}
