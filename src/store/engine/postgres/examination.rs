//! Tries a server before it is used: whether it is PostgreSQL, does what we rely on, and is behind a pooler (adr/0161).
//!
//! What is relied on is tried and not believed: two connections want one advisory lock, and one must see what the other
//! has committed. Where start-up options are refused, ignored, or two connections are given one session by turns, a
//! pooler lends sessions, and each transaction sets what it needs.

use super::{
    server::Server,
    session::{Session, Sessions},
    settings::TIMEOUTS,
};
use crate::store::engine::{
    faults::{DatabaseError, Result, is_read_only},
    unfit::UnfitServer,
};
use sqlx::{Row as _, postgres::PgRow};
use std::time::Duration;
use tokio::time::timeout;

/// How long it may take.
const TIMEOUT: Duration = Duration::from_secs(12);

/// The oldest version that is accepted.
const OLDEST: u32 = 150_000;

/// Names of functions are not qualified: it is tried what our statements would find.
const FACTS: &str = "SELECT current_setting('server_version_num'), pg_backend_pid()::text, \
     pg_is_in_recovery()::text";

const IN_FORCE: &str = "SELECT current_setting('lock_timeout'), current_setting('statement_timeout'), \
     current_setting('idle_in_transaction_session_timeout'), current_setting('synchronous_commit'), \
     pg_is_in_recovery()::text";

/// What the first of two transactions is asked. The lock is drawn: other processes may be examining at the same time, and a
/// pooler lends its sessions to all of them.
const FIRST: &str = "WITH drawn AS MATERIALIZED (SELECT (random() * 2000000000)::int AS lock) \
     SELECT pg_backend_pid()::text, current_setting('transaction_isolation'), \
     pg_try_advisory_xact_lock(7231402, lock)::text, lock::text FROM drawn";

/// What was found with one use of sessions.
enum Finding {
    Good,
    /// A pooler is in front, which was not known.
    Pooler,
}

/// Finds out how the server is to be used, or why it cannot be.
pub(super) async fn examine(server: &Server) -> Result<Sessions> {
    let examined = timeout(TIMEOUT, async {
        let straight = match server.open(&Sessions::Own).await {
            Ok(session) => try_sessions(server, &Sessions::Own, session).await,
            Err(error) => Err(error),
        };
        match straight {
            Ok(Finding::Good) => return Ok(Sessions::Own),
            Ok(Finding::Pooler) => {}
            Err(error) if may_be_of_a_pooler(&error) => {}
            Err(error) => return Err(error),
        }
        let lent = server.lent_sessions()?;
        let session = server.open(&lent).await?;
        try_sessions(server, &lent, session).await?;
        tracing::info!("a pooler is in front of PostgreSQL: each transaction sets its time-outs");
        Ok(lent)
    });
    examined.await.unwrap_or(Err(DatabaseError::TimedOut))
}

/// Insists that the time-outs are in force in a session, that a COMMIT is answered when it is on a disk, and that the server
/// is no standby unless one is good enough.
pub(super) async fn require_settings(session: &mut Session, takes_standby: bool) -> Result<()> {
    let rows = session.simple(IN_FORCE).await?;
    for (place, (name, _, shown)) in TIMEOUTS.into_iter().enumerate() {
        if text(&rows, place)? != shown {
            return Err(UnfitServer::Timeout(name).into());
        }
    }
    // Whether a standby is waited for is the operator's choice, and not whether the disk is.
    if text(&rows, TIMEOUTS.len())? == "off" {
        return Err(UnfitServer::Durability.into());
    }
    if !takes_standby && text(&rows, TIMEOUTS.len() + 1)? == "true" {
        return Err(UnfitServer::Standby.into());
    }
    Ok(())
}

async fn try_sessions(server: &Server, sessions: &Sessions, mut one: Session) -> Result<Finding> {
    require_name(&text(&one.simple("SELECT version()").await?, 0)?)?;
    let facts = one.simple(FACTS).await.map_err(lacking)?;
    if text(&facts, 0)?.parse::<u32>().is_ok_and(|version| version < OLDEST) {
        return Err(UnfitServer::Another(format!("version {}", text(&facts, 0)?)).into());
    }
    let (before, is_standby) = (text(&facts, 1)?, text(&facts, 2)? == "true");
    let mut other = server.open(sessions).await?;
    other.begin().await?;
    let others = text(&other.simple("SELECT pg_backend_pid()::text").await?, 0)?;
    one.begin().await?;
    let first = one.simple(FIRST).await.map_err(lacking)?;
    let ours = text(&first, 0)?;
    if ours == others {
        return Err(UnfitServer::Sessions.into());
    }
    if matches!(sessions, Sessions::Own) && (before == others || before != ours) {
        return Ok(Finding::Pooler);
    }
    // Whether a standby will do was asked when it was opened.
    require_settings(&mut one, true).await?;
    if text(&first, 1)? != "read committed" {
        return Err(UnfitServer::Isolation.into());
    }
    let id = text(&first, 3)?.parse().map_err(|_| DatabaseError::Unexpected)?;
    let is_free = other.try_advisory_lock(id).await.map_err(lacking)?;
    if text(&first, 2)? != "true" || is_free {
        return Err(UnfitServer::Locks.into());
    }
    if !is_standby {
        let written = other.simple("SELECT pg_current_xact_id()::text").await;
        let written = match written.map_err(lacking) {
            Ok(rows) => Some(text(&rows, 0)?),
            Err(error) if is_read_only(&error) => None,
            Err(error) => return Err(error),
        };
        other.commit().await?;
        if let Some(written) = written
            && !one.sees(&written).await.map_err(lacking)?
        {
            return Err(UnfitServer::Isolation.into());
        }
    }
    one.commit().await?;
    if other.is_open() {
        other.rollback().await?;
    }
    other.begin().await?;
    let is_free = other.try_advisory_lock(id).await?;
    other.rollback().await?;
    if !is_free {
        return Err(UnfitServer::Locks.into());
    }
    let _ = (one.close().await, other.close().await);
    Ok(Finding::Good)
}

/// Insists that a server calls itself PostgreSQL, of a version that is accepted, and nothing else besides.
fn require_name(version: &str) -> std::result::Result<(), UnfitServer> {
    let number = version.strip_prefix("PostgreSQL ").unwrap_or_default();
    let digits = number.split(|letter: char| !letter.is_ascii_digit()).next();
    let major: u32 = digits.and_then(|digits| digits.parse().ok()).unwrap_or(0);
    let name = version.split(" on ").next().unwrap_or_default();
    let is_another = ["-YB-", "Redshift", "Greenplum"].iter().any(|other| version.contains(other));
    if major < OLDEST / 10_000 || is_another {
        return Err(UnfitServer::Another(name.chars().take(60).collect()));
    }
    Ok(())
}

/// Tells whether a pooler may have said so: it knows no start-up options, or ignores them.
fn may_be_of_a_pooler(error: &DatabaseError) -> bool {
    match error {
        DatabaseError::Unfit(UnfitServer::Timeout(_)) => true,
        DatabaseError::Postgres(error) => code_of(error).is_some_and(|code| {
            // 28: who asks is not let in; 3D: there is no such database; 53: it is full; 57: it does not serve now.
            !["28", "3D", "53", "57"].iter().any(|class| code.starts_with(class))
        }),
        _ => false,
    }
}

/// What is asked here, every PostgreSQL answers: an error of SQL says that this is none.
fn lacking(error: sqlx::Error) -> DatabaseError {
    // 0A: not supported; 42: no such function.
    match code_of(&error) {
        Some(code) if code.starts_with("42") || code.starts_with("0A") => {
            UnfitServer::Lacking(error).into()
        }
        _ => error.into(),
    }
}

fn code_of(error: &sqlx::Error) -> Option<String> {
    Some(error.as_database_error()?.code()?.into_owned())
}

fn text(rows: &[PgRow], column: usize) -> Result<String> {
    let row = rows.first().ok_or(DatabaseError::Unexpected)?;
    Ok(row.try_get(column)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postgresql_is_known_by_its_name_and_version_and_what_was_made_of_it_is_not_taken_for_it() {
        for name in ["PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64", "PostgreSQL 18beta1"] {
            assert!(require_name(name).is_ok(), "{name}");
        }
        for name in [
            "CockroachDB CCL v23.1.0 (x86_64-pc-linux-gnu)",
            "PostgreSQL 15.2-YB-2.25.1.0-b0 on x86_64-pc-linux-gnu",
            "PostgreSQL 8.0.2 on i686-pc-linux-gnu, Redshift 1.0.38698",
            "PostgreSQL 14.9 on x86_64-pc-linux-gnu",
            "",
        ] {
            let refused = require_name(name).unwrap_err().to_string();
            assert!(refused.ends_with("use PostgreSQL 15 or later"), "{refused}");
        }
    }
}
