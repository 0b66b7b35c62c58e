//! A connection that is the only one which writes.
//!
//! Connections that write share an advisory lock of their schema, and one that must be the only one has it alone: each
//! schema of a database may be an installation. A pooler lends sessions, which keep no lock: behind one there is no such
//! connection, and servers behind one are not noticed.

use super::{server::Server, session::Session};
use crate::store::engine::{
    faults::{DatabaseError, Result},
    unfit::UnfitServer,
};
use std::time::Duration;

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

/// Takes the lock that connections which write share.
pub(super) async fn share(session: &mut Session) -> Result<()> {
    session.simple(SHARE).await?;
    Ok(())
}

impl Server {
    /// Opens the only connection that writes; others wait, and then are refused, until it is closed.
    pub(in crate::store::engine) async fn connect_alone(&self) -> Result<Session> {
        let mut session = self.connect_unshared().await?;
        if session.is_lent() {
            return Err(UnfitServer::Pooled.into());
        }
        let patient = "SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0";
        session.simple(patient).await?;
        for _ in 0..TRIES {
            let rows = session.fetch(TAKE_ALONE, &[]).await?;
            if rows.first().ok_or(DatabaseError::Unexpected)?.int(0)? == 1 {
                return Ok(session);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Err(DatabaseError::InUse)
    }
}
