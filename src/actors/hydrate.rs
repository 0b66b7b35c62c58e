//! Turns a stored row into its machine: the one place where a row is read.
//!
//! A row that a newer binary wrote may mean something that this binary does not know. It is refused
//! here, so that no caller decides or grants on it.

use crate::{
    domain::Machine,
    store::{ListRow, ReadError, Row, Store},
};
use std::sync::Arc;

/// An entity as it was read; version 0 and the machine's default where there was no row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntitySnapshot<M> {
    pub machine: M,
    pub version: i64,
}

/// Why an entity could not be read.
#[derive(Clone, Debug, thiserror::Error)]
pub enum HydrateError {
    #[error("the store cannot be read")]
    Unavailable(#[source] Arc<ReadError>),
    /// So much is read elsewhere that this is not: it was not looked at.
    #[error("too much is being read")]
    Busy,
    #[error("{kind} {id} was written by a newer binary: revision {revision}")]
    TooNew { kind: &'static str, id: String, revision: i64 },
    /// Says where and not what: a parser's message quotes what it met.
    #[error("the stored state of {kind} {id} cannot be parsed at {line}:{column}")]
    Poisoned { kind: &'static str, id: String, line: usize, column: usize },
}

impl From<ReadError> for HydrateError {
    fn from(error: ReadError) -> Self {
        Self::Unavailable(Arc::new(error))
    }
}

/// Reads the entity `id` as it is stored now.
pub async fn hydrate<M: Machine>(
    store: &Store,
    id: &str,
) -> Result<EntitySnapshot<M>, HydrateError> {
    match store.load(M::KIND, id).await? {
        Some(row) => parse(id, &row),
        None => Ok(EntitySnapshot { machine: M::default(), version: 0 }),
    }
}

/// An entry of a list with its place in it.
pub struct ListEntry<M> {
    pub rank: String,
    pub id: String,
    pub machine: M,
}

/// Reads a page of a list as it is stored now, after the entry with the rank and id given.
pub async fn hydrate_page<M: Machine>(
    store: &Store,
    (list, owner): (&str, &str),
    after: (&str, &str),
    most: u32,
) -> Result<Vec<ListEntry<M>>, HydrateError> {
    let page = store.list(list, owner, after, most).await?;
    let placed = |ListRow { rank, id, row, .. }: ListRow| {
        let EntitySnapshot { machine, .. } = parse(&id, &row)?;
        Ok(ListEntry { rank, id, machine })
    };
    page.into_iter().map(placed).collect()
}

/// The entries of the lists of one name, of every owner, after the owner, rank and id given.
pub async fn hydrate_page_of_all<M: Machine>(
    store: &Store,
    list: &str,
    after: (&str, &str, &str),
    most: u32,
) -> Result<Vec<(String, ListEntry<M>)>, HydrateError> {
    let page = store.list_of_all(list, after, most).await?;
    let placed = |(owner, ListRow { rank, id, row, .. }): (String, ListRow)| {
        let EntitySnapshot { machine, .. } = parse(&id, &row)?;
        Ok((owner, ListEntry { rank, id, machine }))
    };
    page.into_iter().map(placed).collect()
}

/// Parses a row that was read elsewhere, unless a newer binary wrote it.
pub fn hydrate_row<M: Machine>(id: &str, row: &Row) -> Result<M, HydrateError> {
    Ok(parse(id, row)?.machine)
}

/// Parses a row that was read, unless a newer binary wrote it.
pub(super) fn parse<M: Machine>(id: &str, row: &Row) -> Result<EntitySnapshot<M>, HydrateError> {
    let Row { version, ref state, revision } = *row;
    let read = || serde_json::from_str(state);
    let machine = parsed((M::KIND, id), (revision, M::REVISION), read)?;
    Ok(EntitySnapshot { machine, version })
}

/// Has a stored state parsed, unless a newer binary wrote it.
pub(super) fn parsed<T>(
    (kind, id): (&'static str, &str),
    (revision, readable): (i64, u32),
    read: impl FnOnce() -> serde_json::Result<T>,
) -> Result<T, HydrateError> {
    if revision > readable.into() {
        return Err(HydrateError::TooNew { kind, id: id.to_owned(), revision });
    }
    read().map_err(|error| {
        let (line, column) = (error.line(), error.column());
        HydrateError::Poisoned { kind, id: id.to_owned(), line, column }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::signing_keys::SigningKeys;

    fn row(revision: u32, state: &str) -> Row {
        Row { version: 7, state: state.to_owned(), revision: revision.into() }
    }

    #[test]
    fn a_row_of_a_newer_revision_is_refused_though_it_would_parse() {
        let known = parse::<SigningKeys>("x", &row(SigningKeys::REVISION, r#"{"keys":[]}"#));
        assert_eq!(known.unwrap(), EntitySnapshot { machine: SigningKeys::default(), version: 7 });
        let newer = parse::<SigningKeys>("x", &row(SigningKeys::REVISION + 1, r#"{"keys":[]}"#));
        assert!(matches!(newer, Err(HydrateError::TooNew { kind: "signing_keys", .. })));
    }

    #[test]
    fn a_row_that_cannot_be_parsed_is_named_and_not_quoted() {
        let poisoned = parse::<SigningKeys>("x", &row(1, r#"{"keys":"hunter2"}"#)).unwrap_err();
        let said = poisoned.to_string();
        assert!(said.contains("signing_keys x") && said.contains("1:"), "{said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
}
