//! The tables of a store: by what each is read in the order of its key, and to what its rows are written.

use crate::store::{
    batch::{
        Batch,
        Column::{self, Bytes, Int, Text},
    },
    engine::{DatabaseError, Result},
    value::{OwnedValue, Row, Value},
};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

const MOVE_ENTITIES: &str = "SELECT kind, id, version, revision, state, live_until, forget_at \
      FROM entities WHERE (kind, id) > ($1, $2) ORDER BY kind, id LIMIT $3 + 0";

const OF_ENTITIES: &str = "entities (kind, id, version, revision, state, live_until, forget_at)";

const MOVE_NAMES: &str = "SELECT space, name, kind, id \
      FROM names WHERE (space, name) > ($1, $2) ORDER BY space, name LIMIT $3 + 0";

const MOVE_LISTINGS: &str = "SELECT list, owner, rank, id, kind FROM listings \
     WHERE (list, owner, rank, id, kind) > ($1, $2, $3, $4, $5) \
     ORDER BY list, owner, rank, id, kind LIMIT $6 + 0";

const MOVE_LOG: &str = "SELECT lane, seq, at, event, organization, kind, id, detail, mac_key, mac, account \
      FROM security_log WHERE (lane, seq) > ($1, $2) ORDER BY lane, seq LIMIT $3 + 0";

const OF_LOG: &str =
    "security_log (lane, seq, at, event, organization, kind, id, detail, mac_key, mac, account)";

const MOVE_LANES: &str = "SELECT lane, seq, mac, holder, held_until \
      FROM log_lanes WHERE lane > $1 ORDER BY lane LIMIT $2 + 0";

const MOVE_RETENTION: &str = "SELECT lane, seq, mac, seal_key, seal \
      FROM log_retention WHERE lane > $1 ORDER BY lane LIMIT $2 + 0";

const MOVE_OUTBOX: &str = "SELECT id, topic, payload, due_at, attempts, expires_at, class, queue, waiting \
      FROM outbox WHERE id > $1 ORDER BY id LIMIT $2 + 0";

const OF_OUTBOX: &str =
    "outbox (id, topic, payload, due_at, attempts, expires_at, class, queue, waiting)";

const MOVED_LIST_COUNTS: &str = "SELECT list, owner, CAST(SUM(entries) AS BIGINT) \
      FROM list_counts WHERE (list, owner) > ($1, $2) GROUP BY list, owner \
    HAVING SUM(entries) <> 0 ORDER BY list, owner LIMIT $3 + 0";

const MOVED_OUTBOX_COUNTS: &str = "SELECT topic, CAST(SUM(messages) AS BIGINT) \
      FROM outbox_counts WHERE topic > $1 GROUP BY topic \
    HAVING SUM(messages) <> 0 ORDER BY topic LIMIT $2 + 0";

pub(super) const FIRST_OF_LOG: &str =
    "SELECT mac FROM security_log WHERE lane = 'root' AND seq = 1";

/// A table, or what a table is counted to.
pub(super) struct Table {
    pub(super) name: &'static str,
    columns: &'static [Column],
    /// So many columns, the first ones, are the key.
    pub(super) key: usize,
    /// Reads rows after a key, in its order.
    pub(super) page: &'static str,
    /// `None` where triggers of the target write it.
    pub(super) insert: Option<Batch>,
}

pub(super) static TABLES: LazyLock<[Table; 9]> = LazyLock::new(|| {
    const ENTITY: &[Column] = &[Text, Text, Int, Int, Text, Int, Int];
    const NAME: &[Column] = &[Text, Text, Text, Text];
    const LISTING: &[Column] = &[Text, Text, Text, Text, Text];
    const ROW: &[Column] = &[Text, Int, Int, Text, Text, Text, Text, Text, Text, Bytes, Text];
    const LANE: &[Column] = &[Text, Int, Bytes, Text, Int];
    const RETENTION: &[Column] = &[Text, Int, Bytes, Text, Bytes];
    const MESSAGE: &[Column] = &[Text, Text, Bytes, Int, Int, Int, Int, Text, Int];
    let table = |name, columns, key, page, target| {
        let insert = Some(Batch::insert(columns, target, ""));
        Table { name, columns, key, page, insert }
    };
    let counted = |name, columns, key, page| Table { name, columns, key, page, insert: None };
    [
        table("entities", ENTITY, 2, MOVE_ENTITIES, OF_ENTITIES),
        table("names", NAME, 2, MOVE_NAMES, "names (space, name, kind, id)"),
        table("listings", LISTING, 5, MOVE_LISTINGS, "listings (list, owner, rank, id, kind)"),
        table("security_log", ROW, 2, MOVE_LOG, OF_LOG),
        table("log_lanes", LANE, 1, MOVE_LANES, "log_lanes (lane, seq, mac, holder, held_until)"),
        table(
            "log_retention",
            RETENTION,
            1,
            MOVE_RETENTION,
            "log_retention (lane, seq, mac, seal_key, seal)",
        ),
        table("outbox", MESSAGE, 1, MOVE_OUTBOX, OF_OUTBOX),
        counted("list_counts", &[Text, Text, Int], 2, MOVED_LIST_COUNTS),
        counted("outbox_counts", &[Text, Int], 1, MOVED_OUTBOX_COUNTS),
    ]
});

/// A part of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Part {
    Int(i64),
    Text(String),
}

impl Table {
    /// A key before that of every row.
    pub(super) fn beginning(&self) -> Vec<Part> {
        let first = |column: &Column| match column {
            Int => Part::Int(i64::MIN),
            Text | Bytes => Part::Text(String::new()),
        };
        self.columns[..self.key].iter().map(first).collect()
    }

    pub(super) fn read(&self, row: &Row) -> Result<Vec<OwnedValue>> {
        let read = |(place, column): (usize, &Column)| {
            Ok(match column {
                Int => OwnedValue::Int(row.optional_int(place)?),
                Text => OwnedValue::Text(row.optional_text(place)?),
                Bytes => OwnedValue::Bytes(row.bytes(place)?),
            })
        };
        self.columns.iter().enumerate().map(read).collect()
    }
}

impl Part {
    pub(super) fn of(value: &OwnedValue) -> Result<Self> {
        match value {
            OwnedValue::Int(Some(number)) => Ok(Self::Int(*number)),
            OwnedValue::Text(Some(text)) => Ok(Self::Text(text.clone())),
            _ => Err(DatabaseError::Unexpected),
        }
    }

    pub(super) fn value(&self) -> Value<'_> {
        match self {
            Self::Int(number) => Value::Int(*number),
            Self::Text(text) => Value::Text(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{domain::Timestamp, store::engine::Engine};
    use std::collections::BTreeSet;

    #[tokio::test]
    async fn every_column_of_every_table_is_moved_or_counted_again() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("a.db").display());
        crate::store::migrate(&url, Timestamp::from_millis(0)).await.unwrap();
        let mut connection = Engine::parse(&url).unwrap().connect().await.unwrap();
        let columns = "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c \
                       WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'";
        let rows = connection.fetch(columns, &[]).await.unwrap();
        let mut there: BTreeSet<(String, String)> =
            rows.iter().map(|row| (row.text(0).unwrap(), row.text(1).unwrap())).collect();
        // The history is made by the migrations of the target.
        there.retain(|(table, _)| table != "schema_history");
        let mut moved = BTreeSet::new();
        for table in TABLES.iter().filter(|table| table.insert.is_some()) {
            let listed = table.page.strip_prefix("SELECT ").unwrap().split(" FROM").next().unwrap();
            let names: Vec<&str> = listed.split(',').map(str::trim).collect();
            assert_eq!(names.len(), table.columns.len(), "{}", table.name);
            moved.extend(names.into_iter().map(|name| (table.name.to_owned(), name.to_owned())));
        }
        for table in TABLES.iter().filter(|table| table.insert.is_none()) {
            there.retain(|(name, _)| name != table.name);
        }
        assert_eq!(moved, there, "a table or a column is not moved");
    }
}
