//! What an error of a database means.

/// Tells whether another try may succeed: a deadlock, a lock that took too long, or a writer that
/// was a moment earlier.
pub(in crate::store) fn is_passing(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    match code {
        Some(code) => matches!(&*code, "40P01" | "40001" | "55P03" | "57014" | "23505"),
        None => matches!(error, sqlx::Error::Protocol(_)),
    }
}

/// Tells whether a table that was asked for is not there.
pub(in crate::store) fn is_missing_table(error: &sqlx::Error) -> bool {
    let Some(error) = error.as_database_error() else { return false };
    error.code().as_deref() == Some("42P01") || error.message().starts_with("no such table")
}

/// Tells whether SQLite's lock was held by another process for longer than we wait.
pub(in crate::store) fn is_busy(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.and_then(|code| code.parse::<i32>().ok()).is_some_and(|code| code & 0xff == 5)
}
