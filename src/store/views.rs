//! What can be read: one entity, the liveness of several, the holder of a name, a page of a list.

use super::{
    Store,
    engine::{self, DatabaseError},
    fault_injection::Moment,
    sql,
    value::{self, Value},
};
use crate::domain::Timestamp;

pub use super::{
    log::{LogEntry, LogPlace, trail::Trail},
    value::Liveness,
    vitals::StoreReport,
};

/// A read that did not succeed; asking again later may.
#[derive(Debug, thiserror::Error)]
#[error("the store cannot be read")]
pub struct ReadError(#[from] DatabaseError);

/// The reads that HTTP may make by itself: of the database, never of a cache, and they change nothing.
#[derive(Clone)]
pub struct FreshReads(Store);

impl FreshReads {
    /// See [`Store::liveness`].
    pub async fn liveness(
        &self,
        asked: &[(&str, &str)],
    ) -> Result<Vec<Option<Liveness>>, ReadError> {
        self.0.liveness(asked).await
    }

    /// See [`Store::find`].
    pub async fn find(
        &self,
        space: &str,
        name: &str,
    ) -> Result<Option<(String, String)>, ReadError> {
        self.0.find(space, name).await
    }

    /// See [`Store::count`].
    pub async fn count(&self, list: &str, owner: &str, most: u32) -> Result<usize, ReadError> {
        self.0.count(list, owner, most).await
    }

    /// See [`Store::counted`].
    pub async fn counted(&self, list: &str, owner: &str) -> Result<usize, ReadError> {
        self.0.counted(list, owner).await
    }

    /// See [`Store::list_ids`].
    pub async fn list_ids(
        &self,
        (list, owner): (&str, &str),
        after: (&str, &str),
        most: u32,
    ) -> Result<Vec<(String, String)>, ReadError> {
        self.0.list_ids((list, owner), after, most).await
    }

    /// See [`Store::count_part`].
    pub async fn count_part(&self, part: &ListPart<'_>, most: u32) -> Result<u32, ReadError> {
        self.0.count_part(part, most).await
    }

    /// See [`Store::live_beyond`].
    pub async fn live_beyond(
        &self,
        part: &ListPart<'_>,
        (kept, most): (u32, u32),
        now: Timestamp,
    ) -> Result<Vec<String>, ReadError> {
        self.0.live_beyond(part, (kept, most), now).await
    }

    /// See [`Store::trail`].
    pub async fn trail(&self, trail: &Trail<'_>) -> Result<Vec<LogEntry>, ReadError> {
        self.0.trail(trail).await
    }

    /// See [`Store::history`].
    pub async fn history(
        &self,
        account: &str,
        before: &LogPlace,
        most: u32,
    ) -> Result<Vec<LogEntry>, ReadError> {
        self.0.history(account, before, most).await
    }

    /// See [`Store::version`].
    pub async fn version(&self, kind: &str, id: &str) -> Result<i64, ReadError> {
        self.0.version(kind, id).await
    }
}

/// An entity as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub version: i64,
    pub state: String,
    /// The revision of the machine that wrote it.
    pub revision: i64,
}

/// An entry of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRow {
    pub rank: String,
    pub kind: String,
    pub id: String,
    pub row: Row,
}

impl Store {
    /// Reads a few rows; what workers read by themselves is not counted.
    pub(super) async fn fetch(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<value::Row>, ReadError> {
        match self.fault() {
            Some(fault) => Err(failed(fault)),
            None => self.inner.readers.fetch(sql, values).await.map_err(failed),
        }
    }

    /// Reads what may be many rows, or far apart, as those of the log are.
    pub(super) async fn scan(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<value::Row>, ReadError> {
        match self.fault() {
            Some(fault) => Err(failed(fault)),
            None => self.inner.readers.scan(sql, values).await.map_err(failed),
        }
    }

    /// Returns the error that a test has planted for this read.
    fn fault(&self) -> Option<DatabaseError> {
        self.inner.fault_injection.fails(Moment::Read).then_some(DatabaseError::Planted)
    }

    /// Fetches for a caller, and counts it.
    async fn read(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<value::Row>, ReadError> {
        self.inner.vitals.read();
        self.fetch(sql, values).await
    }

    /// Returns the reads that need no owner of the entity, and nothing else of the store.
    pub fn fresh_reads(&self) -> FreshReads {
        FreshReads(self.clone())
    }

    /// Reads one entity.
    pub async fn load(&self, kind: &str, id: &str) -> Result<Option<Row>, ReadError> {
        let rows = self.read(sql::LOAD, &[Value::Text(kind), Value::Text(id)]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        Ok(Some(Row { version: row.int(0)?, state: row.text(1)?, revision: row.int(2)? }))
    }

    /// Returns the version of an entity, 0 where there is no row.
    pub async fn version(&self, kind: &str, id: &str) -> Result<i64, ReadError> {
        let rows = self.read(sql::VERSION, &[Value::Text(kind), Value::Text(id)]).await?;
        Ok(rows.first().map(|row| row.int(0)).transpose()?.unwrap_or(0))
    }

    /// Reads the liveness of several entities in one query; `None` where there is no row.
    ///
    /// This is how authority is checked: a token names its ancestors, and all of them must be live.
    pub async fn liveness(
        &self,
        asked: &[(&str, &str)],
    ) -> Result<Vec<Option<Liveness>>, ReadError> {
        self.inner.vitals.read();
        let read = match self.fault() {
            Some(fault) => Err(fault),
            None => self.inner.readers.liveness(asked).await,
        };
        read.map_err(failed)
    }

    /// Returns the kind and id of the entity that holds `name` in `space`.
    pub async fn find(
        &self,
        space: &str,
        name: &str,
    ) -> Result<Option<(String, String)>, ReadError> {
        let rows = self.read(sql::FIND, &[Value::Text(space), Value::Text(name)]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        Ok(Some((row.text(0)?, row.text(1)?)))
    }

    /// Counts the entries of a list, as far as `most`.
    pub async fn count(&self, list: &str, owner: &str, most: u32) -> Result<usize, ReadError> {
        let values = [Value::Text(list), Value::Text(owner), Value::Int(most.into())];
        let counted = counted(&self.read(sql::COUNT, &values).await?)?;
        Ok(usize::try_from(counted).unwrap_or(0))
    }

    /// Returns how many entries a list has that is counted as it changes: [`MEMBERS`](crate::domain::membership::MEMBERS).
    pub async fn counted(&self, list: &str, owner: &str) -> Result<usize, ReadError> {
        let rows = self.read(sql::COUNTED, &[Value::Text(list), Value::Text(owner)]).await?;
        Ok(usize::try_from(counted(&rows)?).unwrap_or(0))
    }

    /// Reads a page of a list that begins after so many entries, which are passed over one by one.
    pub async fn list_from(
        &self,
        (list, owner): (&str, &str),
        (from, most): (u32, u32),
    ) -> Result<Vec<ListRow>, ReadError> {
        let (most, from) = (Value::Int(most.into()), Value::Int(from.into()));
        let values = [Value::Text(list), Value::Text(owner), most, from];
        self.inner.vitals.read();
        Ok(listed(&self.scan(sql::LIST_FROM, &values).await?)?)
    }

    /// Reads ranks and ids of a page of a list, and nothing of the entities.
    pub async fn list_ids(
        &self,
        (list, owner): (&str, &str),
        after: (&str, &str),
        most: u32,
    ) -> Result<Vec<(String, String)>, ReadError> {
        let rows = self.read(sql::LIST_IDS, &after_entry((list, owner), after, most)).await?;
        let read = |row: &value::Row| Ok((row.text(0)?, row.text(1)?));
        Ok(rows.iter().map(read).collect::<engine::Result<_>>()?)
    }

    /// Counts the entries of a part of a list, as far as `most`.
    pub async fn count_part(&self, part: &ListPart<'_>, most: u32) -> Result<u32, ReadError> {
        let [list, owner, above, below] = part.values();
        let values = [list, owner, above, below, Value::Int(most.into())];
        let counted = counted(&self.read(sql::COUNT_PART, &values).await?)?;
        Ok(u32::try_from(counted).unwrap_or(0))
    }

    /// Reads a page of a list, after the entry with the rank and id given (empty: from its start).
    pub async fn list(
        &self,
        list: &str,
        owner: &str,
        after: (&str, &str),
        most: u32,
    ) -> Result<Vec<ListRow>, ReadError> {
        self.inner.vitals.read();
        self.list_for_worker(list, owner, after, most).await
    }

    /// The same for what works by itself: no caller waits for it, and it is not counted.
    pub async fn list_for_worker(
        &self,
        list: &str,
        owner: &str,
        after: (&str, &str),
        most: u32,
    ) -> Result<Vec<ListRow>, ReadError> {
        Ok(listed(&self.fetch(sql::LIST, &after_entry((list, owner), after, most)).await?)?)
    }

    /// Reads a page of the lists of one name, of every owner, each entry with its owner, after the entry of the owner,
    /// rank and id given (empty: from the start).
    pub async fn list_of_all(
        &self,
        list: &str,
        (owner, rank, id): (&str, &str, &str),
        most: u32,
    ) -> Result<Vec<(String, ListRow)>, ReadError> {
        let [list, owner, rank, id] = [list, owner, rank, id].map(Value::Text);
        let values = [list, owner, rank, id, Value::Int(most.into())];
        let rows = self.read(sql::LIST_OF_ALL, &values).await?;
        let owners: engine::Result<Vec<String>> = rows.iter().map(|row| row.text(6)).collect();
        Ok(owners?.into_iter().zip(listed(&rows)?).collect())
    }

    /// Reads a page of a list, as [`Store::list`] does, with nothing of the rank `below` or of a higher one.
    pub async fn list_below(
        &self,
        (list, owner): (&str, &str),
        (after, below): ((&str, &str), &str),
        most: u32,
    ) -> Result<Vec<ListRow>, ReadError> {
        let [list, owner, rank, id, most] = after_entry((list, owner), after, most);
        let values = [list, owner, rank, id, Value::Text(below), most];
        Ok(listed(&self.read(sql::LIST_BELOW, &values).await?)?)
    }

    /// Returns the ids of the live entities of a part of a list that come after the first `kept` of them.
    pub async fn live_beyond(
        &self,
        part: &ListPart<'_>,
        (kept, most): (u32, u32),
        now: Timestamp,
    ) -> Result<Vec<String>, ReadError> {
        let [list, owner, above, below] = part.values();
        let (kept, most) = (Value::Int(kept.into()), Value::Int(most.into()));
        let live = [list, owner, above, below, Value::Int(now.millis()), most, kept];
        let rows = self.scan(sql::LIVE_BEYOND, &live).await?;
        Ok(rows.iter().map(|row| row.text(0)).collect::<engine::Result<_>>()?)
    }
}

/// The entries of a list whose rank is above one and below another.
#[derive(Clone, Copy, Debug)]
pub struct ListPart<'a> {
    pub list: &'a str,
    pub owner: &'a str,
    pub above: &'a str,
    pub below: &'a str,
}

impl<'a> ListPart<'a> {
    fn values(&self) -> [Value<'a>; 4] {
        [self.list, self.owner, self.above, self.below].map(Value::Text)
    }
}

/// Returns what a query for a page of a list is given: whose list, the entry after which it begins, and its length.
fn after_entry<'a>(
    (list, owner): (&'a str, &'a str),
    (rank, id): (&'a str, &'a str),
    most: u32,
) -> [Value<'a>; 5] {
    let [list, owner, rank, id] = [list, owner, rank, id].map(Value::Text);
    [list, owner, rank, id, Value::Int(most.into())]
}

/// Reads the one column of a count.
fn counted(rows: &[value::Row]) -> engine::Result<i64> {
    Ok(rows.first().map(|row| row.int(0)).transpose()?.unwrap_or(0))
}

/// Reads the columns of [`sql::LIST`].
fn listed(rows: &[value::Row]) -> engine::Result<Vec<ListRow>> {
    let read = |row: &value::Row| {
        Ok(ListRow {
            rank: row.text(0)?,
            kind: row.text(1)?,
            id: row.text(2)?,
            row: Row { version: row.int(3)?, state: row.text(4)?, revision: row.int(5)? },
        })
    };
    rows.iter().map(read).collect()
}

/// Says here why a read failed: most callers say only that it did.
fn failed(error: DatabaseError) -> ReadError {
    tracing::warn!(%error, "a read of the store failed");
    ReadError(error)
}
