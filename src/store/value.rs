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

impl<'a> Value<'a> {
    pub(super) fn int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            Self::OptionalInt(number) => *number,
            _ => of_another_type(),
        }
    }

    pub(super) fn text(&self) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            Self::OptionalText(text) => *text,
            _ => of_another_type(),
        }
    }

    pub(super) fn bytes(&self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => of_another_type(),
        }
    }
}

/// No test may bind a value to a column of another type.
fn of_another_type<T>() -> Option<T> {
    debug_assert!(false, "a value is of another type than its column");
    None
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
pub(super) enum OwnedValue {
    Int(Option<i64>),
    Text(Option<String>),
    Bytes(Vec<u8>),
}

impl From<Value<'_>> for OwnedValue {
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

impl<'a> From<&'a OwnedValue> for Value<'a> {
    fn from(value: &'a OwnedValue) -> Self {
        match value {
            OwnedValue::Int(number) => Self::OptionalInt(*number),
            OwnedValue::Text(text) => Self::OptionalText(text.as_deref()),
            OwnedValue::Bytes(bytes) => Self::Bytes(bytes),
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
        self.optional_int(column)?.ok_or(DatabaseError::Unexpected)
    }

    pub(super) fn optional_int(&self, column: usize) -> Result<Option<i64>> {
        match self {
            Self::Sqlite(row) => match row.get(column) {
                Some(SqliteValue::Integer(number)) => Ok(Some(*number)),
                Some(SqliteValue::Null) => Ok(None),
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
}
