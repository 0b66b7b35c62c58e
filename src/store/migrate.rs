//! Brings the schema up to this binary, forward only, one process at a time.
//!
//! Each migration says from which one on a binary can work with its result
//! (`-- oldest_compatible: n`). A binary refuses a schema that says it is too old for it, and runs on
//! a schema that is newer but compatible: that is how a new version is rolled out node by node.

use super::{
    engine::{Connection, DatabaseError, Readers, Triggers, is_missing_table, is_passing},
    value::{Row, Value},
};
use crate::domain::Timestamp;
use sha2::{Digest as _, Sha256};
use std::time::Duration;

/// One step of the schema's history.
struct Migration {
    version: i64,
    name: &'static str,
    script: &'static str,
    /// The triggers that are installed with it, which each database writes differently.
    triggers: Option<Triggers>,
    /// Whether it is about SQLite's own way to keep tables; on PostgreSQL it is only remembered.
    for_sqlite: bool,
}

impl Migration {
    const fn new(version: i64, name: &'static str, script: &'static str) -> Self {
        Self { version, name, script, triggers: None, for_sqlite: false }
    }

    const fn for_sqlite(self) -> Self {
        Self { for_sqlite: true, ..self }
    }

    const fn and(self, triggers: Triggers) -> Self {
        Self { triggers: Some(triggers), ..self }
    }
}

macro_rules! migration {
    ($version:literal, $file:literal) => {
        Migration::new($version, $file, include_str!(concat!("../../migrations/", $file)))
    };
}

/// The whole history; a new migration is a new line here.
const MIGRATIONS: &[Migration] = &[
    migration!(1, "0001_entities.sql"),
    migration!(2, "0002_names_and_listings.sql"),
    migration!(3, "0003_security_log.sql").and(Triggers::Log),
    migration!(4, "0004_outbox.sql"),
    migration!(5, "0005_history_of_accounts.sql"),
    migration!(6, "0006_leaner_log.sql"),
    migration!(7, "0007_one_tree_a_table.sql").for_sqlite().and(Triggers::Log),
    migration!(8, "0008_outbox_classes.sql").and(Triggers::Outbox),
    migration!(9, "0009_scim.sql").and(Triggers::Members),
    migration!(10, "0010_what_directories_did.sql"),
];

const CREATE_HISTORY: &str = "CREATE TABLE IF NOT EXISTS schema_history (\
     version BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, digest TEXT NOT NULL, \
     oldest_compatible BIGINT NOT NULL, applied_at BIGINT NOT NULL)";
const HISTORY: &str =
    "SELECT version, name, digest, oldest_compatible FROM schema_history ORDER BY version";
const REMEMBER: &str = "INSERT INTO schema_history \
     (version, name, digest, oldest_compatible, applied_at) VALUES ($1, $2, $3, $4, $5)";

/// The version of the row by which a database says that a move into it is not finished. No binary knows it, so none
/// starts on half an installation.
const MOVING: i64 = 1_000_000_000;

/// How often a migration is tried whose tables other transactions hold, and what is left to callers between two tries:
/// together with the wait for a table these are ten minutes.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_secs(1);

const HOW_FAR: &str = "SELECT digest FROM schema_history WHERE version = $1";
const HAVE_MOVED: &str = "UPDATE schema_history SET digest = $1 WHERE version = $2";
const ALL_MOVED: &str = "DELETE FROM schema_history WHERE version = $1";

/// Why the schema and this binary do not fit.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    #[error("the database needs a binary that knows migration {needed}; this one ends at {known}")]
    TooNew { needed: i64, known: i64 },
    #[error("a move into this database is not finished: run `porteiro move` again")]
    Moving,
    #[error(
        "there is a store in the schema {schema}, which is not the first one of the search path: tables that were \
         made now would hide it. If {schema} is meant, name it alone in `options` of store.url \
         (`options=-csearch_path%3D{schema}`); if another one is meant, name that one alone"
    )]
    Elsewhere { schema: String },
    #[error(
        "other transactions have held the tables that a migration changes: end them (pg_stat_activity names them) \
         and start again"
    )]
    TablesHeld(#[source] DatabaseError),
    #[error("migration {name} was changed after it had been applied")]
    Rewritten { name: String },
    #[error("the schema could not be read or changed")]
    Database(#[from] DatabaseError),
}

/// Runs what is pending and returns the names of what was run.
pub(super) async fn migrate(
    connection: &mut Connection,
    now: Timestamp,
) -> Result<Vec<&'static str>, MigrateError> {
    run(connection, MIGRATIONS, now).await
}

/// Checks that a schema is there which this binary can read, and changes nothing.
pub(super) async fn check(readers: &Readers) -> Result<(), MigrateError> {
    fits(&readers.fetch(HISTORY, &[]).await?)
}

/// Names the whole history.
pub(super) fn names() -> Vec<&'static str> {
    MIGRATIONS.iter().map(|migration| migration.name).collect()
}

/// Returns the names of what would be run, and changes nothing; a database without a history is new.
pub(super) async fn pending(
    connection: &mut Connection,
) -> Result<Vec<&'static str>, MigrateError> {
    refuse_elsewhere(connection).await?;
    let rows = match connection.fetch(HISTORY, &[]).await {
        Ok(rows) => rows,
        Err(error) if is_missing_table(&error) => return Ok(names()),
        Err(error) => return Err(error.into()),
    };
    fits(&rows)?;
    rows.iter().try_for_each(|row| check_digest(row, MIGRATIONS))?;
    let present: Vec<i64> = rows.iter().map(|row| row.int(0)).collect::<Result<_, _>>()?;
    let pending = MIGRATIONS.iter().filter(|migration| !present.contains(&migration.version));
    Ok(pending.map(|migration| migration.name).collect())
}

/// Tells whether a database is a store, and fails where it needs a newer binary; changes nothing.
pub(super) async fn history(connection: &mut Connection) -> Result<bool, MigrateError> {
    match connection.fetch(HISTORY, &[]).await {
        Ok(rows) => fits(&rows).map(|()| !rows.is_empty()),
        Err(error) if is_missing_table(&error) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Tells whether this binary may work with a schema of this history.
fn fits(history: &[Row]) -> Result<(), MigrateError> {
    let known = MIGRATIONS.last().map_or(0, |last| last.version);
    for row in history {
        let needed = row.int(3)?;
        if needed > known {
            return Err(too_new(needed, known));
        }
    }
    Ok(())
}

/// Refuses a migration that was another when it was applied.
fn check_digest(applied: &Row, migrations: &[Migration]) -> Result<(), MigrateError> {
    let (version, theirs) = (applied.int(0)?, applied.text(2)?);
    let ours = migrations.iter().find(|migration| migration.version == version);
    match ours {
        Some(ours) if theirs != digest(ours.script) => {
            Err(MigrateError::Rewritten { name: applied.text(1)? })
        }
        _ => Ok(()),
    }
}

fn too_new(needed: i64, known: i64) -> MigrateError {
    match needed {
        MOVING => MigrateError::Moving,
        needed => MigrateError::TooNew { needed, known },
    }
}

/// Begins a move into a database, or says how far one has come that is not finished.
pub(super) async fn begin_move(
    connection: &mut Connection,
    how_far: &str,
    now: Timestamp,
) -> Result<Option<String>, MigrateError> {
    if let Some(noted) = unfinished_move(connection).await? {
        return Ok(Some(noted));
    }
    run(connection, MIGRATIONS, now).await?;
    let mark = [
        Value::Int(MOVING),
        Value::Text("move"),
        Value::Text(how_far),
        Value::Int(MOVING),
        Value::Int(now.millis()),
    ];
    connection.execute(REMEMBER, &mark).await?;
    Ok(None)
}

/// Says how far a move into a database has come that is not finished, if there is one.
pub(super) async fn unfinished_move(
    connection: &mut Connection,
) -> Result<Option<String>, DatabaseError> {
    match connection.fetch(HOW_FAR, &[Value::Int(MOVING)]).await {
        Err(error) if is_missing_table(&error) => Ok(None),
        Err(error) => Err(error),
        Ok(rows) => rows.first().map(|row| row.text(0)).transpose(),
    }
}

/// Notes how far a move has come, within the transaction that is open.
pub(super) async fn note_move(
    connection: &mut Connection,
    how_far: &str,
) -> Result<(), DatabaseError> {
    let moved = [Value::Text(how_far), Value::Int(MOVING)];
    match connection.execute(HAVE_MOVED, &moved).await? {
        1 => Ok(()),
        _ => Err(DatabaseError::Unexpected),
    }
}

/// Says that a move is finished: from now on the database is a store as any other.
pub(super) async fn end_move(connection: &mut Connection) -> Result<(), DatabaseError> {
    connection.execute(ALL_MOVED, &[Value::Int(MOVING)]).await.map(drop)
}

/// Names the migrations of a store and what each was, without those of a move.
pub(super) async fn applied(
    connection: &mut Connection,
) -> Result<Vec<(i64, String, i64)>, MigrateError> {
    let rows = connection.fetch(HISTORY, &[]).await?;
    let read = rows.iter().map(|row| Ok((row.int(0)?, row.text(2)?, row.int(3)?)));
    let mut applied = read.collect::<Result<Vec<_>, DatabaseError>>()?;
    applied.retain(|(version, ..)| *version != MOVING);
    Ok(applied)
}

async fn run(
    connection: &mut Connection,
    migrations: &[Migration],
    now: Timestamp,
) -> Result<Vec<&'static str>, MigrateError> {
    let mut tries = 1;
    loop {
        connection.begin_migration().await?;
        match run_in_transaction(connection, migrations, now).await {
            Ok(applied) => {
                connection.commit().await?;
                return Ok(applied);
            }
            Err(MigrateError::Database(error)) if is_passing(&error) => {
                connection.rollback().await?;
                if tries == TRIES {
                    return Err(MigrateError::TablesHeld(error));
                }
                tracing::warn!(%error, "a migration waits for other transactions");
                tries += 1;
                tokio::time::sleep(PAUSE).await;
            }
            Err(error) => {
                connection.rollback().await?;
                return Err(error);
            }
        }
    }
}

async fn run_in_transaction(
    connection: &mut Connection,
    migrations: &[Migration],
    now: Timestamp,
) -> Result<Vec<&'static str>, MigrateError> {
    refuse_elsewhere(connection).await?;
    connection.execute(CREATE_HISTORY, &[]).await?;
    let known = migrations.last().map_or(0, |last| last.version);
    let mut present = 0;
    for row in connection.fetch(HISTORY, &[]).await? {
        let needed = row.int(3)?;
        if needed > known {
            return Err(too_new(needed, known));
        }
        present = row.int(0)?;
        check_digest(&row, migrations)?;
    }
    let mut applied = Vec::new();
    for migration in migrations.iter().filter(|migration| migration.version > present) {
        if !migration.for_sqlite || connection.is_sqlite() {
            connection.run_script(migration.script).await?;
            if let Some(triggers) = migration.triggers {
                connection.install(triggers).await?;
            }
        }
        let values = [
            Value::Int(migration.version),
            Value::Text(migration.name),
            Value::Text(&digest(migration.script)),
            Value::Int(oldest_compatible(migration)),
            Value::Int(now.millis()),
        ];
        connection.execute(REMEMBER, &values).await?;
        applied.push(migration.name);
    }
    Ok(applied)
}

/// Refuses to make tables before those of a store in the search path, which every node would then use.
async fn refuse_elsewhere(connection: &mut Connection) -> Result<(), MigrateError> {
    match connection.store_elsewhere().await? {
        Some(schema) => Err(MigrateError::Elsewhere { schema }),
        None => Ok(()),
    }
}

/// Reads the header line; a migration that says nothing is compatible with itself alone.
fn oldest_compatible(migration: &Migration) -> i64 {
    let header = migration.script.lines().find_map(|l| l.strip_prefix("-- oldest_compatible: "));
    header.and_then(|text| text.trim().parse().ok()).unwrap_or(migration.version)
}

fn digest(script: &str) -> String {
    use std::fmt::Write as _;
    Sha256::digest(script).iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
#[path = "migrate_tests.rs"]
mod tests;
