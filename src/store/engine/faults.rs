//! What a database says when something goes wrong, and what that means.

use super::unfit::UnfitServer;
use rusqlite::ErrorCode;

/// Why a database did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// Says by itself what its cause would say again.
    #[error("{0}")]
    Sqlite(rusqlite::Error),
    #[error(transparent)]
    Postgres(#[from] sqlx::Error),
    /// The server does not do what is relied on.
    #[error(transparent)]
    Unfit(#[from] UnfitServer),
    /// The address cannot be used; never its password.
    #[error("{0}")]
    Address(&'static str),
    #[error("the file cannot be looked at")]
    File(#[from] std::io::Error),
    #[error("the database did not answer in time")]
    TimedOut,
    /// A row that a statement rests on is not there, or a column is of another type.
    #[error("the database answered with rows that were not expected")]
    Unexpected,
    /// Another writer was a moment earlier.
    #[error("{0}")]
    Overtaken(&'static str),
    #[error("the connection is closed")]
    Closed,
    /// What this process remembers is about the file that was there before.
    #[error("the database file was replaced")]
    Replaced,
    /// It can be used by one process alone, and another one uses it.
    #[error("another process uses the database")]
    InUse,
    /// A test had it fail.
    #[error("a failure of the database was planted")]
    Planted,
}

impl From<rusqlite::Error> for DatabaseError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

pub(in crate::store) type Result<T> = std::result::Result<T, DatabaseError>;

/// Why a statement that is a whole transaction did not do its work.
#[derive(Debug)]
pub(in crate::store) enum AtOnceError {
    /// Something is not as it was read. Nothing was written.
    Contested,
    /// The server had ended the session. Nothing was written.
    Gone(DatabaseError),
    /// Nothing was written.
    Failed(DatabaseError),
    /// It may or may not have been carried out.
    Unknown(DatabaseError),
}

/// Tells whether another try may succeed: a deadlock, a lock that took too long, or a writer that
/// was a moment earlier.
pub(in crate::store) fn is_passing(error: &DatabaseError) -> bool {
    match error {
        DatabaseError::Overtaken(_) => true,
        DatabaseError::Postgres(error) => {
            let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
            match code {
                Some(code) => matches!(&*code, "40P01" | "40001" | "55P03" | "57014" | "23505"),
                None => matches!(error, sqlx::Error::Protocol(_)),
            }
        }
        _ => false,
    }
}

/// Tells whether the server takes no changes: it is a standby, or set to read only.
pub(in crate::store) fn is_read_only(error: &DatabaseError) -> bool {
    let DatabaseError::Postgres(error) = error else { return false };
    error.as_database_error().is_some_and(|error| error.code().as_deref() == Some("25006"))
}

/// Tells whether a table that was asked for is not there.
pub(in crate::store) fn is_missing_table(error: &DatabaseError) -> bool {
    match error {
        DatabaseError::Sqlite(error) => error.to_string().contains("no such table"),
        DatabaseError::Postgres(error) => {
            error.as_database_error().is_some_and(|error| error.code().as_deref() == Some("42P01"))
        }
        _ => false,
    }
}

/// Tells whether SQLite's lock was held by another process for longer than we wait.
pub(in crate::store) fn is_busy(error: &DatabaseError) -> bool {
    let DatabaseError::Sqlite(error) = error else { return false };
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Tells whether a file is no database, or a part of it is not as it was written.
pub(in crate::store) fn is_damaged(error: &DatabaseError) -> bool {
    let DatabaseError::Sqlite(error) = error else { return false };
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}
