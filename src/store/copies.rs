//! A backup of an SQLite store, and what puts one back (adr/0157).
//!
//! A backup is one file. It is put back in steps, of which only the last one is seen by others: the file is copied
//! beside the store, what must end is ended in the copy, and the copy takes the store's name. Until then every process is
//! kept from the store; a crash leaves the store that was there, or the new one.

use super::{
    CommitError, MigrateError, ReadError, Store,
    engine::{
        Connection, DatabaseError, Draft, Engine, File, beside, is_busy, is_damaged,
        is_missing_table, sync_folder_of,
    },
    maintenance::Maintenance,
    migrate, sql,
    value::Value,
    views::Row,
};
use crate::domain::{Record, Timestamp};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// How the name of a copy ends that is not finished.
const UNFINISHED: &str = "unfinished";

/// How the name of a copy ends that is to take the place of a store.
const RESTORING: &str = "restoring";

/// What is written as it is in the address of a file.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');

/// Why nothing was copied or put back.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error("the store's address cannot be used")]
    Address(#[source] DatabaseError),
    #[error("the store is a database of PostgreSQL, which has tools of its own")]
    Postgres,
    #[error("there is no such database file")]
    Missing,
    #[error("the file is no store of Porteiro")]
    NoStore,
    #[error("the store is damaged, and no backup was made: {0}")]
    Faulty(String),
    #[error("{} is there already, and no file is replaced: give another name", .0.display())]
    Exists(PathBuf),
    #[error("{} cannot be written", .0.display())]
    Unwritable(PathBuf, #[source] io::Error),
    #[error("{} cannot be read", .0.display())]
    NoBackup(PathBuf, #[source] io::Error),
    #[error("{} is no backup that can be put back: {}", .0.display(), .1)]
    Unusable(PathBuf, String),
    #[error("the backup does not fit this binary")]
    Schema(#[from] MigrateError),
    #[error(
        "another process uses the store: stop every server and every command that works on it, \
         and try again"
    )]
    InUse,
    #[error(
        "{} lies beside the store and may hold its last commits: move it away together with the \
         store, and try again", .0.display()
    )]
    LeftBeside(PathBuf),
    #[error(
        "the store that would be replaced cannot be read, so it is not known which signing keys it \
         knew as revoked: make sure that no server runs, move its file and those beside it away, \
         try again, and revoke those keys once more"
    )]
    Damaged(#[source] DatabaseError),
    #[error("the database did not do what it was asked")]
    Database(#[from] DatabaseError),
}

/// A backup that was made.
#[derive(Debug)]
pub struct Backup {
    pub bytes: u64,
    /// How many rows of entities and of the security log are in it.
    pub entities: i64,
    pub log_rows: i64,
}

/// Copies the SQLite store at `url` to a new file, while it is used.
pub async fn back_up(url: &str, to: &Path) -> Result<Backup, CopyError> {
    let store = file_of(url)?;
    if !store.path().try_exists().map_err(DatabaseError::from)? {
        return Err(CopyError::Missing);
    }
    if to.symlink_metadata().is_ok() {
        return Err(CopyError::Exists(to.to_owned()));
    }
    let copy = draft_beside(to, UNFINISHED)?;
    store.copy_into(&copy.path).map_err(|error| match error {
        error if is_busy(&error) => CopyError::InUse,
        error if is_damaged(&error) => CopyError::Faulty(error.to_string()),
        error => error.into(),
    })?;
    let copied = File::existing(&copy.path);
    if let Some(fault) = copied.find_fault()? {
        return Err(CopyError::Faulty(fault));
    }
    let mut connection = Engine::Sqlite(copied.clone()).connect_read_only().await?;
    let counted = count(&mut connection).await;
    connection.close().await;
    let (entities, log_rows) = counted?;
    copied.fold()?;
    let bytes = fs::metadata(&copy.path).map_err(DatabaseError::from)?.len();
    // Only a whole copy has the name.
    copy.publish(to).map_err(|error| unwritable(to, error))?;
    sync_folder_of(to).map_err(|error| unwritable(to, error))?;
    Ok(Backup { bytes, entities, log_rows })
}

async fn count(connection: &mut Connection) -> Result<(i64, i64), CopyError> {
    let mut counts = [0, 0];
    for (counted, sql) in counts.iter_mut().zip([sql::COUNT_ENTITIES, sql::COUNT_LOG]) {
        let rows = match connection.fetch(sql, &[]).await {
            Err(error) if is_missing_table(&error) => return Err(CopyError::NoStore),
            rows => rows?,
        };
        *counted = rows.first().ok_or(DatabaseError::Unexpected)?.int(0)?;
    }
    Ok((counts[0], counts[1]))
}

/// A backup that is being put back. Dropped, it leaves the store that is there as it was.
pub struct Restoration {
    store: File,
    /// Keeps every other process from the store.
    alone: Connection,
    copy: Draft,
    /// Of the store that was made only to be kept from others.
    made: Option<Draft>,
}

impl Restoration {
    /// Keeps others from the store at `url`, and copies a backup beside it.
    pub async fn begin(url: &str, backup: &Path) -> Result<Self, CopyError> {
        let store = file_of(url)?.to_be_made();
        let path = store.path().to_owned();
        let is_there = path.try_exists().map_err(DatabaseError::from)?;
        if !is_there && let Some(left) = beside(&path) {
            return Err(CopyError::LeftBeside(left));
        }
        check_is_another(&path, backup)?;
        let engine = Engine::Sqlite(store.clone());
        let made = if is_there {
            None
        } else {
            Some(Draft::make(path.clone()).map_err(|error| unwritable(&path, error))?)
        };
        let alone = engine.connect_alone().await.map_err(|error| match error {
            DatabaseError::InUse => CopyError::InUse,
            other if is_damaged(&other) => CopyError::Damaged(other),
            other => other.into(),
        })?;
        let copy = copied(backup, &path)?;
        check_copy(&copy.path, backup).await?;
        Ok(Self { store, alone, copy, made })
    }

    /// The address of the copy, in which is ended what must end.
    pub fn url(&self) -> String {
        let path = self.copy.path.to_string_lossy();
        format!("sqlite://{}?mode=rw", utf8_percent_encode(&path, PATH))
    }

    /// How many entities of each kind the store holds that would be replaced.
    pub async fn kinds_there(&mut self) -> Result<Vec<(String, i64)>, CopyError> {
        let rows = match self.alone.fetch(sql::KINDS, &[]).await {
            Err(error) if is_missing_table(&error) => return Ok(Vec::new()),
            Err(error) if is_damaged(&error) => return Err(CopyError::Damaged(error)),
            rows => rows?,
        };
        let kinds = rows.iter().map(|row| Ok((row.text(0)?, row.int(1)?)));
        Ok(kinds.collect::<Result<_, DatabaseError>>()?)
    }

    /// An entity of the store that would be replaced.
    pub async fn load_there(&mut self, kind: &str, id: &str) -> Result<Option<Row>, CopyError> {
        let of = [Value::Text(kind), Value::Text(id)];
        let rows = match self.alone.fetch(sql::LOAD, &of).await {
            Err(error) if is_missing_table(&error) => return Ok(None),
            Err(error) if is_damaged(&error) => return Err(CopyError::Damaged(error)),
            rows => rows?,
        };
        let Some(row) = rows.first() else { return Ok(None) };
        Ok(Some(Row { version: row.int(0)?, state: row.text(1)?, revision: row.int(2)? }))
    }

    /// Puts the copy in the place of the store. No process has the copy open any more.
    pub fn finish(self) -> Result<(), CopyError> {
        let Self { store, alone, copy, made } = self;
        File::existing(&copy.path).fold()?;
        alone.give_way(&store, &copy.path).map_err(|error| match error {
            DatabaseError::File(error) => unwritable(store.path(), error),
            other => other.into(),
        })?;
        copy.keep();
        if let Some(made) = made {
            made.keep();
        }
        let path = store.path();
        let synced = sync_folder_of(path).map_err(|error| unwritable(path, error));
        // Only now: until then no server opens the file that is replaced.
        drop(alone);
        synced
    }
}

/// Refuses the store itself, and what has a part elsewhere.
fn check_is_another(store: &Path, backup: &Path) -> Result<(), CopyError> {
    let no_backup = |error| CopyError::NoBackup(backup.to_owned(), error);
    let real = fs::canonicalize(backup).map_err(no_backup)?;
    let refused = |why: &str| Err(CopyError::Unusable(backup.to_owned(), why.to_owned()));
    if fs::canonicalize(store).is_ok_and(|store| store == real) {
        return refused("it is the store itself");
    }
    if fs::canonicalize(Draft::place(store, RESTORING)).is_ok_and(|left| left == real) {
        return refused(
            "it was left by a restore that was interrupted, and would be removed by this one: give it \
             another name first",
        );
    }
    if beside(&real).is_some() {
        return refused(
            "a file beside it holds a part of it, so it is a database that is or was in use; \
             `porteiro backup` makes a whole copy",
        );
    }
    Ok(())
}

/// Copies a backup to a file beside the store that its owner alone can read.
fn copied(backup: &Path, store: &Path) -> Result<Draft, CopyError> {
    let no_backup = |error| CopyError::NoBackup(backup.to_owned(), error);
    let mut from = fs::File::open(backup).map_err(no_backup)?;
    if !from.metadata().map_err(no_backup)?.is_file() {
        return Err(CopyError::Unusable(backup.to_owned(), "it is no file".to_owned()));
    }
    let mut copy = draft_beside(store, RESTORING)?;
    copy.fill(&mut from).map_err(|error| unwritable(&copy.path, error))?;
    Ok(copy)
}

/// Refuses what is no whole store, or one that this binary cannot use.
async fn check_copy(copy: &Path, backup: &Path) -> Result<(), CopyError> {
    let refused = |why: String| Err(CopyError::Unusable(backup.to_owned(), why));
    let file = File::existing(copy);
    match file.find_fault() {
        Ok(None) => {}
        Ok(Some(fault)) => return refused(fault),
        Err(error) if is_damaged(&error) => return refused(error.to_string()),
        Err(error) => return Err(error.into()),
    }
    let mut connection = Engine::Sqlite(file).connect_alone().await?;
    let history = migrate::history(&mut connection).await;
    connection.close().await;
    if history? { Ok(()) } else { refused("it is no store of Porteiro".to_owned()) }
}

fn file_of(url: &str) -> Result<File, CopyError> {
    match Engine::parse(url).map_err(CopyError::Address)? {
        Engine::Sqlite(file) => Ok(file),
        Engine::Postgres(_) => Err(CopyError::Postgres),
    }
}

fn draft_beside(file: &Path, what_for: &str) -> Result<Draft, CopyError> {
    let made = Draft::make_beside(file, what_for);
    made.map_err(|error| unwritable(&Draft::place(file, what_for), error))
}

fn unwritable(path: &Path, error: io::Error) -> CopyError {
    match error.kind() {
        io::ErrorKind::AlreadyExists => CopyError::Exists(path.to_owned()),
        _ => CopyError::Unwritable(path.to_owned(), error),
    }
}

impl Store {
    /// Says how many entities there are of each kind.
    pub async fn kinds(&self) -> Result<Vec<(String, i64)>, ReadError> {
        let rows = self.scan(sql::KINDS, &[]).await?;
        let kinds = rows.iter().map(|row| Ok((row.text(0)?, row.int(1)?)));
        Ok(kinds.collect::<Result<_, DatabaseError>>()?)
    }

    /// Reads up to `most` entities of a kind after an id, in the order of their ids.
    pub async fn of_kind(
        &self,
        kind: &str,
        after: &str,
        most: u32,
    ) -> Result<Vec<(String, Row)>, ReadError> {
        let values = [Value::Text(kind), Value::Text(after), Value::Int(most.into())];
        let rows = self.scan(sql::OF_KIND, &values).await?;
        let read = rows.iter().map(|row| {
            let found = Row { version: row.int(1)?, state: row.text(2)?, revision: row.int(3)? };
            Ok((row.text(0)?, found))
        });
        Ok(read.collect::<Result<_, DatabaseError>>()?)
    }

    /// Forgets entities at once, each a kind and an id, and says how many there were. For a copy that no server uses yet:
    /// owners elsewhere would not hear of it.
    pub async fn end_all(&self, entities: Vec<(String, String)>) -> Result<u64, CommitError> {
        self.count_maintenance(Maintenance::End { entities }).await
    }

    /// Appends a record that no commit is behind.
    pub async fn note(
        &self,
        now: Timestamp,
        of: (&'static str, &'static str),
        record: Record,
    ) -> Result<(), CommitError> {
        self.run_maintenance(Maintenance::Note { now, of, record }).await.map(drop)
    }
}
