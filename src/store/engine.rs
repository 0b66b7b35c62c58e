//! The only file that knows which database it is: pragmas, BEGIN, locks, triggers.

use super::{
    sql::{self, Batch},
    value::{Row, Value, bind_all},
};
use sqlx::{
    ConnectOptions as _, Connection as _, PgConnection, PgPool, SqliteConnection, SqlitePool,
    postgres::{PgConnectOptions, PgPoolOptions},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use std::{path::Path, str::FromStr as _, sync::LazyLock, time::Duration};

/// How long a statement may wait for a lock another process holds.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);

/// PostgreSQL's share of [`sql::STANDING`]: a required row stays as it is until we commit.
static STANDING_HELD: LazyLock<Batch> = LazyLock::new(|| sql::standing_with("FOR SHARE OF e"));

/// The same for rows about to be changed: taken in one order, so that groups cannot deadlock.
static STANDING_TAKEN: LazyLock<Batch> =
    LazyLock::new(|| sql::standing_with("FOR NO KEY UPDATE OF e"));

/// Which database, and how to reach it.
#[derive(Clone)]
pub(super) enum Engine {
    Sqlite(Box<SqliteConnectOptions>),
    Postgres(Box<PgConnectOptions>),
}

impl Engine {
    /// Reads `sqlite:…` or `postgres://…`; the error names the URL's scheme and never its password.
    pub(super) fn parse(url: &str) -> Result<Self, sqlx::Error> {
        if url.starts_with("sqlite:") {
            let options = SqliteConnectOptions::from_str(url)?
                .create_if_missing(true)
                .journal_mode(SqliteJournalMode::Wal)
                // NORMAL may lose the last commits at power loss; group commit pays for FULL.
                .synchronous(SqliteSynchronous::Full)
                .busy_timeout(LOCK_PATIENCE)
                .statement_cache_capacity(128)
                .pragma("temp_store", "memory")
                .disable_statement_logging();
            return Ok(Self::Sqlite(Box::new(options)));
        }
        if url.starts_with("postgres:") || url.starts_with("postgresql:") {
            let options = PgConnectOptions::from_str(url)?
                .application_name("porteiro")
                .options([("lock_timeout", "5000"), ("statement_timeout", "10000")])
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
                keep_to_ourselves(options.get_filename());
                Ok(Connection::Sqlite(SqliteConnection::connect_with(options).await?))
            }
            Self::Postgres(options) => {
                Ok(Connection::Postgres(PgConnection::connect_with(options).await?))
            }
        }
    }

    /// Opens the pool that everything is read from; connections are made when first needed.
    pub(super) fn readers(&self) -> Readers {
        match self {
            Self::Sqlite(options) => {
                let options = (**options).clone().read_only(true).create_if_missing(false);
                let pool =
                    SqlitePoolOptions::new().max_connections(4).acquire_timeout(LOCK_PATIENCE);
                Readers::Sqlite(pool.connect_lazy_with(options))
            }
            Self::Postgres(options) => {
                let pool = PgPoolOptions::new().max_connections(8).acquire_timeout(LOCK_PATIENCE);
                Readers::Postgres(pool.connect_lazy_with((**options).clone()))
            }
        }
    }
}

/// Creates the database file readable by its owner alone; SQLite's own files beside it follow suit.
fn keep_to_ourselves(file: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // A file that exists keeps the mode its owner gave it; a path that cannot be created gives
        // its error when SQLite opens it.
        let _ = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    }
}

/// A connection that writes; transactions are spelled out, so that a failed COMMIT is seen as such.
pub(super) enum Connection {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Connection {
    pub(super) async fn begin(&mut self) -> sqlx::Result<()> {
        match self {
            // IMMEDIATE takes the write lock now: a lock upgrade later could fail half way.
            Self::Sqlite(_) => self.execute("BEGIN IMMEDIATE", &[]).await.map(drop),
            Self::Postgres(_) => self.execute("BEGIN", &[]).await.map(drop),
        }
    }

    pub(super) async fn commit(&mut self) -> sqlx::Result<()> {
        self.execute("COMMIT", &[]).await.map(drop)
    }

    pub(super) async fn rollback(&mut self) -> sqlx::Result<()> {
        self.execute("ROLLBACK", &[]).await.map(drop)
    }

    /// Takes the lock that lets one process at a time migrate; held until the transaction ends.
    pub(super) async fn begin_alone(&mut self) -> sqlx::Result<()> {
        self.begin().await?;
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(_) => {
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

    /// Runs `batch` over all `values`, a whole number of rows, in as few statements as it has texts.
    pub(super) async fn fetch_batch(
        &mut self,
        batch: &Batch,
        values: &[Value<'_>],
    ) -> sqlx::Result<Vec<Row>> {
        let mut rows = Vec::new();
        let mut rest = values;
        for (size, text) in batch.split(values.len() / batch.columns) {
            let (run, after) = rest.split_at(size * batch.columns);
            rows.append(&mut self.fetch(text, run).await?);
            rest = after;
        }
        Ok(rows)
    }

    /// Reads the standing of `keys` and keeps them from changing until the transaction ends.
    pub(super) async fn hold(&mut self, keys: &[Value<'_>]) -> sqlx::Result<Vec<Row>> {
        match self {
            Self::Sqlite(_) => self.fetch_batch(&sql::STANDING, keys).await,
            Self::Postgres(_) => self.fetch_batch(&STANDING_HELD, keys).await,
        }
    }

    /// Locks the rows about to be changed in one order; SQLite has locked the whole file already.
    pub(super) async fn take(&mut self, keys: &[Value<'_>]) -> sqlx::Result<()> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(_) => self.fetch_batch(&STANDING_TAKEN, keys).await.map(drop),
        }
    }

    /// Makes the security log append-only, whoever writes to it.
    pub(super) async fn install_triggers(&mut self) -> sqlx::Result<()> {
        let script = match self {
            Self::Sqlite(_) => SQLITE_TRIGGERS,
            Self::Postgres(_) => POSTGRES_TRIGGERS,
        };
        self.run_script(script).await
    }

    /// Ends the connection without waiting for anything.
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

/// The pool that everything is read from.
#[derive(Clone)]
pub(super) enum Readers {
    Sqlite(SqlitePool),
    Postgres(PgPool),
}

impl Readers {
    pub(super) async fn fetch(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> sqlx::Result<Vec<Row>> {
        Ok(match self {
            Self::Sqlite(pool) => {
                let rows = bind_all!(sqlx::query(sql), values).fetch_all(pool).await?;
                rows.into_iter().map(Row::Sqlite).collect()
            }
            Self::Postgres(pool) => {
                let rows = bind_all!(sqlx::query(sql), values).fetch_all(pool).await?;
                rows.into_iter().map(Row::Postgres).collect()
            }
        })
    }

    pub(super) async fn close(&self) {
        match self {
            Self::Sqlite(pool) => pool.close().await,
            Self::Postgres(pool) => pool.close().await,
        }
    }
}

const SQLITE_TRIGGERS: &str = "
CREATE TRIGGER IF NOT EXISTS security_log_keeps_rows BEFORE UPDATE ON security_log
BEGIN SELECT RAISE(ABORT, 'the security log is append-only'); END;

CREATE TRIGGER IF NOT EXISTS security_log_keeps_all_rows BEFORE DELETE ON security_log
WHEN NOT EXISTS (SELECT 1 FROM log_retention r WHERE r.lane = OLD.lane AND r.seq >= OLD.seq)
BEGIN SELECT RAISE(ABORT, 'the security log is append-only'); END;
";

const POSTGRES_TRIGGERS: &str = "
CREATE OR REPLACE FUNCTION security_log_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND EXISTS (
        SELECT 1 FROM log_retention r WHERE r.lane = OLD.lane AND r.seq >= OLD.seq
    ) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'the security log is append-only';
END $$;

CREATE OR REPLACE TRIGGER security_log_keeps_rows BEFORE UPDATE OR DELETE ON security_log
FOR EACH ROW EXECUTE FUNCTION security_log_is_append_only();

CREATE OR REPLACE TRIGGER security_log_keeps_all_rows BEFORE TRUNCATE ON security_log
FOR EACH STATEMENT EXECUTE FUNCTION security_log_is_append_only();
";
