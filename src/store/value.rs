//! The few types that both engines know.

use sqlx::{Row as _, postgres::PgRow, sqlite::SqliteRow};

/// A value bound to a statement.
#[derive(Clone, Copy)]
pub(super) enum Value<'a> {
    Int(i64),
    OptionalInt(Option<i64>),
    Text(&'a str),
    OptionalText(Option<&'a str>),
    Bytes(&'a [u8]),
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<Option<i64>> for Value<'_> {
    fn from(value: Option<i64>) -> Self {
        Self::OptionalInt(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<Option<&'a str>> for Value<'a> {
    fn from(value: Option<&'a str>) -> Self {
        Self::OptionalText(value)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(value: &'a [u8]) -> Self {
        Self::Bytes(value)
    }
}

/// A row of a result; columns are read by number, in the order of the statement.
pub(super) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl Row {
    pub(super) fn int(&self, column: usize) -> sqlx::Result<i64> {
        match self {
            Self::Sqlite(row) => row.try_get(column),
            Self::Postgres(row) => row.try_get(column),
        }
    }

    pub(super) fn text(&self, column: usize) -> sqlx::Result<String> {
        match self {
            Self::Sqlite(row) => row.try_get(column),
            Self::Postgres(row) => row.try_get(column),
        }
    }

    pub(super) fn optional_text(&self, column: usize) -> sqlx::Result<Option<String>> {
        match self {
            Self::Sqlite(row) => row.try_get(column),
            Self::Postgres(row) => row.try_get(column),
        }
    }

    pub(super) fn bytes(&self, column: usize) -> sqlx::Result<Vec<u8>> {
        match self {
            Self::Sqlite(row) => row.try_get(column),
            Self::Postgres(row) => row.try_get(column),
        }
    }
}

/// Binds every value of `$values` to `$query`, whichever engine it is for.
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
pub(super) use bind_all;
