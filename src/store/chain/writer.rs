//! A writer of the log: chains records and appends them to the lane it holds.

use super::{ChainKeys, Head, LogRow, lanes::Lane};
use crate::{
    domain::{Machine as _, Record, Timestamp, account::Account},
    store::{
        batch::BoundBatch,
        engine::{self, Connection, DatabaseError},
        sql,
        value::Value,
    },
};
use std::{sync::Arc, time::Duration};

/// How long a lane stays with a writer that no longer writes.
pub(super) const LEASE: Duration = Duration::from_mins(1);

/// A record and the entity whose commit wrote it.
pub(in crate::store) struct Entry<'a> {
    pub(in crate::store) at: Timestamp,
    pub(in crate::store) kind: &'a str,
    pub(in crate::store) id: &'a str,
    pub(in crate::store) record: &'a Record,
}

impl Entry<'_> {
    /// Returns the account that it is about.
    fn account(&self) -> Option<&str> {
        let named = self.record.detail.get("account").and_then(serde_json::Value::as_str);
        named.or_else(|| (self.kind == Account::KIND).then_some(self.id))
    }
}

/// A writer of the log.
pub(in crate::store) struct LogWriter {
    /// Unique among the writers of all processes.
    pub(super) name: String,
    pub(super) chain_keys: Arc<dyn ChainKeys>,
    /// The head that the next append moves; `None` where it must be read first.
    held: Option<Head>,
    /// The head after the last commit known to be durable: the lane must not end before it.
    pub(super) durable: Option<Head>,
    /// How many lanes this writer has opened; part of the name of the next.
    pub(super) opened: u32,
}

impl LogWriter {
    pub(in crate::store) fn new(name: String, chain_keys: Arc<dyn ChainKeys>) -> Self {
        Self { name, chain_keys, held: None, durable: None, opened: 0 }
    }

    /// The keys of this writer.
    pub(in crate::store) fn chain_keys(&self) -> Arc<dyn ChainKeys> {
        self.chain_keys.clone()
    }

    /// Appends `entries` within the open transaction; the returned head counts once that is durable.
    pub(in crate::store) async fn append(
        &mut self,
        connection: &mut Connection,
        entries: &[Entry<'_>],
    ) -> engine::Result<Option<Head>> {
        let Some(last) = entries.last() else { return Ok(None) };
        let mut lane = match self.held.take() {
            Some(head) => Lane::held_by(&self.name, head),
            None => self.take_lane(connection, last.at).await?,
        };
        if !self.write(connection, &mut lane, entries).await? {
            // Another writer has the lane now, or a person has changed it by hand.
            lane = self.take_lane(connection, last.at).await?;
            if !self.write(connection, &mut lane, entries).await? {
                return Err(lost_lane());
            }
        }
        Ok(Some(lane.head))
    }

    /// Costs as many statements as an append, and appends nothing; for records that are not kept.
    ///
    /// A writer that does not hold a lane takes none for this: a lane without a row would be missed.
    pub(in crate::store) async fn append_nothing(
        &self,
        connection: &mut Connection,
        at: Timestamp,
    ) -> engine::Result<()> {
        let Some(head) = &self.held else { return Ok(()) };
        let lane = Lane::held_by(&self.name, head.clone());
        connection.append(&lane.moved_to(head, at), &sql::APPEND.bind(Vec::new())).await.map(drop)
    }

    /// Prepares an append to the lane that is held, for a statement that does more; nothing where a lane is still to be
    /// taken. Where it was not carried out nothing has changed.
    pub(in crate::store) fn prepare<'a>(
        &self,
        entries: Vec<Entry<'a>>,
        at: Timestamp,
    ) -> Option<PreparedAppend<'a>> {
        let lane = Lane::held_by(&self.name, self.held.clone()?);
        let mut head = lane.head.clone();
        let rows = self.chain(&mut head, &entries);
        Some(PreparedAppend { lane, head, rows, entries, at })
    }

    /// Remembers the head that has become durable.
    pub(in crate::store) fn keep(&mut self, head: Option<Head>) {
        if head.is_some() {
            self.durable.clone_from(&head);
            self.held = head;
        }
    }

    /// Forgets where the lane ends, which is read again before the next append; but keeps the last
    /// head known to be durable.
    pub(in crate::store) fn forget(&mut self) {
        self.held = None;
    }

    /// Releases the lane, so that the next writer can take it at once.
    pub(in crate::store) async fn release_lane(
        &mut self,
        connection: &mut Connection,
    ) -> engine::Result<()> {
        let Some(head) = self.held.take().or(self.durable.take()) else { return Ok(()) };
        let values = [Value::Text(&head.lane), Value::Text(&self.name)];
        connection.execute(sql::RELEASE_LANE, &values).await.map(drop)
    }

    /// Appends to `lane`; false, and nothing is written, where its head is not the one we hold.
    pub(super) async fn write(
        &self,
        connection: &mut Connection,
        lane: &mut Lane,
        entries: &[Entry<'_>],
    ) -> engine::Result<bool> {
        let mut head = lane.head.clone();
        let rows = self.chain(&mut head, entries);
        let at = entries.last().map_or(Timestamp::NEVER, |last| last.at);
        let appended = connection.append(&lane.moved_to(&head, at), &bound(&rows, entries)).await?;
        if appended {
            lane.head = head;
        }
        Ok(appended)
    }

    fn chain(&self, head: &mut Head, entries: &[Entry<'_>]) -> Vec<LogRow> {
        let key = self.chain_keys.current();
        let mut rows = Vec::with_capacity(entries.len());
        for entry in entries {
            let mut row = LogRow {
                lane: head.lane.clone(),
                seq: head.seq + 1,
                at: entry.at,
                event: entry.record.event.to_owned(),
                organization: entry.record.organization.clone(),
                kind: entry.kind.to_owned(),
                id: entry.id.to_owned(),
                detail: serde_json::Value::Object(entry.record.detail.clone()).to_string(),
                mac_key: key.id().to_owned(),
                mac: Vec::new(),
            };
            row.mac = row.chained(&head.mac, |parts| key.mac(parts)).to_vec();
            head.seq = row.seq;
            head.mac.clone_from(&row.mac);
            rows.push(row);
        }
        rows
    }
}

/// What an append to the lane that is held writes.
pub(in crate::store) struct PreparedAppend<'a> {
    lane: Lane,
    head: Head,
    rows: Vec<LogRow>,
    entries: Vec<Entry<'a>>,
    at: Timestamp,
}

impl PreparedAppend<'_> {
    /// The values of [`sql::MOVE_LANE`].
    pub(in crate::store) fn moved(&self) -> [Value<'_>; 6] {
        self.lane.moved_to(&self.head, self.at)
    }

    pub(in crate::store) fn rows(&self) -> BoundBatch<'_> {
        bound(&self.rows, &self.entries)
    }

    /// The log's head afterwards, where something is appended.
    pub(in crate::store) fn head(&self) -> Option<Head> {
        (!self.rows.is_empty()).then(|| self.head.clone())
    }
}

fn bound<'a>(rows: &'a [LogRow], entries: &'a [Entry<'_>]) -> BoundBatch<'a> {
    let values: Vec<Value<'_>> = rows
        .iter()
        .zip(entries)
        .flat_map(|(row, entry)| {
            [
                Value::Text(&row.lane),
                Value::Int(row.seq),
                Value::Int(row.at.millis()),
                Value::Text(&row.event),
                Value::OptionalText(row.organization.as_deref()),
                Value::Text(&row.kind),
                Value::Text(&row.id),
                Value::Text(&row.detail),
                Value::Text(&row.mac_key),
                Value::Bytes(&row.mac),
                Value::OptionalText(entry.account()),
            ]
        })
        .collect();
    sql::APPEND.bind(values)
}

/// Another writer was faster: a known failure, after which the group is written again.
pub(super) fn lost_lane() -> DatabaseError {
    DatabaseError::Overtaken("the lane of the security log is held by another writer")
}
