//! The few types that both engines know.

use super::engine::{DatabaseError, Result};
use crate::domain::Timestamp;
use rusqlite::types::{Value as SqliteValue, ValueRef};
use sqlx::{Row as _, postgres::PgRow};

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

/// How SQLite is given it.
impl<'a> From<Value<'a>> for ValueRef<'a> {
    fn from(value: Value<'a>) -> Self {
        match value {
            Value::Int(number) | Value::OptionalInt(Some(number)) => Self::Integer(number),
            Value::Text(text) | Value::OptionalText(Some(text)) => Self::Text(text.as_bytes()),
            Value::Bytes(bytes) => Self::Blob(bytes),
            Value::OptionalInt(None) | Value::OptionalText(None) => Self::Null,
        }
    }
}

/// A value that goes to another thread.
pub(super) enum Owned {
    Int(Option<i64>),
    Text(Option<String>),
    Bytes(Vec<u8>),
}

impl From<Value<'_>> for Owned {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::Int(number) => Self::Int(Some(number)),
            Value::OptionalInt(number) => Self::Int(number),
            Value::Text(text) => Self::Text(Some(text.to_owned())),
            Value::OptionalText(text) => Self::Text(text.map(str::to_owned)),
            Value::Bytes(bytes) => Self::Bytes(bytes.to_owned()),
        }
    }
}

impl<'a> From<&'a Owned> for Value<'a> {
    fn from(value: &'a Owned) -> Self {
        match value {
            Owned::Int(number) => Self::OptionalInt(*number),
            Owned::Text(text) => Self::OptionalText(text.as_deref()),
            Owned::Bytes(bytes) => Self::Bytes(bytes),
        }
    }
}

/// A row of a result; columns are read by number, in the order of the statement.
pub(super) enum Row {
    Sqlite(Vec<SqliteValue>),
    Postgres(PgRow),
}

impl Row {
    pub(super) fn int(&self, column: usize) -> Result<i64> {
        match self {
            Self::Sqlite(row) => match row.get(column) {
                Some(SqliteValue::Integer(number)) => Ok(*number),
                _ => Err(DatabaseError::Unexpected),
            },
            Self::Postgres(row) => Ok(row.try_get(column)?),
        }
    }

    pub(super) fn text(&self, column: usize) -> Result<String> {
        self.optional_text(column)?.ok_or(DatabaseError::Unexpected)
    }

    pub(super) fn optional_text(&self, column: usize) -> Result<Option<String>> {
        match self {
            Self::Sqlite(row) => match row.get(column) {
                Some(SqliteValue::Text(text)) => Ok(Some(text.clone())),
                Some(SqliteValue::Null) => Ok(None),
                _ => Err(DatabaseError::Unexpected),
            },
            Self::Postgres(row) => Ok(row.try_get(column)?),
        }
    }

    pub(super) fn bytes(&self, column: usize) -> Result<Vec<u8>> {
        match self {
            Self::Sqlite(row) => match row.get(column) {
                Some(SqliteValue::Blob(bytes)) => Ok(bytes.clone()),
                _ => Err(DatabaseError::Unexpected),
            },
            Self::Postgres(row) => Ok(row.try_get(column)?),
        }
    }
}

/// Whether an entity still confers authority, and which version says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Liveness {
    pub version: i64,
    pub live_until: Timestamp,
}

impl Liveness {
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.live_until > now
    }

    /// Puts the rows of a query for liveness in the order that was asked for.
    pub(super) fn of_each(asked: usize, rows: &[Row]) -> Result<Vec<Option<Self>>> {
        let mut found = vec![None; asked];
        for row in rows {
            let place = usize::try_from(row.int(0)?).ok().and_then(|place| found.get_mut(place));
            let live_until = Timestamp::from_millis(row.int(2)?);
            let liveness = Self { version: row.int(1)?, live_until };
            *place.ok_or(DatabaseError::Unexpected)? = Some(liveness);
        }
        Ok(found)
    }
}

/// Binds every value of `$values` to `$query`, for PostgreSQL.
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
