//! The security log's chain: each row carries a MAC over itself and the row before it in its lane.
//!
//! A lane has one writer at a time. A writer takes a lane nobody holds, or opens a new one, which is
//! itself recorded in the root lane; so there are as many lanes as there ever were writers at once,
//! and a lane that vanishes is missed. The head of a lane moves by compare-and-swap inside the
//! commit it belongs to: two writers that believe they hold the same lane cannot fork it.

use super::{
    engine::Connection,
    sql,
    value::{Row, Value},
};
use crate::domain::{Record, Timestamp};
use std::{sync::Arc, time::Duration};

/// The lane in which the other lanes are registered.
pub(super) const ROOT: &str = "root";

/// How long a lane stays with a writer that no longer writes.
const LEASE: Duration = Duration::from_mins(1);

/// A MAC of the chain.
pub type Mac = [u8; 32];

/// Computes the chain's MACs; the key lives elsewhere.
pub trait Chainer: Send + Sync {
    /// Names the key new rows are chained with.
    fn key(&self) -> String;

    /// Returns the MAC over `parts` under the named key, or nothing where that key is not known.
    fn mac(&self, key: &str, parts: &[&[u8]]) -> Option<Mac>;
}

/// One row of the log, as it is chained and as it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRow {
    pub lane: String,
    pub seq: i64,
    pub at: Timestamp,
    pub event: String,
    pub organization: Option<String>,
    /// The entity whose commit wrote this.
    pub kind: String,
    pub id: String,
    pub detail: String,
    pub mac_key: String,
    pub mac: Vec<u8>,
}

impl LogRow {
    /// Computes what `mac` must be for this row to follow one whose MAC is `previous`.
    pub(super) fn expected_mac(&self, previous: &[u8], chainer: &dyn Chainer) -> Option<Mac> {
        let organization = self.organization.as_deref();
        let parts: [&[u8]; 10] = [
            previous,
            self.lane.as_bytes(),
            &self.seq.to_be_bytes(),
            &self.at.millis().to_be_bytes(),
            self.event.as_bytes(),
            if organization.is_some() { b"1" } else { b"0" },
            organization.unwrap_or_default().as_bytes(),
            self.kind.as_bytes(),
            self.id.as_bytes(),
            self.detail.as_bytes(),
        ];
        chainer.mac(&self.mac_key, &parts)
    }

    /// Reads the columns of [`sql::LOG_PAGE`].
    pub(super) fn read(lane: &str, row: &Row) -> sqlx::Result<Self> {
        Ok(Self {
            lane: lane.to_owned(),
            seq: row.int(0)?,
            at: Timestamp::from_millis(row.int(1)?),
            event: row.text(2)?,
            organization: row.optional_text(3)?,
            kind: row.text(4)?,
            id: row.text(5)?,
            detail: row.text(6)?,
            mac_key: row.text(7)?,
            mac: row.bytes(8)?,
        })
    }
}

/// A record and the entity whose commit wrote it.
pub(super) struct Entry<'a> {
    pub(super) at: Timestamp,
    pub(super) kind: &'a str,
    pub(super) id: &'a str,
    pub(super) record: &'a Record,
}

/// The end of a lane: what the next row is chained to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub lane: String,
    pub seq: i64,
    pub mac: Vec<u8>,
}

impl Head {
    pub(super) fn read(row: &Row) -> sqlx::Result<Self> {
        Ok(Self { lane: row.text(0)?, seq: row.int(1)?, mac: row.bytes(2)? })
    }
}

/// A writer of the log.
pub(super) struct Scribe {
    /// Unlike any other writer's, in this process or another.
    name: String,
    chainer: Arc<dyn Chainer>,
    /// The head as of the last durable commit; `None` where it must be found out first.
    held: Option<Head>,
    /// Makes the name of the next lane this writer opens.
    opened: u32,
}

impl Scribe {
    pub(super) fn new(name: String, chainer: Arc<dyn Chainer>) -> Self {
        Self { name, chainer, held: None, opened: 0 }
    }

    /// Appends `entries` within the open transaction; the returned head counts once that is durable.
    pub(super) async fn append(
        &mut self,
        connection: &mut Connection,
        entries: &[Entry<'_>],
    ) -> sqlx::Result<Option<Head>> {
        let Some(last) = entries.last() else { return Ok(None) };
        let mut head = match &self.held {
            Some(head) => head.clone(),
            None => self.take_lane(connection, last.at).await?,
        };
        let first_seq = head.seq;
        let rows = self.chain(&mut head, entries);
        insert(connection, &rows).await?;
        advance(connection, &head, first_seq, &self.name, last.at + LEASE).await?;
        Ok(Some(head))
    }

    /// Remembers the head that has become durable.
    pub(super) fn keep(&mut self, head: Option<Head>) {
        if head.is_some() {
            self.held = head;
        }
    }

    /// Forgets the head: it is read again before the next append.
    pub(super) fn forget(&mut self) {
        self.held = None;
    }

    /// Lets the next writer have the lane at once.
    pub(super) async fn leave(&mut self, connection: &mut Connection) -> sqlx::Result<()> {
        let Some(head) = self.held.take() else { return Ok(()) };
        let values = [Value::Text(&head.lane), Value::Text(&self.name)];
        connection.execute(sql::LEAVE_LANE, &values).await.map(drop)
    }

    fn chain(&self, head: &mut Head, entries: &[Entry<'_>]) -> Vec<LogRow> {
        let key = self.chainer.key();
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
                mac_key: key.clone(),
                mac: Vec::new(),
            };
            let mac = row.expected_mac(&head.mac, &*self.chainer);
            row.mac = mac.expect("the chainer knows the key it names").to_vec();
            head.seq = row.seq;
            head.mac.clone_from(&row.mac);
            rows.push(row);
        }
        rows
    }

    async fn take_lane(
        &mut self,
        connection: &mut Connection,
        now: Timestamp,
    ) -> sqlx::Result<Head> {
        // A lane may be ours without our remembering it: the last commit's fate was unknown.
        let ours = [Value::Text(&self.name)];
        if let Some(row) = connection.fetch(sql::LANE_HELD_BY, &ours).await?.first() {
            return Head::read(row);
        }
        let free = [Value::Int(now.millis()), Value::Text(ROOT)];
        if let Some(row) = connection.fetch(sql::FREE_LANE, &free).await?.first() {
            let head = Head::read(row)?;
            let taken = [
                Value::Text(&self.name),
                Value::Int((now + LEASE).millis()),
                Value::Text(&head.lane),
                Value::Int(head.seq),
                Value::Int(now.millis()),
            ];
            if connection.execute(sql::TAKE_LANE, &taken).await? == 1 {
                return Ok(head);
            }
        }
        self.open_lane(connection, now).await
    }

    /// Opens a lane of our own and registers it in the root lane.
    async fn open_lane(
        &mut self,
        connection: &mut Connection,
        now: Timestamp,
    ) -> sqlx::Result<Head> {
        self.opened += 1;
        let lane = format!("{}-{}", self.name, self.opened);
        let nothing: &[u8] = &[];
        let root = [ROOT.into(), 0.into(), nothing.into(), ROOT.into(), i64::MAX.into()];
        connection.execute(sql::OPEN_LANE, &root).await?;
        connection.execute(sql::AWAIT_LANE, &[Value::Text(ROOT)]).await?;
        let rows = connection.fetch(sql::LANE_HELD_BY, &[Value::Text(ROOT)]).await?;
        let mut head = Head::read(rows.first().ok_or(sqlx::Error::RowNotFound)?)?;
        let record = Record::new("log.lane_registered").with("lane", lane.as_str());
        let entry = Entry { at: now, kind: "log", id: ROOT, record: &record };
        let first_seq = head.seq;
        insert(connection, &self.chain(&mut head, &[entry])).await?;
        advance(connection, &head, first_seq, ROOT, Timestamp::FOREVER).await?;
        // The first row of the new lane is chained to the row that registers it.
        let opened = [
            Value::Text(&lane),
            Value::Int(0),
            Value::Bytes(&head.mac),
            Value::Text(&self.name),
            Value::Int((now + LEASE).millis()),
        ];
        match connection.execute(sql::OPEN_LANE, &opened).await? {
            1 => Ok(Head { lane, seq: 0, mac: head.mac }),
            _ => Err(lost_lane()),
        }
    }
}

/// Moves a lane's head on, if it is still where we left it and still ours.
async fn advance(
    connection: &mut Connection,
    head: &Head,
    from_seq: i64,
    holder: &str,
    held_until: Timestamp,
) -> sqlx::Result<()> {
    let moved = [
        Value::Int(head.seq),
        Value::Bytes(&head.mac),
        Value::Int(held_until.millis()),
        Value::Text(&head.lane),
        Value::Int(from_seq),
        Value::Text(holder),
    ];
    match connection.execute(sql::MOVE_LANE, &moved).await? {
        1 => Ok(()),
        _ => Err(lost_lane()),
    }
}

async fn insert(connection: &mut Connection, rows: &[LogRow]) -> sqlx::Result<()> {
    let values: Vec<Value<'_>> = rows
        .iter()
        .flat_map(|row| {
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
            ]
        })
        .collect();
    connection.fetch_batch(&sql::APPEND, &values).await.map(drop)
}

/// Another writer holds our lane: a known failure, after which the group is written again.
fn lost_lane() -> sqlx::Error {
    sqlx::Error::Protocol("the lane of the security log is held by another writer".to_owned())
}
