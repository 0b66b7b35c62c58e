//! SQLite: one file, one connection that writes, a few that read.
//!
//! A statement runs on the thread that asks. A committer has a thread of its own. A read for a request takes
//! microseconds, which is less than handing it to another thread and back; so it waits for no lock of another
//! process there. Where it would have to, and where it may be long, it is carried out on a thread that may block.

use super::{
    LOCK_TIMEOUT, READ_TIMEOUT,
    faults::{DatabaseError, Result, is_busy},
};
use crate::store::value::{Owned, Row, Value};
use percent_encoding::percent_decode_str;
use rusqlite::{CachedStatement, Connection, OpenFlags, config::DbConfig, types::ToSqlOutput};
use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError},
    time::Duration,
};
use tokio::{
    sync::{Semaphore, watch},
    time::timeout,
};

/// How many reads at once are carried out on threads that may block.
const SCANS: usize = 2;

/// Statements that a connection keeps prepared.
const PREPARED: usize = 256;

/// The file of a database.
#[derive(Clone)]
pub(in crate::store) struct File {
    path: PathBuf,
    /// Whether the file is made where it is missing.
    create: bool,
    same: Arc<Same>,
}

/// Whether the path still leads to the file that was opened first. What is remembered here (versions, heads of the
/// log) is about that file and no other.
struct Same {
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
        let same = Same { first: OnceLock::new(), replaced: watch::Sender::new(false) };
        Self { path, create, same: Arc::new(same) }
    }

    pub(super) fn path(&self) -> &Path {
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
        Ok(connection)
    }

    /// Opens a connection that only reads; creates no file.
    pub(super) fn open_to_read(&self, lock_timeout: Duration) -> Result<Connection> {
        self.open(OpenFlags::SQLITE_OPEN_READ_ONLY, lock_timeout)
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
#[cfg(unix)]
fn id_of(path: &Path) -> Result<Option<FileId>> {
    use std::os::unix::fs::MetadataExt as _;
    match path.metadata() {
        Ok(found) => Ok(Some((found.dev(), found.ino()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Some((0, 0))),
        Err(error) => Err(error.into()),
    }
}

/// An open file cannot be replaced there.
#[cfg(not(unix))]
fn id_of(_: &Path) -> Result<Option<FileId>> {
    Ok(None)
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

/// Has a connection leave the write-ahead log alone when it is closed: by its name it belongs to another file now.
pub(super) fn leave_the_log(connection: &Connection) {
    if let Err(error) = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true) {
        tracing::warn!(%error, "the write-ahead log may be removed");
    }
}

/// Runs a statement and says how many rows it touched.
pub(super) fn execute(connection: &Connection, sql: &str, values: &[Value<'_>]) -> Result<u64> {
    let mut statement = prepared(connection, sql, values)?;
    // A statement may answer with rows, as one with RETURNING does.
    let mut rows = statement.raw_query();
    while rows.next()?.is_some() {}
    drop(rows);
    Ok(if statement.readonly() { 0 } else { connection.changes() })
}

pub(super) fn fetch(connection: &Connection, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>> {
    let mut statement = prepared(connection, sql, values)?;
    let columns = statement.column_count();
    let mut rows = statement.raw_query();
    let mut fetched = Vec::new();
    while let Some(row) = rows.next()? {
        let values = (0..columns).map(|column| row.get(column));
        fetched.push(Row::Sqlite(values.collect::<rusqlite::Result<_>>()?));
    }
    Ok(fetched)
}

fn prepared<'c>(
    connection: &'c Connection,
    sql: &str,
    values: &[Value<'_>],
) -> Result<CachedStatement<'c>> {
    let mut statement = connection.prepare_cached(sql)?;
    for place in 1..=statement.parameter_count() {
        // SQLite takes `$3` for a name, and counts names in the order in which they come.
        let name = statement.parameter_name(place).and_then(|name| name.get(1..));
        let number: Option<usize> = name.and_then(|number| number.parse().ok());
        let value = number.and_then(|number| values.get(number.checked_sub(1)?));
        let value = value.ok_or(DatabaseError::Unexpected)?;
        statement.raw_bind_parameter(place, ToSqlOutput::Borrowed((*value).into()))?;
    }
    Ok(statement)
}

/// The connections that everything is read from, opened when first needed.
#[derive(Clone)]
pub(in crate::store) struct Readers(Arc<Shared>);

struct Shared {
    file: File,
    /// A thread has a connection that it prefers, and takes another while that one is in use.
    connections: Box<[Mutex<Option<Connection>>]>,
    /// How many reads at once may block a thread.
    scans: Arc<Semaphore>,
}

type Held<'a> = MutexGuard<'a, Option<Connection>>;

impl Readers {
    pub(super) fn of(file: File) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let connections = (0..cores + SCANS).map(|_| Mutex::default()).collect();
        Self(Arc::new(Shared { file, connections, scans: Arc::new(Semaphore::new(SCANS)) }))
    }

    /// Reads here and now; where another process has locked the file, on a thread that may wait for it.
    pub(super) async fn fetch(&self, sql: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>> {
        match self.0.fetch(sql, values, Duration::ZERO) {
            Err(error) if is_busy(&error) => self.scan(sql, values).await,
            fetched => fetched,
        }
    }

    /// Reads what may take long on a thread that may block.
    pub(super) async fn scan(&self, sql: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>> {
        let values: Vec<Owned> = values.iter().copied().map(Owned::from).collect();
        let shared = self.0.clone();
        let read = async move {
            let permit = self.0.scans.clone().acquire_owned().await;
            let permit = permit.map_err(|_| DatabaseError::Closed)?;
            #[expect(clippy::disallowed_methods, reason = "a permit bounds it")]
            let read = tokio::task::spawn_blocking(move || {
                let values: Vec<Value<'_>> = values.iter().map(Value::from).collect();
                let fetched = shared.fetch(sql, &values, LOCK_TIMEOUT);
                drop(permit);
                fetched
            });
            read.await.unwrap_or(Err(DatabaseError::Closed))
        };
        timeout(READ_TIMEOUT, read).await.unwrap_or(Err(DatabaseError::TimedOut))
    }

    /// See [`File::replaced`].
    pub(super) async fn replaced(&self) {
        self.0.file.replaced().await;
    }

    pub(super) fn close(&self) {
        for held in &self.0.connections {
            drop(held.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
    }
}

impl Shared {
    fn fetch(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
        lock_timeout: Duration,
    ) -> Result<Vec<Row>> {
        self.file.check_same()?;
        let mut held = self.take();
        let connection = match held.take() {
            Some(connection) => connection,
            None => self.file.open_to_read(Duration::ZERO)?,
        };
        if !lock_timeout.is_zero() {
            connection.busy_timeout(lock_timeout)?;
        }
        let fetched = fetch(&connection, sql, values);
        if !lock_timeout.is_zero() {
            connection.busy_timeout(Duration::ZERO)?;
        }
        // One that failed otherwise is opened anew.
        if fetched.as_ref().err().is_none_or(is_busy) {
            *held = Some(connection);
        }
        fetched
    }

    /// Takes the connection that this thread prefers, or the next that is free.
    fn take(&self) -> Held<'_> {
        let mut hasher = DefaultHasher::new();
        std::thread::current().id().hash(&mut hasher);
        let many = self.connections.len();
        let preferred = usize::try_from(hasher.finish() % many as u64).unwrap_or(0);
        for place in (preferred..many).chain(0..preferred) {
            match self.connections[place].try_lock() {
                Ok(held) => return held,
                Err(TryLockError::Poisoned(held)) => return held.into_inner(),
                Err(TryLockError::WouldBlock) => {}
            }
        }
        self.connections[preferred].lock().unwrap_or_else(PoisonError::into_inner)
    }
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
    fn values_are_bound_by_their_number_wherever_it_stands() {
        let connection = Connection::open_in_memory().unwrap();
        let sql = "SELECT $2, $1, $2, $4, $3";
        let values = [1.into(), "two".into(), Value::Bytes(b"three"), Value::OptionalText(None)];
        let rows = fetch(&connection, sql, &values).unwrap();
        let row = &rows[0];
        assert_eq!((row.text(0).unwrap(), row.int(1).unwrap()), ("two".to_owned(), 1));
        assert_eq!((row.text(2).unwrap(), row.optional_text(3).unwrap()), ("two".to_owned(), None));
        assert_eq!(row.bytes(4).unwrap(), b"three");
        assert!(matches!(
            fetch(&connection, "SELECT $3", &values[..2]),
            Err(DatabaseError::Unexpected)
        ));
        assert!(
            row.int(0).is_err()
                && row.text(1).is_err()
                && row.text(3).is_err()
                && row.int(9).is_err()
        );
    }

    /// A file with one row, and what reads it.
    fn one_row(folder: &tempfile::TempDir) -> (File, Readers) {
        let file = File::at(folder.path().join("a.db"), true);
        let writer = file.open_to_write().unwrap();
        writer.execute_batch("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (7)").unwrap();
        writer.close().map_err(|(_, error)| error).unwrap();
        (file.clone(), Readers::of(file))
    }

    #[tokio::test]
    async fn a_read_waits_for_another_process_on_a_thread_that_may_block() {
        let folder = tempfile::tempdir().unwrap();
        let (file, readers) = one_row(&folder);
        let other = file.open_to_write().unwrap();
        // A connection that opens the file now finds it locked.
        other.pragma_update(None, "locking_mode", "exclusive").unwrap();
        other.execute_batch("UPDATE t SET n = 8").unwrap();
        let here = readers.0.fetch("SELECT n FROM t", &[], Duration::ZERO);
        assert!(here.as_ref().is_err_and(is_busy), "{:?}", here.err());
        let (read, ()) = tokio::join!(readers.fetch("SELECT n FROM t", &[]), async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            drop(other);
        });
        assert_eq!(read.unwrap()[0].int(0).unwrap(), 8);
    }

    #[tokio::test]
    async fn a_connection_that_failed_is_opened_anew() {
        let folder = tempfile::tempdir().unwrap();
        let (_, readers) = one_row(&folder);
        let opened = || {
            let held = |one: &Mutex<Option<Connection>>| one.lock().unwrap().is_some();
            readers.0.connections.iter().filter(|one| held(one)).count()
        };
        assert_eq!(readers.fetch("SELECT n FROM t", &[]).await.unwrap().len(), 1);
        assert_eq!(opened(), 1);
        assert!(readers.fetch("SELECT n FROM gone", &[]).await.is_err());
        assert_eq!(opened(), 0, "what failed is not used again");
        assert_eq!(readers.scan("SELECT n FROM t", &[]).await.unwrap().len(), 1);
        readers.close();
        assert_eq!(opened(), 0);
    }

    #[test]
    fn as_many_read_at_once_as_ask() {
        let folder = tempfile::tempdir().unwrap();
        let (_, readers) = one_row(&folder);
        std::thread::scope(|scope| {
            let read = || readers.0.fetch("SELECT n FROM t", &[], Duration::ZERO);
            let asked: Vec<_> = (0..20).map(|_| scope.spawn(read)).collect();
            for one in asked {
                assert_eq!(one.join().unwrap().unwrap().len(), 1);
            }
        });
    }
}
