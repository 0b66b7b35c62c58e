//! The only file that knows which database it is: pragmas, BEGIN, locks, triggers.

mod faults;
mod triggers;

pub(super) use faults::{is_busy, is_missing_table, is_passing};

use super::{
    batch::{Batch, Bound},
    sql,
    value::{Row, Value, bind_all},
};
use sqlx::{
    ConnectOptions as _, Connection as _, PgConnection, PgPool, SqliteConnection, SqlitePool,
    pool::PoolConnection,
    postgres::{PgConnectOptions, PgPoolOptions},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use std::{path::Path, str::FromStr as _, sync::LazyLock, time::Duration};
use tokio::time::timeout;

/// How long a statement may wait for a lock another process holds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a read may take, from asking for a connection to its last row.
const READ_TIMEOUT: Duration = Duration::from_secs(8);

/// A connection that was idle for longer is tested before it is used.
const TRUSTED_FOR: Duration = Duration::from_secs(10);

/// [`sql::LIVENESS`] on PostgreSQL for required rows: they stay as they are until we commit.
static LIVENESS_REQUIRED: LazyLock<Batch> = LazyLock::new(|| sql::liveness_with("FOR SHARE OF e"));

/// The same for rows that will be changed: locked in one order, so that groups cannot deadlock.
static LIVENESS_CHANGED: LazyLock<Batch> =
    LazyLock::new(|| sql::liveness_with("FOR NO KEY UPDATE OF e"));

/// Which database, and how to reach it.
#[derive(Clone)]
pub(super) enum Engine {
    Sqlite(Box<SqliteConnectOptions>),
    Postgres(Box<PgConnectOptions>),
}

impl Engine {
    /// Reads `sqlite:…` or `postgres://…`; the error names the URL's scheme and never its password.
    pub(super) fn parse(url: &str) -> Result<Self, sqlx::Error> {
        if url.contains(":memory:") || url.contains("mode=memory") {
            let why = "a store in memory would be gone with its connection: name a file";
            return Err(sqlx::Error::Configuration(why.into()));
        }
        if url.starts_with("sqlite:") {
            let options = SqliteConnectOptions::from_str(url)?
                .create_if_missing(true)
                // NORMAL may lose the last commits at power loss; group commit pays for FULL.
                .synchronous(SqliteSynchronous::Full)
                .busy_timeout(LOCK_TIMEOUT)
                .statement_cache_capacity(256)
                .pragma("temp_store", "memory")
                .disable_statement_logging();
            return Ok(Self::Sqlite(Box::new(options)));
        }
        if url.starts_with("postgres:") || url.starts_with("postgresql:") {
            let options = PgConnectOptions::from_str(url)?
                .application_name("porteiro")
                .statement_cache_capacity(256)
                .options([
                    ("lock_timeout", "5000"),
                    ("statement_timeout", "10000"),
                    // A node that vanished must not keep its rows locked until TCP notices.
                    ("idle_in_transaction_session_timeout", "15000"),
                    ("tcp_keepalives_idle", "30"),
                ])
                .disable_statement_logging();
            return Ok(Self::Postgres(Box::new(options)));
        }
        Err(sqlx::Error::Configuration("a store is sqlite:… or postgres://…".into()))
    }

    /// How many transactions may be written at once: SQLite has one writer whatever we do.
    pub(super) fn writers(&self) -> usize {
        match self {
            Self::Sqlite(_) => 1,
            Self::Postgres(_) => 4,
        }
    }

    /// Opens a connection to write with.
    pub(super) async fn connect(&self) -> sqlx::Result<Connection> {
        match self {
            Self::Sqlite(options) => {
                create_private_file(options.get_filename());
                // Set here alone: a read-only connection cannot set it, and a restored file may lack it.
                let options = (**options).clone().journal_mode(SqliteJournalMode::Wal);
                Ok(Connection::Sqlite(SqliteConnection::connect_with(&options).await?))
            }
            Self::Postgres(options) => {
                Ok(Connection::Postgres(PgConnection::connect_with(options).await?))
            }
        }
    }

    /// Opens a connection that only reads; creates no file.
    pub(super) async fn connect_read_only(&self) -> sqlx::Result<Connection> {
        match self {
            Self::Sqlite(options) => {
                let options = (**options).clone().read_only(true).create_if_missing(false);
                Ok(Connection::Sqlite(SqliteConnection::connect_with(&options).await?))
            }
            Self::Postgres(_) => self.connect().await,
        }
    }

    /// Tells whether this is a file that is still to be made, in a folder that is there.
    pub(super) fn is_new_file(&self) -> std::io::Result<bool> {
        let Self::Sqlite(options) = self else { return Ok(false) };
        let file = options.get_filename();
        if file.try_exists()? {
            return Ok(false);
        }
        match file.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.read_dir().map(|_| true),
            _ => Ok(true),
        }
    }

    /// Opens the pool that everything is read from; connections are made when first needed.
    pub(super) fn readers(&self) -> Readers {
        Readers { pool: self.pool(), timeout: READ_TIMEOUT }
    }

    fn pool(&self) -> Pool {
        match self {
            Self::Sqlite(options) => {
                let options = (**options).clone().read_only(true).create_if_missing(false);
                let pool =
                    SqlitePoolOptions::new().max_connections(4).acquire_timeout(LOCK_TIMEOUT);
                Pool::Sqlite(pool.connect_lazy_with(options))
            }
            Self::Postgres(options) => {
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
                Pool::Postgres(pool.connect_lazy_with((**options).clone()))
            }
        }
    }
}

/// Creates the database file readable by its owner alone; SQLite gives its other files that mode, too.
fn create_private_file(file: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // A file that exists keeps the mode its owner gave it; a path that cannot be created gives
        // its error when SQLite opens it.
        let _ = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    }
}

/// A connection that writes; COMMIT is a statement of ours, so that its failure is seen as such.
pub(super) enum Connection {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Connection {
    pub(super) async fn begin(&mut self) -> sqlx::Result<()> {
        match self {
            // IMMEDIATE takes the write lock now: a lock upgrade later could fail half way.
            Self::Sqlite(_) => self.execute("BEGIN IMMEDIATE", &[]).await.map(drop),
            // Spelled out: a server's own default must not turn conflicts into errors.
            Self::Postgres(_) => {
                let begin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
                self.execute(begin, &[]).await.map(drop)
            }
        }
    }

    pub(super) async fn commit(&mut self) -> sqlx::Result<()> {
        self.execute("COMMIT", &[]).await.map(drop)
    }

    pub(super) async fn rollback(&mut self) -> sqlx::Result<()> {
        self.execute("ROLLBACK", &[]).await.map(drop)
    }

    /// Begins the transaction in which one process at a time migrates, however long it takes.
    pub(super) async fn begin_migration(&mut self) -> sqlx::Result<()> {
        match self {
            Self::Sqlite(_) => {
                self.run_script("PRAGMA busy_timeout = 600000").await?;
                let begun = self.begin().await;
                self.run_script("PRAGMA busy_timeout = 5000").await?;
                begun
            }
            Self::Postgres(_) => {
                self.begin().await?;
                self.run_script("SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0")
                    .await?;
                self.execute("SELECT pg_advisory_xact_lock(7231402551)", &[]).await.map(drop)
            }
        }
    }

    /// Runs `sql` and says how many rows it touched.
    pub(super) async fn execute(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> sqlx::Result<u64> {
        match self {
            Self::Sqlite(c) => {
                Ok(bind_all!(sqlx::query(sql), values).execute(c).await?.rows_affected())
            }
            Self::Postgres(c) => {
                Ok(bind_all!(sqlx::query(sql), values).execute(c).await?.rows_affected())
            }
        }
    }

    /// Runs a script of several statements, as migrations are.
    pub(super) async fn run_script(&mut self, script: &'static str) -> sqlx::Result<()> {
        match self {
            Self::Sqlite(c) => sqlx::raw_sql(script).execute(c).await.map(drop),
            Self::Postgres(c) => sqlx::raw_sql(script).execute(c).await.map(drop),
        }
    }

    pub(super) async fn fetch(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> sqlx::Result<Vec<Row>> {
        Ok(match self {
            Self::Sqlite(c) => {
                let rows = bind_all!(sqlx::query(sql), values).fetch_all(c).await?;
                rows.into_iter().map(Row::Sqlite).collect()
            }
            Self::Postgres(c) => {
                let rows = bind_all!(sqlx::query(sql), values).fetch_all(c).await?;
                rows.into_iter().map(Row::Postgres).collect()
            }
        })
    }

    /// Runs every statement of a batch and returns what comes back.
    pub(super) async fn fetch_batch(&mut self, batch: &Bound<'_>) -> sqlx::Result<Vec<Row>> {
        let mut rows = Vec::new();
        for (sql, values) in batch.statements() {
            rows.append(&mut self.fetch(sql, values).await?);
        }
        Ok(rows)
    }

    /// Runs every statement of a batch and counts the rows they touched.
    pub(super) async fn execute_batch(&mut self, batch: &Bound<'_>) -> sqlx::Result<u64> {
        let mut touched = 0;
        for (sql, values) in batch.statements() {
            touched += self.execute(sql, values).await?;
        }
        Ok(touched)
    }

    /// Reads the liveness of entities and keeps them as they are until the transaction ends.
    pub(super) async fn lock_required(&mut self, asked: &[(&str, &str)]) -> sqlx::Result<Vec<Row>> {
        match self {
            Self::Sqlite(_) => self.fetch_batch(&sql::LIVENESS.for_entities(asked)).await,
            Self::Postgres(_) => self.fetch_batch(&LIVENESS_REQUIRED.for_entities(asked)).await,
        }
    }

    /// Locks entities that will be changed, in the order asked, and reads their liveness.
    ///
    /// SQLite has locked the whole file already: there they are only read, and only if `want_to_know`.
    pub(super) async fn lock_changed(
        &mut self,
        asked: &[(&str, &str)],
        want_to_know: bool,
    ) -> sqlx::Result<Option<Vec<Row>>> {
        match self {
            Self::Sqlite(_) if !want_to_know => Ok(None),
            Self::Sqlite(_) => self.fetch_batch(&sql::LIVENESS.for_entities(asked)).await.map(Some),
            Self::Postgres(_) => {
                self.fetch_batch(&LIVENESS_CHANGED.for_entities(asked)).await.map(Some)
            }
        }
    }

    /// Makes the security log append-only for every user of the database.
    pub(super) async fn install_triggers(&mut self) -> sqlx::Result<()> {
        let script = match self {
            Self::Sqlite(_) => triggers::SQLITE,
            Self::Postgres(_) => triggers::POSTGRES,
        };
        self.run_script(script).await
    }

    /// Ends the connection in order.
    pub(super) async fn close(self) {
        let closed = match self {
            Self::Sqlite(c) => c.close().await,
            Self::Postgres(c) => c.close().await,
        };
        if let Err(error) = closed {
            tracing::debug!(%error, "store connection did not close in order");
        }
    }
}

fn too_late() -> sqlx::Error {
    sqlx::Error::PoolTimedOut
}

/// The pool that everything is read from.
#[derive(Clone)]
pub(super) struct Readers {
    pool: Pool,
    timeout: Duration,
}

#[derive(Clone)]
enum Pool {
    Sqlite(SqlitePool),
    Postgres(PgPool),
}

impl Readers {
    /// Reads, or fails in bounded time whatever the network does.
    pub(super) async fn fetch(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> sqlx::Result<Vec<Row>> {
        match &self.pool {
            Pool::Sqlite(pool) => {
                let read = bind_all!(sqlx::query(sql), values).fetch_all(pool);
                let rows = timeout(self.timeout, read).await.unwrap_or(Err(too_late()))?;
                Ok(rows.into_iter().map(Row::Sqlite).collect())
            }
            Pool::Postgres(pool) => {
                let mut taken = None;
                // The wait for a connection is part of the time that a read may take.
                let read = timeout(self.timeout, async {
                    let connection = taken.insert(pool.acquire().await?);
                    bind_all!(sqlx::query(sql), values).fetch_all(&mut **connection).await
                });
                let Ok(rows) = read.await else {
                    // Given back, the connection would be tested and keep its slot in the pool until
                    // it answers: where the network swallows the question, that is for ever.
                    drop(taken.map(PoolConnection::detach));
                    return Err(too_late());
                };
                Ok(rows?.into_iter().map(Row::Postgres).collect())
            }
        }
    }

    /// Reads the liveness of entities, 64 to a query.
    pub(super) async fn liveness(&self, asked: &[(&str, &str)]) -> sqlx::Result<Vec<Row>> {
        let mut rows = Vec::new();
        for (sql, values) in sql::LIVENESS.for_entities(asked).statements() {
            rows.append(&mut self.fetch(sql, values).await?);
        }
        Ok(rows)
    }

    pub(super) async fn close(&self) {
        match &self.pool {
            Pool::Sqlite(pool) => pool.close().await,
            Pool::Postgres(pool) => pool.close().await,
        }
    }
}

#[cfg(test)]
#[path = "engine/tests.rs"]
mod tests;
