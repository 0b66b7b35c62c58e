//! What workers ask of the store between commits, each in a small transaction of its own.

use super::{
    chain::{Entry, Head, LogWriter},
    engine::{self, Connection},
    log::retention,
    sql,
    value::{Row, Value},
};
use crate::domain::{Record, Timestamp};

/// One piece of work.
pub(super) enum Maintenance {
    /// Let up to `most` messages of a class wait again that are no longer leased, or put off.
    Return { class: i64, now: Timestamp, most: i64 },
    /// Forget up to `most` entities whose time has come.
    Forget { now: Timestamp, most: i64 },
    /// Forget these entities, each a kind and an id, whatever their time. For what was restored, before it is used.
    End { entities: Vec<(String, String)> },
    /// Append a record that no commit is behind.
    Note { now: Timestamp, of: (&'static str, &'static str), record: Record },
    /// Name every lane's head in the log.
    Anchor { now: Timestamp },
    /// Allow each lane's rows up to its end, all of them proven, to be deleted, and record that.
    Checkpoint { now: Timestamp, ends: Vec<Head> },
    /// Delete up to `most` rows of the log that a checkpoint allows to be deleted.
    Trim { most: i64 },
}

/// Its result.
pub(super) enum Outcome {
    /// How many rows were changed.
    Count(u64),
    Heads(Vec<Head>),
}

/// Runs `maintenance` within the transaction that is open on `connection`.
pub(super) async fn run(
    connection: &mut Connection,
    writer: &mut LogWriter,
    maintenance: &Maintenance,
) -> engine::Result<(Outcome, Option<Head>)> {
    match maintenance {
        Maintenance::Return { class, now, most } => {
            let values = [Value::Int(*class), Value::Int(now.millis()), Value::Int(*most)];
            Ok((Outcome::Count(connection.execute(sql::OUTBOX_RETURN, &values).await?), None))
        }
        Maintenance::Forget { now, most } => {
            Ok((Outcome::Count(forget(connection, *now, *most).await?), None))
        }
        Maintenance::End { entities } => {
            let mut ended = 0;
            for (kind, id) in entities {
                let of = [Value::Text(kind), Value::Text(id)];
                ended += connection.execute(sql::ERASE, &of).await?;
                erase_projections(connection, kind, id).await?;
            }
            Ok((Outcome::Count(ended), None))
        }
        Maintenance::Note { now, of, record } => {
            let head = append(connection, writer, *now, *of, record).await?;
            Ok((Outcome::Count(1), head))
        }
        Maintenance::Anchor { now } => {
            let heads = heads(connection).await?;
            let record = Record::new("log.anchored").with("heads", Head::name_all(&heads));
            let head = append(connection, writer, *now, ("log", "anchor"), &record).await?;
            Ok((Outcome::Heads(heads), head))
        }
        Maintenance::Checkpoint { now, ends } => {
            let (moved, head) = retention::checkpoint(connection, writer, *now, ends).await?;
            Ok((Outcome::Count(moved), head))
        }
        Maintenance::Trim { most } => {
            let trimmed = retention::trim(connection, &*writer.chain_keys(), *most).await?;
            Ok((Outcome::Count(trimmed), None))
        }
    }
}

pub(super) async fn append(
    connection: &mut Connection,
    writer: &mut LogWriter,
    at: Timestamp,
    (kind, id): (&str, &str),
    record: &Record,
) -> engine::Result<Option<Head>> {
    writer.append(connection, &[Entry { at, kind, id, record }]).await
}

async fn forget(connection: &mut Connection, now: Timestamp, most: i64) -> engine::Result<u64> {
    let mut forgotten = 0;
    let due = [Value::Int(now.millis()), Value::Int(most)];
    let rows = connection.fetch(sql::FORGETTABLE, &due).await?;
    let read = |row: &Row| Ok((row.text(0)?, row.text(1)?, row.int(2)?));
    let mut expired = rows.iter().map(read).collect::<engine::Result<Vec<_>>>()?;
    // In the order in which groups of commits lock.
    expired.sort_unstable();
    for (kind, id, version) in expired {
        let seen = [Value::Text(&kind), Value::Text(&id), Value::Int(version)];
        // With its version: on PostgreSQL another node may have prolonged it since it was read.
        if connection.execute(sql::FORGET, &seen).await? == 1 {
            erase_projections(connection, &kind, &id).await?;
            forgotten += 1;
        }
    }
    Ok(forgotten)
}

/// Erases the names and listings of an entity that is gone.
async fn erase_projections(
    connection: &mut Connection,
    kind: &str,
    id: &str,
) -> engine::Result<()> {
    let of = [Value::Text(kind), Value::Text(id)];
    connection.execute(sql::FORGET_NAMES, &of).await?;
    connection.execute(sql::FORGET_LISTINGS, &of).await.map(drop)
}

pub(super) async fn heads(connection: &mut Connection) -> engine::Result<Vec<Head>> {
    connection.fetch(sql::LANES, &[]).await?.iter().map(Head::read).collect()
}
