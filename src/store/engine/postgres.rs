//! PostgreSQL: several connections that write, a pool that reads.

use super::{
    LOCK_TIMEOUT, READ_TIMEOUT,
    faults::{DatabaseError, Result},
};
use crate::store::{
    batch::Batch,
    sql,
    value::{Row, Value, bind_all},
};
use sqlx::{
    ConnectOptions as _, Connection as _, PgPool,
    pool::PoolConnection,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use std::{str::FromStr as _, sync::LazyLock, time::Duration};
use tokio::time::timeout;

/// A connection that was idle for longer is tested before it is used.
const TRUSTED_FOR: Duration = Duration::from_secs(10);

/// [`sql::LIVENESS`] for required rows: they stay as they are until we commit.
pub(super) static LIVENESS_REQUIRED: LazyLock<Batch> =
    LazyLock::new(|| sql::liveness_with("FOR SHARE OF e"));

/// The same for rows that will be changed: locked in one order, so that groups cannot deadlock.
pub(super) static LIVENESS_CHANGED: LazyLock<Batch> =
    LazyLock::new(|| sql::liveness_with("FOR NO KEY UPDATE OF e"));

pub(super) fn parse(url: &str) -> Result<PgConnectOptions> {
    Ok(PgConnectOptions::from_str(url)?
        .application_name("porteiro")
        .statement_cache_capacity(256)
        .options([
            ("lock_timeout", "5000"),
            ("statement_timeout", "10000"),
            // A node that vanished must not keep its rows locked until TCP notices.
            ("idle_in_transaction_session_timeout", "15000"),
            ("tcp_keepalives_idle", "30"),
        ])
        .disable_statement_logging())
}

/// The pool that everything is read from.
#[derive(Clone)]
pub(in crate::store) struct Readers {
    pool: PgPool,
    pub(super) timeout: Duration,
}

impl Readers {
    /// Opens no connection before it is needed.
    pub(super) fn of(options: PgConnectOptions) -> Self {
        let pool = PgPoolOptions::new()
            .max_connections(8)
            .acquire_timeout(LOCK_TIMEOUT)
            .test_before_acquire(false)
            .before_acquire(|connection, meta| {
                Box::pin(async move {
                    if meta.idle_for > TRUSTED_FOR {
                        connection.ping().await?;
                    }
                    Ok(true)
                })
            });
        Self { pool: pool.connect_lazy_with(options), timeout: READ_TIMEOUT }
    }

    /// Reads, or fails in bounded time whatever the network does.
    pub(super) async fn fetch(&self, sql: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>> {
        let mut taken = None;
        // The wait for a connection is part of the time that a read may take.
        let read = timeout(self.timeout, async {
            let connection = taken.insert(self.pool.acquire().await?);
            bind_all!(sqlx::query(sql), values).fetch_all(&mut **connection).await
        });
        let Ok(rows) = read.await else {
            // Given back, the connection would be tested and keep its slot in the pool until
            // it answers: where the network swallows the question, that is for ever.
            drop(taken.map(PoolConnection::detach));
            return Err(DatabaseError::TimedOut);
        };
        Ok(rows?.into_iter().map(Row::Postgres).collect())
    }

    pub(super) async fn close(&self) {
        self.pool.close().await;
    }
}

#[cfg(test)]
#[path = "postgres_tests.rs"]
mod tests;
