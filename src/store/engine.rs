//! The only files that know which database it is: drivers, pragmas, BEGIN, locks, triggers.

mod faults;
mod postgres;
mod sqlite;
mod triggers;
mod unfit;

pub use faults::DatabaseError;
pub(super) use faults::{
    AtOnceError, Result, is_busy, is_damaged, is_missing_table, is_passing, is_read_only,
};
pub(super) use sqlite::{Draft, File, beside, sync_folder_of};
pub(super) use triggers::Triggers;

use super::{
    batch::{BoundBatch, BoundBatchSet, Statement},
    sql,
    value::{Liveness, Row, Value},
};
use std::time::Duration;

/// How long a statement may wait for a lock another process holds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a read may take, from asking for a connection to its last row.
const READ_TIMEOUT: Duration = Duration::from_secs(8);

/// How long a process that migrates may wait for another that does.
const MIGRATION_TIMEOUT: Duration = Duration::from_mins(10);

/// Which database, and how to reach it.
#[derive(Clone)]
pub(super) enum Engine {
    Sqlite(sqlite::File),
    Postgres(postgres::Server),
}

impl Engine {
    /// Reads `sqlite:…` or `postgres://…`; the error names the URL's scheme and never its password.
    pub(super) fn parse(url: &str) -> Result<Self> {
        if let Some(address) = url.strip_prefix("sqlite:") {
            return Ok(Self::Sqlite(sqlite::File::parse(address)?));
        }
        if url.starts_with("postgres:") || url.starts_with("postgresql:") {
            return Ok(Self::Postgres(postgres::Server::parse(url)?));
        }
        Err(DatabaseError::Address("a store is sqlite:… or postgres://…"))
    }

    /// How many transactions may be written at once: SQLite has one writer whatever we do.
    pub(super) fn writers(&self) -> usize {
        match self {
            Self::Sqlite(_) => 1,
            Self::Postgres(_) => 4,
        }
    }

    /// Opens a connection to write with.
    pub(super) async fn connect(&self) -> Result<Connection> {
        match self {
            Self::Sqlite(file) => {
                Ok(Connection::Sqlite(file.open_to_write()?, sqlite::Upkeep::of(file.clone())))
            }
            Self::Postgres(server) => Ok(Connection::Postgres(server.connect().await?)),
        }
    }

    /// Opens a connection to a database that no other process uses, and keeps others from it.
    pub(super) async fn connect_alone(&self) -> Result<Connection> {
        match self {
            Self::Sqlite(file) => {
                let busy = |error| if is_busy(&error) { DatabaseError::InUse } else { error };
                let alone = file.open_alone().map_err(busy)?;
                Ok(Connection::Sqlite(alone, sqlite::Upkeep::of(file.clone())))
            }
            Self::Postgres(server) => Ok(Connection::Postgres(server.connect_alone().await?)),
        }
    }

    /// Opens a connection that only reads; creates no file.
    pub(super) async fn connect_read_only(&self) -> Result<Connection> {
        match self {
            Self::Sqlite(file) => {
                let connection = file.open_to_read(LOCK_TIMEOUT)?;
                Ok(Connection::Sqlite(connection, sqlite::Upkeep::of(file.clone())))
            }
            Self::Postgres(_) => self.connect().await,
        }
    }

    /// Tells whether this is a file that is still to be made, in a folder that is there.
    pub(super) fn is_new_file(&self) -> std::io::Result<bool> {
        let Self::Sqlite(file) = self else { return Ok(false) };
        if file.path().try_exists()? {
            return Ok(false);
        }
        match file.path().parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.read_dir().map(|_| true),
            _ => Ok(true),
        }
    }

    /// The same, also where a server of PostgreSQL is a standby: for what looks at a store and decides nothing.
    pub(super) fn or_standby(self) -> Self {
        match self {
            Self::Postgres(server) => Self::Postgres(server.or_standby()),
            file @ Self::Sqlite(_) => file,
        }
    }

    /// Returns what everything is read from; connections are made when first needed.
    pub(super) fn readers(&self) -> Readers {
        match self {
            Self::Sqlite(file) => Readers::Sqlite(sqlite::Readers::of(file.clone())),
            Self::Postgres(server) => Readers::Postgres(postgres::Readers::of(server.clone())),
        }
    }
}

/// A connection that writes; COMMIT is a statement of ours, so that its failure is seen as such.
pub(super) enum Connection {
    /// Its statements run here: the caller has a thread of its own, or waits for nothing else.
    Sqlite(rusqlite::Connection, sqlite::Upkeep),
    Postgres(postgres::Session),
}

impl Connection {
    /// Begins a transaction. On SQLite it waits so long for a lock that another process holds.
    pub(super) async fn begin(&mut self, lock_wait: Duration) -> Result<()> {
        match self {
            // IMMEDIATE takes the write lock now: a lock upgrade later could fail half way.
            Self::Sqlite(connection, upkeep) => {
                upkeep.look(connection)?;
                connection.busy_timeout(lock_wait)?;
                let begun = sqlite::execute(connection, "BEGIN IMMEDIATE", &[]);
                connection.busy_timeout(LOCK_TIMEOUT)?;
                begun.map(drop)
            }
            Self::Postgres(session) => session.begin().await,
        }
    }

    pub(super) async fn commit(&mut self) -> Result<()> {
        match self {
            Self::Sqlite(connection, _) => sqlite::execute(connection, "COMMIT", &[]).map(drop),
            Self::Postgres(session) => session.commit().await,
        }
    }

    pub(super) async fn rollback(&mut self) -> Result<()> {
        match self {
            Self::Sqlite(connection, _) => sqlite::execute(connection, "ROLLBACK", &[]).map(drop),
            Self::Postgres(session) => session.rollback().await,
        }
    }

    pub(super) fn is_sqlite(&self) -> bool {
        matches!(self, Self::Sqlite(..))
    }

    /// Begins the transaction in which one process at a time migrates, however long it takes.
    pub(super) async fn begin_migration(&mut self) -> Result<()> {
        match self {
            Self::Sqlite(connection, _) => {
                connection.busy_timeout(MIGRATION_TIMEOUT)?;
                let begun = sqlite::execute(connection, "BEGIN IMMEDIATE", &[]);
                connection.busy_timeout(LOCK_TIMEOUT)?;
                begun.map(drop)
            }
            Self::Postgres(_) => {
                self.begin(LOCK_TIMEOUT).await?;
                // It ends with the transaction, as every lock of ours does: a pooler may lend the session to others.
                self.run_script("SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0")
                    .await?;
                self.execute("SELECT pg_advisory_xact_lock(7231402551)", &[]).await?;
                // All who want a table wait behind one that waits to change it.
                self.run_script("SET LOCAL lock_timeout = '2s'").await
            }
        }
    }

    /// Runs `sql` and says how many rows it touched.
    pub(super) async fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<u64> {
        match self {
            Self::Sqlite(c, _) => sqlite::execute(c, sql, values),
            Self::Postgres(c) => c.execute(sql, values).await,
        }
    }

    /// Runs a script of several statements, as migrations are.
    pub(super) async fn run_script(&mut self, script: &'static str) -> Result<()> {
        match self {
            Self::Sqlite(c, _) => Ok(c.execute_batch(script)?),
            Self::Postgres(c) => c.run_script(script).await,
        }
    }

    pub(super) async fn fetch(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>> {
        match self {
            Self::Sqlite(c, _) => sqlite::fetch(c, sql, values),
            Self::Postgres(c) => c.fetch(sql, values).await,
        }
    }

    /// Runs a batch and returns what comes back.
    pub(super) async fn fetch_batch(&mut self, batch: &BoundBatch<'_>) -> Result<Vec<Row>> {
        match self {
            Self::Sqlite(c, _) => {
                let (sql, rows) = batch.rows();
                let mut fetched = Vec::new();
                for row in rows {
                    fetched.append(&mut sqlite::fetch(c, sql, row)?);
                }
                Ok(fetched)
            }
            Self::Postgres(_) if batch.is_empty() => Ok(Vec::new()),
            Self::Postgres(c) => c.fetch_lists(batch.list()).await,
        }
    }

    /// Runs a batch and counts the rows that it touched.
    pub(super) async fn execute_batch(&mut self, batch: &BoundBatch<'_>) -> Result<u64> {
        match self {
            Self::Sqlite(c, _) => sqlite::execute_rows(c, batch),
            Self::Postgres(_) if batch.is_empty() => Ok(0),
            Self::Postgres(c) => c.execute_lists(batch.list(), &[]).await,
        }
    }

    /// Runs batches and counts the rows that each touched.
    pub(super) async fn execute_together<const N: usize>(
        &mut self,
        batches: &BoundBatchSet<'_, N>,
    ) -> Result<[u64; N]> {
        let mut touched = [0; N];
        match self {
            Self::Sqlite(c, _) => {
                for (touched, batch) in touched.iter_mut().zip(&batches.parts) {
                    *touched = sqlite::execute_rows(c, batch)?;
                }
            }
            Self::Postgres(c) => {
                let Some(list) = batches.list() else { return Ok(touched) };
                let rows = c.fetch_lists(list).await?;
                let counts = rows.first().ok_or(DatabaseError::Unexpected)?;
                let filled = touched.iter_mut().zip(&batches.parts);
                let filled = filled.filter(|(_, batch)| !batch.is_empty());
                for (column, (touched, _)) in filled.enumerate() {
                    let count = counts.int(column)?;
                    *touched = count.try_into().map_err(|_| DatabaseError::Unexpected)?;
                }
            }
        }
        Ok(touched)
    }

    /// Moves the end of a lane of the log and appends rows; false, and nothing is written, where it ends elsewhere.
    pub(super) async fn append(
        &mut self,
        moved: &[Value<'_>; 6],
        rows: &BoundBatch<'_>,
    ) -> Result<bool> {
        match self {
            // Before the rows: it waits for the writer that is taking the lane, and must not do so with rows in
            // hand for which that one would wait in turn.
            Self::Sqlite(c, _) => {
                if sqlite::execute(c, sql::MOVE_LANE, moved)? != 1 {
                    return Ok(false);
                }
                if rows.is_empty() {
                    // In place of a row, so that none takes as long as one.
                    sqlite::fetch(c, sql::LOG_MAC, &[moved[3], moved[0]])?;
                }
                sqlite::execute_rows(c, rows).map(|_| true)
            }
            Self::Postgres(c) => Ok(c.execute_lists(rows.list(), moved).await? == rows.len()),
        }
    }

    /// Whether a whole group in one statement takes less time than in several.
    pub(super) fn prefers_one_statement(&self) -> bool {
        matches!(self, Self::Postgres(c) if !c.is_lent())
    }

    /// Reads the liveness of entities as it is now; they may change at once.
    pub(super) async fn look(&mut self, asked: &[(&str, &str)]) -> Result<Vec<Option<Liveness>>> {
        match self {
            _ if asked.is_empty() => Ok(Vec::new()),
            Self::Sqlite(c, _) => sqlite::each_liveness(c, asked.iter().copied()),
            Self::Postgres(c) => c.present_liveness(asked).await,
        }
    }

    /// Carries out a whole group, as a transaction of its own.
    pub(super) async fn run_at_once(
        &mut self,
        statement: Statement<'_>,
    ) -> std::result::Result<(), AtOnceError> {
        match self {
            Self::Postgres(c) => c.run_at_once(statement).await,
            Self::Sqlite(..) => Err(AtOnceError::Failed(DatabaseError::Unexpected)),
        }
    }

    /// Reads the liveness of entities and keeps them as they are until the transaction ends.
    pub(super) async fn lock_required(
        &mut self,
        asked: &[(&str, &str)],
    ) -> Result<Vec<Option<Liveness>>> {
        match self {
            Self::Sqlite(c, _) => sqlite::each_liveness(c, asked.iter().copied()),
            Self::Postgres(c) => c.liveness(postgres::LIVENESS_REQUIRED, asked).await,
        }
    }

    /// Locks entities that will be changed, in the order asked, and reads their liveness.
    ///
    /// SQLite has locked the whole file already: there they are only read, and only if `want_to_know`.
    pub(super) async fn lock_changed(
        &mut self,
        asked: &[(&str, &str)],
        want_to_know: bool,
    ) -> Result<Option<Vec<Option<Liveness>>>> {
        match self {
            Self::Sqlite(..) if !want_to_know => Ok(None),
            Self::Sqlite(c, _) => sqlite::each_liveness(c, asked.iter().copied()).map(Some),
            Self::Postgres(c) => c.liveness(postgres::LIVENESS_CHANGED, asked).await.map(Some),
        }
    }

    /// Tells whether commits of ours wait for a standby, and have for longer than one that is there takes.
    pub(super) async fn has_waiting_commits(&mut self) -> Result<bool> {
        let Self::Postgres(c) = self else { return Ok(false) };
        Ok(!c.fetch(postgres::WAITING_COMMITS, &[]).await?.is_empty())
    }

    /// Names the schema in which a store is found that is not the one where tables are made.
    pub(super) async fn store_elsewhere(&mut self) -> Result<Option<String>> {
        let Self::Postgres(c) = self else { return Ok(None) };
        let rows = c.fetch(postgres::STORE_ELSEWHERE, &[]).await?;
        rows.first().map(|row| row.text(0)).transpose()
    }

    /// Tells whether there are tables that are not of a store.
    pub(super) async fn has_other_tables(&mut self) -> Result<bool> {
        let rows = match self {
            Self::Sqlite(c, _) => sqlite::fetch(c, sqlite::OTHER_TABLES, &[])?,
            Self::Postgres(c) => c.fetch(postgres::OTHER_TABLES, &[]).await?,
        };
        Ok(!rows.is_empty())
    }

    /// Installs triggers, which hold for every user of the database.
    pub(super) async fn install(&mut self, triggers: Triggers) -> Result<()> {
        let script = match (&*self, triggers) {
            (Self::Sqlite(..), Triggers::Log) => triggers::LOG_SQLITE,
            (Self::Sqlite(..), Triggers::Outbox) => triggers::OUTBOX_SQLITE,
            (Self::Sqlite(..), Triggers::Members) => triggers::MEMBERS_SQLITE,
            (Self::Postgres(_), Triggers::Members) => triggers::MEMBERS_POSTGRES,
            (Self::Postgres(_), Triggers::Log) => triggers::LOG_POSTGRES,
            (Self::Postgres(_), Triggers::Outbox) => triggers::OUTBOX_POSTGRES,
        };
        self.run_script(script).await
    }

    /// Puts another file in the place of that of which this is the only connection.
    pub(super) fn give_way(&self, file: &File, to: &std::path::Path) -> Result<()> {
        match self {
            Self::Sqlite(alone, _) => file.replace_by(to, alone),
            Self::Postgres(_) => Err(DatabaseError::Unexpected),
        }
    }

    /// Ends the connection in order.
    pub(super) async fn close(self) {
        let closed = match self {
            Self::Sqlite(c, mut upkeep) => {
                upkeep.end(&c);
                c.close().map_err(|(_, error)| DatabaseError::from(error))
            }
            Self::Postgres(c) => c.close().await,
        };
        if let Err(error) = closed {
            tracing::debug!(%error, "store connection did not close in order");
        }
    }
}

/// What everything is read from.
#[derive(Clone)]
pub(super) enum Readers {
    Sqlite(sqlite::Readers),
    Postgres(postgres::Readers),
}

impl Readers {
    /// Reads a few rows, found by an index.
    pub(super) async fn fetch(&self, sql: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>> {
        match self {
            Self::Sqlite(readers) => readers.fetch(sql, values).await,
            Self::Postgres(readers) => readers.fetch(sql, values).await,
        }
    }

    /// Reads what may be many rows.
    pub(super) async fn scan(&self, sql: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>> {
        match self {
            Self::Sqlite(readers) => readers.scan(sql, values).await,
            Self::Postgres(readers) => readers.fetch(sql, values).await,
        }
    }

    /// Reads the liveness of entities as of one moment; `None` where there is no row.
    pub(super) async fn liveness(&self, asked: &[(&str, &str)]) -> Result<Vec<Option<Liveness>>> {
        match self {
            Self::Sqlite(readers) => readers.liveness(asked).await,
            Self::Postgres(readers) => readers.liveness(asked).await,
        }
    }

    /// Waits until the database is known to be another than the one that was opened.
    pub(super) async fn replaced(&self) {
        match self {
            Self::Sqlite(readers) => readers.replaced().await,
            Self::Postgres(_) => std::future::pending().await,
        }
    }

    pub(super) async fn close(&self) {
        match self {
            Self::Sqlite(readers) => readers.close(),
            Self::Postgres(readers) => readers.close().await,
        }
    }
}
