//! A store is moved to another database by its rows, and both are compared at the end (adr/0158).
//!
//! 1. Every other process is kept from both databases.
//! 2. The schema of the target is made, and says that a move into it is not finished: no server starts there.
//! 3. Each table is read in the order of its key and written in batches. The commit of a batch notes its last key, so that
//!    a move that was interrupted goes on after it.
//! 4. All rows of both are read, counted and hashed. Where they are the same, the target says no more that it is unfinished.

mod tables;

use super::{
    batch::Batch,
    engine::{Connection, DatabaseError, Engine, Result},
    migrate::{self, MigrateError},
    value::{OwnedValue, Value},
};
use crate::domain::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::{fmt, ops::ControlFlow, time::Duration};
use tables::{FIRST_OF_LOG, Part, TABLES, Table};

/// How many rows are read and written at once; some are large.
const PAGE: usize = 200;

/// How long a batch waits for a lock: no other process has one.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// Why a store was not moved, or not all of it.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    #[error("the address of one of the two cannot be used")]
    Address(#[source] DatabaseError),
    #[error("both are the same database")]
    Same,
    #[error("there is no such database file to move from")]
    Missing,
    #[error("{0} cannot be reached")]
    Unreachable(&'static str, #[source] DatabaseError),
    #[error("another process uses {0}: stop every server and every command that works on it")]
    InUse(&'static str),
    #[error("{0} does not fit this binary")]
    Schema(&'static str, #[source] MigrateError),
    #[error("what is to be moved is not up to date: run `porteiro migrate` on it first")]
    Outdated,
    #[error("there is no installation in what is to be moved: its security log is empty")]
    Empty,
    #[error("the target is not empty, and no move of this installation has begun there")]
    Occupied,
    #[error("the schemas are not the same: move with the binary that wrote the store")]
    OtherSchema,
    #[error("it was stopped: the same command goes on where it was")]
    Stopped,
    #[error("a row could not be read or written: the same command goes on where it was")]
    Database(#[from] DatabaseError),
}

/// How many rows there are, and what they are; the order of the rows does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    pub rows: u64,
    /// The sum of the hashes of all rows.
    sum: [u64; 4],
}

/// A table of both databases.
#[derive(Clone, Debug)]
pub struct TableComparison {
    pub table: &'static str,
    pub from: Digest,
    pub to: Digest,
}

impl TableComparison {
    pub fn is_same(&self) -> bool {
        self.from == self.to
    }
}

impl fmt::Display for Digest {
    /// Writes the hash.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sum.iter().try_for_each(|part| write!(f, "{part:016x}"))
    }
}

/// How far a move has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct MoveProgress {
    /// What tells the installation from others.
    installation: String,
    table: usize,
    after: Vec<Part>,
}

/// Moves all rows from one database to another, and compares the two. `tell` hears the table and how many of its rows were
/// written, and may stop the move between two batches.
///
/// Where a table is not the same the move stays unfinished, and the target is no store. One that was finished is compared
/// once more: it may have been interrupted before it said so.
pub async fn move_rows(
    (from, to): (&str, &str),
    now: Timestamp,
    tell: &mut (dyn FnMut(&'static str, u64) -> ControlFlow<()> + Send),
) -> std::result::Result<Vec<TableComparison>, MoveError> {
    if from == to {
        return Err(MoveError::Same);
    }
    let [source, target] = [from, to].map(|url| Engine::parse(url).map_err(MoveError::Address));
    let (source, target) = (source?, target?);
    let is_new = source.is_new_file();
    if is_new.map_err(|error| MoveError::Unreachable(FROM, error.into()))? {
        return Err(MoveError::Missing);
    }
    let mut from = alone(&source, FROM).await?;
    let pending = migrate::pending(&mut from).await.map_err(|why| MoveError::Schema(FROM, why))?;
    if !pending.is_empty() {
        return Err(MoveError::Outdated);
    }
    let rows = from.fetch(FIRST_OF_LOG, &[]).await?;
    let first = rows.first().ok_or(MoveError::Empty)?.bytes(0)?;
    let mut to = alone(&target, TO).await?;
    let installation = installation_of(first);
    let was_finished = is_finished(&mut to, &installation).await?;
    if !was_finished {
        copy((&mut from, &mut to), installation, now, tell).await?;
    }
    let mut compared = Vec::with_capacity(TABLES.len());
    for table in &*TABLES {
        let (from, to) = (digest(&mut from, table).await?, digest(&mut to, table).await?);
        compared.push(TableComparison { table: table.name, from, to });
    }
    match (compared.iter().all(TableComparison::is_same), was_finished) {
        (true, false) => migrate::end_move(&mut to).await?,
        (true, true) | (false, false) => {}
        // It was used since.
        (false, true) => return Err(MoveError::Occupied),
    }
    to.close().await;
    from.close().await;
    Ok(compared)
}

const FROM: &str = "the store that is to be moved";
const TO: &str = "the target";

async fn alone(engine: &Engine, which: &'static str) -> std::result::Result<Connection, MoveError> {
    engine.connect_alone().await.map_err(|error| match error {
        DatabaseError::InUse => MoveError::InUse(which),
        other => MoveError::Unreachable(which, other),
    })
}

async fn copy(
    (from, to): (&mut Connection, &mut Connection),
    installation: String,
    now: Timestamp,
    tell: &mut (dyn FnMut(&'static str, u64) -> ControlFlow<()> + Send),
) -> std::result::Result<(), MoveError> {
    let mut how_far = MoveProgress { installation, table: 0, after: TABLES[0].beginning() };
    let begun = migrate::begin_move(to, &how_far.written(), now).await;
    if let Some(noted) = begun.map_err(|why| MoveError::Schema(TO, why))? {
        how_far = serde_json::from_str(&noted).map_err(|_| MoveError::Occupied)?;
    }
    let schema = |why| MoveError::Schema(TO, why);
    let (ours, theirs) = (migrate::applied(from).await, migrate::applied(to).await);
    if ours.map_err(schema)? != theirs.map_err(schema)? {
        return Err(MoveError::OtherSchema);
    }
    while let Some(table) = TABLES.get(how_far.table) {
        if let Some(insert) = &table.insert {
            copy_table((table, insert), (from, to), &mut how_far, tell).await?;
        }
        how_far.table += 1;
        how_far.after = TABLES.get(how_far.table).map_or_else(Vec::new, Table::beginning);
    }
    Ok(())
}

/// Refuses a database that holds anything else than this installation or a part of it; tells whether a move of it was
/// finished there.
async fn is_finished(
    to: &mut Connection,
    installation: &str,
) -> std::result::Result<bool, MoveError> {
    let schema = |why| MoveError::Schema(TO, why);
    if let Some(noted) = migrate::unfinished_move(to).await? {
        let noted: MoveProgress = serde_json::from_str(&noted).map_err(|_| MoveError::Occupied)?;
        let ours = noted.installation == installation && noted.table <= TABLES.len();
        return if ours { Ok(false) } else { Err(MoveError::Occupied) };
    }
    if !migrate::history(to).await.map_err(schema)? {
        // What another program keeps its rows in is no place for ours.
        return if to.has_other_tables().await? { Err(MoveError::Occupied) } else { Ok(false) };
    }
    // A database that an earlier binary has begun is as good as a new one.
    if migrate::pending(to).await.map_err(schema)?.is_empty() {
        if let Some(first) = to.fetch(FIRST_OF_LOG, &[]).await?.first() {
            let is_ours = installation_of(first.bytes(0)?) == installation;
            return if is_ours { Ok(true) } else { Err(MoveError::Occupied) };
        }
        for table in &*TABLES {
            if !page(to, table, &table.beginning(), 1).await?.is_empty() {
                return Err(MoveError::Occupied);
            }
        }
        return Ok(false);
    }
    Err(MoveError::Occupied)
}

/// What tells an installation from others, by the first row of its log.
fn installation_of(mac_of_first: Vec<u8>) -> String {
    hex(&Sha256::digest(mac_of_first))
}

async fn copy_table(
    (table, insert): (&'static Table, &'static Batch),
    (from, to): (&mut Connection, &mut Connection),
    how_far: &mut MoveProgress,
    tell: &mut (dyn FnMut(&'static str, u64) -> ControlFlow<()> + Send),
) -> std::result::Result<(), MoveError> {
    let mut written = 0;
    loop {
        let rows = page(from, table, &how_far.after, PAGE).await?;
        let Some(last) = rows.last() else { return Ok(()) };
        how_far.after = last[..table.key].iter().map(Part::of).collect::<Result<_>>()?;
        let values = rows.iter().flatten().map(Value::from).collect();
        let bound = insert.bind(values);
        to.begin(LOCK_WAIT).await?;
        if to.execute_batch(&bound).await? != bound.len() {
            return Err(DatabaseError::Unexpected.into());
        }
        migrate::note_move(to, &how_far.written()).await?;
        to.commit().await?;
        written += bound.len();
        if tell(table.name, written).is_break() {
            return Err(MoveError::Stopped);
        }
    }
}

/// Reads all rows of a table.
async fn digest(connection: &mut Connection, table: &Table) -> Result<Digest> {
    let (mut digest, mut after) = (Digest::default(), table.beginning());
    loop {
        let rows = page(connection, table, &after, PAGE).await?;
        let Some(last) = rows.last() else { return Ok(digest) };
        after = last[..table.key].iter().map(Part::of).collect::<Result<_>>()?;
        for row in &rows {
            digest.add(row);
        }
    }
}

async fn page(
    connection: &mut Connection,
    table: &Table,
    after: &[Part],
    most: usize,
) -> Result<Vec<Vec<OwnedValue>>> {
    let mut values: Vec<Value<'_>> = after.iter().map(Part::value).collect();
    values.push(Value::Int(i64::try_from(most).unwrap_or(i64::MAX)));
    let rows = connection.fetch(table.page, &values).await?;
    rows.iter().map(|row| table.read(row)).collect()
}

impl MoveProgress {
    fn written(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Digest {
    fn add(&mut self, row: &[OwnedValue]) {
        let mut hash = Sha256::new();
        for value in row {
            let (mark, bytes): (u8, &[u8]) = match value {
                OwnedValue::Int(None) | OwnedValue::Text(None) => (0, &[]),
                OwnedValue::Int(Some(number)) => (1, &number.to_be_bytes()),
                OwnedValue::Text(Some(text)) => (2, text.as_bytes()),
                OwnedValue::Bytes(bytes) => (3, bytes),
            };
            hash.update([mark]);
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        }
        let hash = hash.finalize();
        for (sum, part) in self.sum.iter_mut().zip(hash.chunks_exact(8)) {
            let part = part.try_into().map_or(0, u64::from_be_bytes);
            *sum = sum.wrapping_add(part);
        }
        self.rows += 1;
    }
}

fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
