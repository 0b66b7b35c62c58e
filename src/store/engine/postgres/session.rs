//! A connection, and how its statements are sent.
//!
//! Straight to a server, a connection has a session of its own there: it was started with our settings, and its
//! statements stay prepared. A pooler in transaction mode lends a session for one transaction, and the next one may be
//! another: every statement is then part of a transaction that begins with our settings, and none stays prepared.

use super::{LIVENESS, settings::BEGIN};
use crate::{
    domain::Timestamp,
    store::{
        batch::{Array, Statement},
        engine::{
            faults::{AtOnceError, DatabaseError, Result},
            unfit::UnfitServer,
        },
        value::{Liveness, Row, Value},
    },
};
use sqlx::{
    AssertSqlSafe, Connection as _, PgConnection, Row as _,
    postgres::{PgDatabaseError, PgRow, PgSeverity},
};
use std::sync::Arc;

/// The error of a statement that divides by zero, as one does that counts too few rows.
const DIVISION_BY_ZERO: &str = "22012";

/// The error of a session that an operator ends, alone or with its server.
const SHUTDOWN: &str = "57P01";

/// Whose sessions are used.
#[derive(Clone)]
pub(super) enum Sessions {
    /// Each connection has one.
    Own,
    /// A pooler lends one for a transaction, which begins with this.
    Lent(Arc<str>),
}

/// A connection.
pub(in crate::store) struct Session {
    connection: PgConnection,
    sessions: Sessions,
    takes_standby: bool,
    /// Whether a transaction may be open.
    is_open: bool,
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

/// Makes a query of ours, which stays prepared where the session is our own.
macro_rules! query {
    ($session:ident, $sql:expr) => {
        sqlx::query($sql).persistent(matches!($session.sessions, Sessions::Own))
    };
}

/// Asks in the open transaction; where a pooler lends sessions and none is open, in one of its own.
macro_rules! ask {
    ($session:ident, $asked:expr) => {{
        let alone = !$session.is_open && matches!($session.sessions, Sessions::Lent(_));
        if alone {
            $session.begin().await?;
        }
        let answer = $asked.await;
        if alone {
            // Where the answer is an error this ends the transaction all the same.
            let ended = $session.commit().await;
            let answer = answer?;
            ended?;
            answer
        } else {
            answer?
        }
    }};
}

impl Session {
    pub(super) fn new(connection: PgConnection, sessions: Sessions, takes_standby: bool) -> Self {
        Self { connection, sessions, takes_standby, is_open: false }
    }

    /// Tells whether a pooler lends its sessions.
    pub(in crate::store::engine) fn is_lent(&self) -> bool {
        matches!(self.sessions, Sessions::Lent(_))
    }

    /// Tells whether a transaction may be open.
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    pub(in crate::store::engine) async fn begin(&mut self) -> Result<()> {
        self.is_open = true;
        match &self.sessions {
            Sessions::Own => {
                sqlx::query(BEGIN).execute(&mut self.connection).await?;
            }
            Sessions::Lent(begin) => {
                let begin = sqlx::raw_sql(AssertSqlSafe(begin.clone()));
                let rows = begin.fetch_all(&mut self.connection).await?;
                let row = rows.first().ok_or(DatabaseError::Unexpected)?;
                // The pooler may lead to another server than before.
                let is_standby: String = row.try_get(row.len().saturating_sub(1))?;
                if is_standby == "true" && !self.takes_standby {
                    return Err(UnfitServer::Standby.into());
                }
            }
        }
        Ok(())
    }

    pub(in crate::store::engine) async fn commit(&mut self) -> Result<()> {
        self.end("COMMIT").await
    }

    pub(in crate::store::engine) async fn rollback(&mut self) -> Result<()> {
        self.end("ROLLBACK").await
    }

    async fn end(&mut self, statement: &'static str) -> Result<()> {
        match self.sessions {
            Sessions::Own => sqlx::query(statement).execute(&mut self.connection).await?,
            Sessions::Lent(_) => sqlx::raw_sql(statement).execute(&mut self.connection).await?,
        };
        self.is_open = false;
        Ok(())
    }

    /// Tries whether the server still answers, and gives back a session that a caller who has gone had been lent.
    pub(super) async fn test(&mut self) -> Result<()> {
        match self.sessions {
            Sessions::Own => Ok(self.connection.ping().await?),
            Sessions::Lent(_) if self.is_open => self.rollback().await,
            // A pooler would answer by itself.
            Sessions::Lent(_) => Ok(self.simple("SELECT 1").await.map(drop)?),
        }
    }

    /// Sends a text as it is, and returns what comes back as text.
    pub(super) async fn simple(&mut self, sql: &'static str) -> sqlx::Result<Vec<PgRow>> {
        sqlx::raw_sql(sql).fetch_all(&mut self.connection).await
    }

    /// Tries to take a lock that ends with the transaction.
    pub(super) async fn try_advisory_lock(&mut self, id: i32) -> sqlx::Result<bool> {
        let lock = query!(self, "SELECT pg_try_advisory_xact_lock(7231402, $1)").bind(id);
        lock.fetch_one(&mut self.connection).await?.try_get(0)
    }

    /// Tells whether the open transaction sees what another one, by its id, has done.
    pub(super) async fn sees(&mut self, transaction: &str) -> sqlx::Result<bool> {
        let seen = "SELECT pg_visible_in_snapshot($1::text::xid8, pg_current_snapshot())";
        let seen = query!(self, seen).bind(transaction);
        seen.fetch_one(&mut self.connection).await?.try_get(0)
    }

    pub(in crate::store::engine) async fn run_script(
        &mut self,
        script: &'static str,
    ) -> Result<()> {
        ask!(self, sqlx::raw_sql(script).execute(&mut self.connection));
        Ok(())
    }

    pub(in crate::store::engine) async fn fetch(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>> {
        let rows = ask!(self, bind_all!(query!(self, sql), values).fetch_all(&mut self.connection));
        Ok(rows.into_iter().map(Row::Postgres).collect())
    }

    pub(in crate::store::engine) async fn execute(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<u64> {
        let ran = ask!(self, bind_all!(query!(self, sql), values).execute(&mut self.connection));
        Ok(ran.rows_affected())
    }

    pub(in crate::store::engine) async fn fetch_lists(
        &mut self,
        (sql, arrays): (&'static str, Vec<Array<'_>>),
    ) -> Result<Vec<Row>> {
        let rows =
            ask!(self, bind_lists!(query!(self, sql), arrays).fetch_all(&mut self.connection));
        Ok(rows.into_iter().map(Row::Postgres).collect())
    }

    /// Takes values that come after the lists.
    pub(in crate::store::engine) async fn execute_lists(
        &mut self,
        (sql, arrays): (&'static str, Vec<Array<'_>>),
        values: &[Value<'_>],
    ) -> Result<u64> {
        let query = bind_all!(bind_lists!(query!(self, sql), arrays), values);
        Ok(ask!(self, query.execute(&mut self.connection)).rows_affected())
    }

    /// Runs a statement that is a whole transaction.
    pub(in crate::store::engine) async fn run_at_once(
        &mut self,
        Statement { sql, rows, moved, others }: Statement<'_>,
    ) -> std::result::Result<(), AtOnceError> {
        let query = bind_all!(bind_lists!(query!(self, sql), rows), &moved);
        let ran = bind_lists!(query, others).execute(&mut self.connection).await;
        ran.map(drop).map_err(fate)
    }

    /// Reads the liveness of entities as it is now.
    pub(in crate::store::engine) async fn present_liveness(
        &mut self,
        asked: &[(&str, &str)],
    ) -> Result<Vec<Option<Liveness>>> {
        self.liveness(LIVENESS, asked).await
    }

    /// Reads the liveness of entities by one of the statements for it.
    pub(in crate::store::engine) async fn liveness(
        &mut self,
        sql: &'static str,
        asked: &[(&str, &str)],
    ) -> Result<Vec<Option<Liveness>>> {
        let (kinds, ids): (Vec<&str>, Vec<&str>) = asked.iter().copied().unzip();
        let query = query!(self, sql).bind(kinds).bind(ids);
        let rows = ask!(self, query.fetch_all(&mut self.connection));
        let mut found = vec![None; asked.len()];
        for row in rows.into_iter().map(Row::Postgres) {
            let place = usize::try_from(row.int(0)? - 1).ok();
            let place = place.and_then(|place| found.get_mut(place));
            let live_until = Timestamp::from_millis(row.int(2)?);
            let liveness = Liveness { version: row.int(1)?, live_until };
            *place.ok_or(DatabaseError::Unexpected)? = Some(liveness);
        }
        Ok(found)
    }

    pub(in crate::store::engine) async fn close(self) -> Result<()> {
        Ok(self.connection.close().await?)
    }
}

/// Tells what has become of a statement that was a whole transaction.
///
/// What the server says as an error it has taken back; of what a pooler may say in its place that is not known. Where an
/// operator ends a session, the server says so as fatal, and takes back what was under way; while it waits for a standby,
/// after the commit, it says so as a warning and then no more.
fn fate(error: sqlx::Error) -> AtOnceError {
    let said =
        error.as_database_error().and_then(|said| said.try_downcast_ref::<PgDatabaseError>());
    match said.map(|said| (said.severity(), said.code())) {
        Some((PgSeverity::Error, DIVISION_BY_ZERO)) => AtOnceError::Contested,
        // 08: a connection is lost; XX: another thing that should not be.
        Some((PgSeverity::Error, code)) if !code.starts_with("08") && !code.starts_with("XX") => {
            AtOnceError::Failed(error.into())
        }
        Some((PgSeverity::Fatal, SHUTDOWN)) => AtOnceError::Gone(error.into()),
        _ => AtOnceError::Unknown(error.into()),
    }
}
