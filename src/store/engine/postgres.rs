//! PostgreSQL: several connections that write, and a few that read.

mod readers;

pub(in crate::store) use readers::Readers;

use super::faults::{DatabaseError, Result};
use crate::{
    domain::Timestamp,
    store::{
        batch::Array,
        value::{Liveness, Row, Value},
    },
};
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, postgres::PgConnectOptions};
use std::{str::FromStr as _, time::Duration};

/// Versions and ends of life of several entities, in the order in which they are asked for.
macro_rules! liveness {
    ($ending:literal) => {
        concat!(
            "SELECT asked.place, e.version, e.live_until \
               FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked (kind, id, place) \
               JOIN entities e ON e.kind = asked.kind AND e.id = asked.id \
              ORDER BY asked.place",
            $ending
        )
    };
}

const LIVENESS: &str = liveness!("");

/// For required rows: they stay as they are until we commit. Rows are locked in the order asked, so that groups cannot
/// deadlock.
pub(super) const LIVENESS_REQUIRED: &str = liveness!(" FOR SHARE OF e");

/// The same for rows that will be changed.
pub(super) const LIVENESS_CHANGED: &str = liveness!(" FOR NO KEY UPDATE OF e");

pub(super) fn parse(url: &str) -> Result<PgConnectOptions> {
    Ok(PgConnectOptions::from_str(url)?
        .application_name("porteiro")
        .statement_cache_capacity(256)
        .options([
            ("lock_timeout", "5000"),
            ("statement_timeout", "10000"),
            // A node that vanished must not keep its rows locked until TCP notices.
            ("idle_in_transaction_session_timeout", "15000"),
            ("tcp_keepalives_idle", "30"),
            // Every statement finds its rows by an index. A plan that was made while a table was small must not go
            // through all of it once it has grown, and is not made anew for each list.
            ("plan_cache_mode", "force_generic_plan"),
            ("enable_seqscan", "off"),
            ("enable_hashjoin", "off"),
            ("enable_mergejoin", "off"),
        ])
        .disable_statement_logging())
}

/// Takes the advisory lock of the schema that a connection is in. Connections that write share it, and one that must be the
/// only one has it alone. Each schema of a database may be an installation.
macro_rules! lock_of_schema {
    ($take:literal) => {
        concat!(
            "SELECT ",
            $take,
            "(723140255, CAST(CAST(oid AS BIGINT) % 2147483647 AS INT)) AS taken \
               FROM pg_namespace WHERE nspname = current_schema()",
        )
    };
}

const SHARE: &str = lock_of_schema!("pg_advisory_lock_shared");

const TAKE_ALONE: &str = concat!(
    "SELECT COUNT(*) FROM (",
    lock_of_schema!("pg_try_advisory_lock"),
    ") AS locked WHERE taken"
);

/// How often one that must be alone tries: a process that has ended is connected for a moment longer.
const TRIES: u32 = 20;

/// Opens a connection that writes beside others.
pub(super) async fn connect(options: &PgConnectOptions) -> Result<PgConnection> {
    let mut connection = PgConnection::connect_with(options).await?;
    execute(&mut connection, SHARE, &[]).await?;
    Ok(connection)
}

/// Opens the only connection that writes; others wait, and then are refused, until it is closed.
pub(super) async fn connect_alone(options: &PgConnectOptions) -> Result<PgConnection> {
    let mut connection = PgConnection::connect_with(options).await?;
    let patient = "SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0";
    sqlx::raw_sql(patient).execute(&mut connection).await?;
    for _ in 0..TRIES {
        let rows = fetch(&mut connection, TAKE_ALONE, &[]).await?;
        if rows.first().ok_or(DatabaseError::Unexpected)?.int(0)? == 1 {
            return Ok(connection);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err(DatabaseError::InUse)
}

/// Binds values one after the other.
macro_rules! bind_all {
    ($query:expr, $values:expr) => {{
        let mut query = $query;
        for value in $values {
            query = match *value {
                Value::Int(v) => query.bind(v),
                Value::OptionalInt(v) => query.bind(v),
                Value::Text(v) => query.bind(v),
                Value::OptionalText(v) => query.bind(v),
                Value::Bytes(v) => query.bind(v),
            };
        }
        query
    }};
}

macro_rules! bind_lists {
    ($query:expr, $arrays:expr) => {{
        let mut query = $query;
        for array in $arrays {
            query = match array {
                Array::Int(v) => query.bind(v),
                Array::Text(v) => query.bind(v),
                Array::Bytes(v) => query.bind(v),
            };
        }
        query
    }};
}

pub(super) async fn fetch(
    connection: &mut PgConnection,
    sql: &'static str,
    values: &[Value<'_>],
) -> Result<Vec<Row>> {
    let rows = bind_all!(sqlx::query(sql), values).fetch_all(connection).await?;
    Ok(rows.into_iter().map(Row::Postgres).collect())
}

pub(super) async fn execute(
    connection: &mut PgConnection,
    sql: &'static str,
    values: &[Value<'_>],
) -> Result<u64> {
    Ok(bind_all!(sqlx::query(sql), values).execute(connection).await?.rows_affected())
}

pub(super) async fn fetch_lists(
    connection: &mut PgConnection,
    (sql, arrays): (&'static str, Vec<Array<'_>>),
) -> Result<Vec<Row>> {
    let rows = bind_lists!(sqlx::query(sql), arrays).fetch_all(connection).await?;
    Ok(rows.into_iter().map(Row::Postgres).collect())
}

/// Takes values that come after the lists.
pub(super) async fn execute_lists(
    connection: &mut PgConnection,
    (sql, arrays): (&'static str, Vec<Array<'_>>),
    values: &[Value<'_>],
) -> Result<u64> {
    let query = bind_all!(bind_lists!(sqlx::query(sql), arrays), values);
    Ok(query.execute(connection).await?.rows_affected())
}

/// Reads the liveness of entities by one of the statements above.
pub(super) async fn liveness(
    connection: &mut PgConnection,
    sql: &'static str,
    asked: &[(&str, &str)],
) -> Result<Vec<Option<Liveness>>> {
    let (kinds, ids): (Vec<&str>, Vec<&str>) = asked.iter().copied().unzip();
    let rows = sqlx::query(sql).bind(kinds).bind(ids).fetch_all(connection).await?;
    let mut found = vec![None; asked.len()];
    for row in rows.into_iter().map(Row::Postgres) {
        let place = usize::try_from(row.int(0)? - 1).ok().and_then(|place| found.get_mut(place));
        let live_until = Timestamp::from_millis(row.int(2)?);
        let liveness = Liveness { version: row.int(1)?, live_until };
        *place.ok_or(DatabaseError::Unexpected)? = Some(liveness);
    }
    Ok(found)
}
