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
    /// Lease up to `most` messages that are due, until `until`.
    Lease { now: Timestamp, until: Timestamp, most: i64 },
    /// Erase a delivered message.
    Deliver { id: String, attempts: i64 },
    /// Put a message off until `due`.
    Defer { id: String, attempts: i64, due: Timestamp },
    /// Erase a message that will not be delivered, and record that.
    Drop { id: String, attempts: i64, topic: String, now: Timestamp },
    /// Forget up to `most` entities whose time has come.
    Forget { now: Timestamp, most: i64 },
    /// Name every lane's head in the log.
    Anchor { now: Timestamp },
    /// Allow each lane's rows up to its end, all of them proven, to be deleted, and record that.
    Checkpoint { now: Timestamp, ends: Vec<Head> },
    /// Delete up to `most` rows of the log that a checkpoint allows to be deleted.
    Trim { most: i64 },
}

/// Its result.
pub(super) enum Outcome {
    Leased(Vec<Leased>),
    /// How many rows were changed.
    Count(u64),
    Heads(Vec<Head>),
}

/// A message that this node may deliver until its lease ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leased {
    pub id: String,
    pub topic: String,
    pub payload: Vec<u8>,
    /// Counts the leases; a later lease makes this one void.
    pub attempts: i64,
    pub expires_at: Timestamp,
}

/// Runs `maintenance` within the transaction that is open on `connection`.
pub(super) async fn run(
    connection: &mut Connection,
    writer: &mut LogWriter,
    maintenance: &Maintenance,
) -> engine::Result<(Outcome, Option<Head>)> {
    match maintenance {
        Maintenance::Lease { now, until, most } => {
            let leased = lease(connection, *now, *until, *most).await?;
            Ok((Outcome::Leased(leased), None))
        }
        Maintenance::Deliver { id, attempts } => {
            let values = [Value::Text(id), Value::Int(*attempts)];
            Ok((Outcome::Count(connection.execute(sql::OUTBOX_DONE, &values).await?), None))
        }
        Maintenance::Defer { id, attempts, due } => {
            let values = [Value::Int(due.millis()), Value::Text(id), Value::Int(*attempts)];
            Ok((Outcome::Count(connection.execute(sql::OUTBOX_DEFER, &values).await?), None))
        }
        Maintenance::Drop { id, attempts, topic, now } => {
            let values = [Value::Text(id), Value::Int(*attempts)];
            let dropped = connection.execute(sql::OUTBOX_DONE, &values).await?;
            if dropped == 0 {
                return Ok((Outcome::Count(0), None));
            }
            let record = Record::new("outbox.dropped").with("topic", topic.as_str());
            let head = append(connection, writer, *now, ("outbox", id), &record).await?;
            Ok((Outcome::Count(dropped), head))
        }
        Maintenance::Forget { now, most } => {
            Ok((Outcome::Count(forget(connection, *now, *most).await?), None))
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

async fn lease(
    connection: &mut Connection,
    now: Timestamp,
    until: Timestamp,
    most: i64,
) -> engine::Result<Vec<Leased>> {
    let due = [Value::Int(now.millis()), Value::Int(most)];
    let mut messages: Vec<(Leased, i64)> = Vec::new();
    for row in connection.fetch(sql::OUTBOX_DUE, &due).await? {
        messages.push((message(&row)?, row.int(3)?));
    }
    // By id: two nodes that lease at once then lock in the same order.
    messages.sort_unstable_by(|(one, _), (other, _)| one.id.cmp(&other.id));
    let mut leased = Vec::new();
    for (mut message, due_at) in messages {
        let swap = [
            Value::Int(until.millis()),
            Value::Text(&message.id),
            Value::Int(due_at),
            Value::Int(message.attempts),
        ];
        if connection.execute(sql::OUTBOX_LEASE, &swap).await? == 1 {
            message.attempts += 1;
            leased.push((due_at, message));
        }
    }
    // What has waited longest is delivered first.
    leased.sort_by_key(|(due_at, _)| *due_at);
    Ok(leased.into_iter().map(|(_, message)| message).collect())
}

/// Reads the columns of [`sql::OUTBOX_DUE`], as they were before the lease.
fn message(row: &Row) -> engine::Result<Leased> {
    let (id, topic, payload) = (row.text(0)?, row.text(1)?, row.bytes(2)?);
    let expires_at = Timestamp::from_millis(row.int(5)?);
    Ok(Leased { id, topic, payload, attempts: row.int(4)?, expires_at })
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
            connection.execute(sql::FORGET_NAMES, &seen[..2]).await?;
            connection.execute(sql::FORGET_LISTINGS, &seen[..2]).await?;
            forgotten += 1;
        }
    }
    Ok(forgotten)
}

pub(super) async fn heads(connection: &mut Connection) -> engine::Result<Vec<Head>> {
    connection.fetch(sql::LANES, &[]).await?.iter().map(Head::read).collect()
}
