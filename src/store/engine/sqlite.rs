//! SQLite: one file, one connection that writes, a few that read.
//!
//! A statement runs on the thread that asks. A committer has a thread of its own. A read for a request takes
//! microseconds, which is less than handing it to another thread and back; so it waits for no lock of another
//! process there. Where it would have to, and where it may be long, it is carried out on a thread that may block.

mod copies;
mod liveness_cache;
mod readers;
mod upkeep;

pub(in crate::store) use copies::{Draft, beside, sync_folder_of};
pub(in crate::store) use readers::Readers;
pub(in crate::store) use upkeep::Upkeep;

use super::{
    LOCK_TIMEOUT,
    faults::{DatabaseError, Result},
};
use crate::{
    domain::Timestamp,
    store::{
        batch::BoundBatch,
        sql,
        value::{Liveness, Row, Value},
    },
};
use percent_encoding::percent_decode_str;
use rusqlite::{CachedStatement, Connection, OpenFlags, config::DbConfig, types::ToSqlOutput};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::sync::watch;

/// Statements that a connection keeps prepared.
const PREPARED: usize = 256;

/// How long a connection that must be the only one waits for others to be closed.
const ALONE_TIMEOUT: Duration = Duration::from_secs(1);

/// How much of the file the connection that writes keeps in memory, at most.
const WRITER_CACHE_KIB: i64 = 16 * 1024;

/// Pages of the write-ahead log with which a COMMIT copies them itself: only where [`upkeep`] did not come to it.
const TOO_LONG: i64 = 8 * upkeep::LONG;

/// Tables but for that of migrations, by which a store begins.
pub(super) const OTHER_TABLES: &str =
    "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name <> 'schema_history' LIMIT 1";

/// The file of a database.
#[derive(Clone)]
pub(in crate::store) struct File {
    path: PathBuf,
    /// Whether the file is made where it is missing.
    create: bool,
    same: Arc<FileIdentity>,
}

/// Whether the path still leads to the file that was opened first. What is remembered here (versions, heads of the
/// log) is about that file and no other.
struct FileIdentity {
    first: OnceLock<FileId>,
    replaced: watch::Sender<bool>,
}

/// The device of a file and its number there.
type FileId = (u64, u64);

impl File {
    /// Reads what follows `sqlite:` in an address.
    pub(super) fn parse(address: &str) -> Result<Self> {
        let address = address.strip_prefix("//").unwrap_or(address);
        let (path, options) = address.split_once('?').unwrap_or((address, ""));
        let create = match options {
            "" | "mode=rwc" => true,
            "mode=rw" => false,
            _ => {
                return Err(DatabaseError::Address(
                    "after `?` a file takes mode=rwc or mode=rw alone",
                ));
            }
        };
        let path = percent_decode_str(path).decode_utf8();
        let path = path.map_err(|_| DatabaseError::Address("the path of the file is no text"))?;
        if path.is_empty() || path.contains(":memory:") {
            let why = "a store in memory would be gone with its connection: name a file";
            return Err(DatabaseError::Address(why));
        }
        Ok(Self::at(PathBuf::from(&*path), create))
    }

    fn at(path: PathBuf, create: bool) -> Self {
        let same = FileIdentity { first: OnceLock::new(), replaced: watch::Sender::new(false) };
        Self { path, create, same: Arc::new(same) }
    }

    pub(in crate::store) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn open_to_write(&self) -> Result<Connection> {
        if self.same.first.get().is_some() {
            self.check_same()?;
        } else if self.create {
            create_private_file(&self.path);
        }
        let connection = self.open(OpenFlags::SQLITE_OPEN_READ_WRITE, LOCK_TIMEOUT)?;
        // Set here alone: a read-only connection cannot set it, and a restored file may lack it.
        connection.pragma_update(None, "journal_mode", "wal")?;
        // NORMAL may lose the last commits at power loss; group commit pays for FULL.
        connection.pragma_update(None, "synchronous", "full")?;
        // What the writer changes is all over the file: pages that it has are not read again for each commit.
        connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
        connection.pragma_update(None, "wal_autocheckpoint", TOO_LONG)?;
        Ok(connection)
    }

    /// Opens a connection that copies the log to the file when it is asked to, and not when it is closed.
    fn open_to_copy(&self) -> Result<Connection> {
        let connection = self.open(OpenFlags::SQLITE_OPEN_READ_WRITE, LOCK_TIMEOUT)?;
        connection.pragma_update(None, "synchronous", "full")?;
        leave_the_log(&connection);
        Ok(connection)
    }

    /// Opens a connection that only reads; creates no file.
    pub(super) fn open_to_read(&self, lock_timeout: Duration) -> Result<Connection> {
        if copies::has_journal(&self.path) {
            self.roll_back(lock_timeout);
        }
        self.open(OpenFlags::SQLITE_OPEN_READ_ONLY, lock_timeout)
    }

    /// Undoes what a process left unfinished that was alone and was killed: a connection that only reads may not, and is
    /// refused.
    fn roll_back(&self, lock_timeout: Duration) {
        let undone = self
            .open(OpenFlags::SQLITE_OPEN_READ_WRITE, lock_timeout)
            .and_then(|connection| fetch(&connection, "PRAGMA schema_version", &[]));
        // The read that follows fails for the same reason.
        if let Err(error) = undone {
            tracing::warn!(%error, "the journal beside the database was not rolled back");
        }
    }

    /// Opens the only connection that there is to the file, in any process, and keeps it so. What the write-ahead log
    /// held is in the file then.
    pub(super) fn open_alone(&self) -> Result<Connection> {
        if self.create {
            create_private_file(&self.path);
        }
        let connection = self.open(OpenFlags::SQLITE_OPEN_READ_WRITE, ALONE_TIMEOUT)?;
        connection.pragma_update(None, "locking_mode", "exclusive")?;
        connection.pragma_update(None, "synchronous", "full")?;
        // Refused while another connection is open, even one that does nothing.
        connection.pragma_update(None, "journal_mode", "delete")?;
        connection.execute_batch("BEGIN EXCLUSIVE; COMMIT")?;
        Ok(connection)
    }

    fn open(&self, flags: OpenFlags, lock_timeout: Duration) -> Result<Connection> {
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(lock_timeout)?;
        connection.set_prepared_statement_cache_capacity(PREPARED);
        connection.pragma_update(None, "temp_store", "memory")?;
        self.check_same()?;
        Ok(connection)
    }

    /// Refuses to go on where the file was replaced, as by a restore, or is gone.
    pub(super) fn check_same(&self) -> Result<()> {
        let Some(found) = id_of(&self.path)? else { return Ok(()) };
        if found == *self.same.first.get_or_init(|| found) {
            return Ok(());
        }
        if !self.same.replaced.send_replace(true) {
            tracing::error!("the database file was replaced: this process must be started anew");
        }
        Err(DatabaseError::Replaced)
    }

    /// Waits until a read or a commit has found that the file was replaced.
    pub(super) async fn replaced(&self) {
        let mut replaced = self.same.replaced.subscribe();
        // The sender is kept by what is borrowed here.
        let _ = replaced.wait_for(|replaced| *replaced).await;
    }
}

/// Tells files apart; one that is gone is another.
fn id_of(path: &Path) -> Result<Option<FileId>> {
    match path.metadata() {
        Ok(found) => Ok(id_in(&found)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Some((0, 0))),
        Err(error) => Err(error.into()),
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere there is none")]
fn id_in(found: &std::fs::Metadata) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt as _;
    Some((found.dev(), found.ino()))
}

/// An open file cannot be replaced there.
#[cfg(not(unix))]
fn id_in(_: &std::fs::Metadata) -> Option<FileId> {
    None
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

/// Has a connection leave the write-ahead log alone when it is closed. Where the file was replaced, the log belongs
/// by its name to another.
fn leave_the_log(connection: &Connection) {
    if let Err(error) = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true) {
        tracing::warn!(%error, "the write-ahead log may be removed");
    }
}

/// Has a connection keep no journal and leave the files beside the database to others; it writes nothing any more.
fn stop_writing(connection: &Connection) -> Result<()> {
    connection.pragma_update(None, "journal_mode", "off")?;
    Ok(connection.execute_batch("BEGIN EXCLUSIVE")?)
}

/// Reads the whole file, and says what is wrong with it.
fn find_fault(connection: &Connection) -> Result<Option<String>> {
    let rows = fetch(connection, "PRAGMA integrity_check(1)", &[])?;
    let said = rows.first().ok_or(DatabaseError::Unexpected)?.text(0)?;
    Ok((said != "ok").then_some(said))
}

/// Runs a statement and says how many rows it touched.
pub(super) fn execute(connection: &Connection, sql: &str, values: &[Value<'_>]) -> Result<u64> {
    let mut statement = connection.prepare_cached(sql)?;
    run(connection, &mut statement, values)
}

/// Runs a batch row by row and says how many rows it touched.
pub(super) fn execute_rows(connection: &Connection, batch: &BoundBatch<'_>) -> Result<u64> {
    if batch.is_empty() {
        return Ok(0);
    }
    let (sql, rows) = batch.rows();
    let mut statement = connection.prepare_cached(sql)?;
    let mut lighter = batch.lighter().map(|sql| connection.prepare_cached(sql)).transpose()?;
    let mut touched = 0;
    for row in rows {
        touched += match &mut lighter {
            Some(lighter) => match run(connection, lighter, row)? {
                0 => run(connection, &mut statement, row)?,
                lightly => lightly,
            },
            None => run(connection, &mut statement, row)?,
        };
    }
    Ok(touched)
}

fn run(
    connection: &Connection,
    statement: &mut CachedStatement<'_>,
    values: &[Value<'_>],
) -> Result<u64> {
    bind(statement, values)?;
    // A statement may answer with rows, as one with RETURNING does.
    let mut rows = statement.raw_query();
    while rows.next()?.is_some() {}
    drop(rows);
    Ok(if statement.readonly() { 0 } else { connection.changes() })
}

pub(super) fn fetch(connection: &Connection, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>> {
    let mut statement = connection.prepare_cached(sql)?;
    bind(&mut statement, values)?;
    let columns = statement.column_count();
    let mut rows = statement.raw_query();
    let mut fetched = Vec::new();
    while let Some(row) = rows.next()? {
        let values = (0..columns).map(|column| row.get(column));
        fetched.push(Row::Sqlite(values.collect::<rusqlite::Result<_>>()?));
    }
    Ok(fetched)
}

/// Reads the liveness of each entity, within a transaction: no statement is a round trip here, and this one is the
/// cheapest.
pub(super) fn each_liveness<'a>(
    connection: &Connection,
    asked: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<Vec<Option<Liveness>>> {
    let mut statement = connection.prepare_cached(sql::LIVENESS_OF_ONE)?;
    let read = |(kind, id)| {
        bind(&mut statement, &[Value::Text(kind), Value::Text(id)])?;
        let mut rows = statement.raw_query();
        let Some(row) = rows.next()? else { return Ok(None) };
        let live_until = Timestamp::from_millis(row.get(1)?);
        Ok(Some(Liveness { version: row.get(0)?, live_until }))
    };
    asked.map(read).collect()
}

/// Counts the changes of others as far as this connection can see them; only another count says something.
fn changes(connection: &Connection) -> Result<i64> {
    let mut statement = connection.prepare_cached("PRAGMA data_version")?;
    let mut rows = statement.raw_query();
    let row = rows.next()?.ok_or(DatabaseError::Unexpected)?;
    Ok(row.get(0)?)
}

/// How much is in the write-ahead log, in pages.
struct Frames {
    written: i64,
    /// Copied to the file already.
    copied: i64,
}

fn frames(connection: &Connection) -> Result<Frames> {
    let mut statement = connection.prepare_cached("PRAGMA wal_checkpoint(NOOP)")?;
    let read = |row: &rusqlite::Row<'_>| Ok(Frames { written: row.get(1)?, copied: row.get(2)? });
    Ok(statement.query_row([], read)?)
}

/// Copies the log to the file, as far as no reader needs the file as it is; waits for no other.
fn copy_log(connection: &Connection) -> Result<()> {
    let mut statement = connection.prepare_cached("PRAGMA wal_checkpoint(PASSIVE)")?;
    Ok(statement.query_row([], |_| Ok(()))?)
}

/// Binds by place: the numbers of a statement come in their order, which every statement that a test runs is
/// checked for.
fn bind(statement: &mut CachedStatement<'_>, values: &[Value<'_>]) -> Result<()> {
    if statement.parameter_count() != values.len() {
        return Err(DatabaseError::Unexpected);
    }
    for (place, value) in (1..).zip(values) {
        // SQLite takes `$3` for a name, and counts names in the order in which they come; `?3` is the third.
        debug_assert_eq!(
            statement.parameter_name(place).and_then(|name| name.get(1..)),
            Some(place.to_string().as_str()),
        );
        statement.raw_bind_parameter(place, ToSqlOutput::Borrowed((*value).into()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_file_as_urls_do() {
        let path = |address| File::parse(address).map(|file| file.path);
        for (address, expected) in [
            ("///var/lib/porteiro.db", "/var/lib/porteiro.db"),
            ("//data/porteiro.db", "data/porteiro.db"),
            ("data/porteiro.db?mode=rwc", "data/porteiro.db"),
            ("///a%20folder/d%C3%A9.db?mode=rw", "/a folder/dé.db"),
        ] {
            assert_eq!(path(address).unwrap(), Path::new(expected));
        }
        for address in ["", "//", ":memory:", "///a.db?mode=memory", "///a.db?mode=ro", "///%FF"] {
            assert!(matches!(path(address), Err(DatabaseError::Address(_))), "{address}");
        }
    }

    #[test]
    fn values_are_bound_by_place_and_are_as_many() {
        let connection = Connection::open_in_memory().unwrap();
        let values = [1.into(), "two".into(), Value::Bytes(b"three"), Value::OptionalText(None)];
        let rows = fetch(&connection, "SELECT $1, $2, $1, $3, $4", &values).unwrap();
        let row = &rows[0];
        assert_eq!((row.int(0).unwrap(), row.text(1).unwrap()), (1, "two".to_owned()));
        assert_eq!((row.int(2).unwrap(), row.bytes(3).unwrap()), (1, b"three".to_vec()));
        assert_eq!(row.optional_text(4).unwrap(), None);
        for count in [0, 1, 3, 4] {
            let fetched = fetch(&connection, "SELECT $1, $2", &values[..count]);
            assert!(matches!(fetched, Err(DatabaseError::Unexpected)), "{count}");
        }
        assert!(
            row.text(0).is_err()
                && row.int(1).is_err()
                && row.text(4).is_err()
                && row.int(9).is_err()
        );
    }
}
