//! How the log gets shorter: a checkpoint says up to where, and only then are rows deleted.
//!
//! 1. Rows are read in order from where the last checkpoint ended, and each is proven, until one is
//!    young enough to be kept ([`Store::checkpoint_log`]); no writer waits for this.
//! 2. The ends that were found are recorded in the log and, in the same commit, sealed in
//!    `log_retention`.
//! 3. Rows up to a sealed end are deleted, a few at a time.
//!
//! A person who can write to the database can write to `log_retention`, hence the seal. A row that
//! cannot be proven stays, with all that follow it: they are evidence.

use super::super::{
    CommitError, ReadError, Store,
    chain::{ChainKeys, Head, Link, LogWriter, ROOT},
    engine::{self, Connection},
    maintenance::{self, Maintenance},
    sql,
    value::{Row, Value},
};
use crate::domain::{Record, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// Tells a seal from the MAC of a row, which begins with another MAC or with nothing.
const SEALED_FOR: &[u8] = b"retention";

/// How many rows are read at a time.
const PAGE: i64 = 200;

/// The last row of a lane that may be deleted, under a seal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Retention {
    pub(super) end: Head,
    pub(super) key: String,
    seal: Vec<u8>,
}

impl Retention {
    fn read(row: &Row) -> engine::Result<Self> {
        Ok(Self { end: Head::read(row)?, key: row.text(3)?, seal: row.bytes(4)? })
    }

    /// Tells whether a holder of the keys sealed this.
    pub(super) fn judge_seal(&self, chain_keys: &dyn ChainKeys) -> Link {
        match sealed(&self.end, |parts| chain_keys.mac(&self.key, parts)) {
            // Of the root lane nothing is ever deleted.
            _ if self.end.lane == ROOT => Link::Broken,
            None => Link::UnknownKey,
            Some(seal) if seal.as_slice() == self.seal => Link::Proven,
            Some(_) => Link::Broken,
        }
    }
}

fn sealed<T>(end: &Head, mac: impl FnOnce(&[&[u8]]) -> T) -> T {
    mac(&[SEALED_FOR, end.lane.as_bytes(), &end.seq.to_be_bytes(), &end.mac])
}

impl Store {
    pub(super) async fn retention(&self) -> Result<Vec<Retention>, ReadError> {
        let rows = self.scan(sql::RETENTION, &[]).await?;
        Ok(rows.iter().map(Retention::read).collect::<engine::Result<_>>()?)
    }

    /// Appends a checkpoint that allows rows from before `before` to be deleted, up to `most` more
    /// than already were, and says how many. No row behind a younger one is among them.
    pub async fn checkpoint_log(
        &self,
        now: Timestamp,
        before: Timestamp,
        most: u32,
    ) -> Result<u64, CommitError> {
        let ends = match self.provable_ends(before, most).await {
            Ok(ends) if ends.is_empty() => return Ok(0),
            Ok(ends) => ends,
            Err(error) => {
                tracing::warn!(%error, "the security log could not be read for a checkpoint");
                return Err(CommitError::Unavailable);
            }
        };
        self.count_maintenance(Maintenance::Checkpoint { now, ends }).await
    }

    /// Deletes up to `most` rows that a checkpoint allows to be deleted.
    pub async fn trim_log(&self, most: u32) -> Result<u64, CommitError> {
        self.count_maintenance(Maintenance::Trim { most: most.into() }).await
    }

    /// Finds up to which row each lane could be deleted, where that is more than is allowed now.
    async fn provable_ends(&self, before: Timestamp, most: u32) -> Result<Vec<Head>, ReadError> {
        let chain_keys = &*self.inner.chain_keys;
        let retention = self.retention().await?.into_iter();
        let mut retained: BTreeMap<String, Retention> =
            retention.map(|retention| (retention.end.lane.clone(), retention)).collect();
        let registered = self.registrations().await?;
        let mut left = most;
        let mut ends = Vec::new();
        for Head { lane, .. } in self.recorded_heads().await? {
            let start = match (retained.remove(&lane), registered.get(&lane)) {
                (Some(found), _) if found.judge_seal(chain_keys) == Link::Proven => found.end,
                (None, Some(mac)) => Head { lane, seq: 0, mac: mac.clone() },
                // Without a seal or a registration of ours, nothing of it is deleted.
                (Some(_), _) | (None, None) => continue,
            };
            let from = start.seq;
            let end = self.prove_until(start, before, &mut left).await?;
            if end.seq > from {
                ends.push(end);
            }
        }
        Ok(ends)
    }

    /// Proves the rows that follow `end`, and returns the last before a young or unprovable one.
    async fn prove_until(
        &self,
        mut end: Head,
        before: Timestamp,
        left: &mut u32,
    ) -> Result<Head, ReadError> {
        loop {
            let page = self.log_rows(&end.lane, end.seq, PAGE).await?;
            let is_last = i64::try_from(page.len()).unwrap_or(i64::MAX) < PAGE;
            for row in page {
                // A gap: another node is trimming, or verification will say what is missing.
                if *left == 0 || row.at >= before || row.seq != end.seq + 1 {
                    return Ok(end);
                }
                if row.link_to(&end.mac, &*self.inner.chain_keys) != Link::Proven {
                    let (lane, seq) = (&row.lane, row.seq);
                    tracing::error!(lane, seq, "a row of the security log cannot be proven; kept");
                    return Ok(end);
                }
                *left -= 1;
                end = row.head();
            }
            if is_last {
                return Ok(end);
            }
        }
    }

    /// Reads the root lane as far as it can be proven: lane → MAC of the row that registers it.
    async fn registrations(&self) -> Result<BTreeMap<String, Vec<u8>>, ReadError> {
        let mut registered = BTreeMap::new();
        let mut last = Head { lane: ROOT.to_owned(), seq: 0, mac: Vec::new() };
        loop {
            let page = self.log_rows(ROOT, last.seq, PAGE).await?;
            let is_last = i64::try_from(page.len()).unwrap_or(i64::MAX) < PAGE;
            for row in page {
                let follows = row.seq == last.seq + 1;
                if !follows || row.link_to(&last.mac, &*self.inner.chain_keys) != Link::Proven {
                    return Ok(registered);
                }
                registered.extend(row.registers().map(|lane| (lane, row.mac.clone())));
                last = row.head();
            }
            if is_last {
                return Ok(registered);
            }
        }
    }
}

/// Records `ends` beside those already in force, and seals them; says how many rows they add.
pub(in crate::store) async fn checkpoint(
    connection: &mut Connection,
    writer: &mut LogWriter,
    now: Timestamp,
    ends: &[Head],
) -> engine::Result<(u64, Option<Head>)> {
    let chain_keys = writer.chain_keys();
    let lanes = lane_heads(connection).await?;
    // What an earlier checkpoint named is named again: the row of that checkpoint may be deleted.
    let (mut named, distrusted) = retained(connection, &*chain_keys, &lanes).await?;
    let mut moved = 0;
    for end in ends.iter().filter(|end| !distrusted.contains(&end.lane)) {
        if lanes.get(&end.lane).is_none_or(|head| *head < end.seq) {
            let (lane, seq) = (&end.lane, end.seq);
            tracing::error!(lane, seq, "a lane of the security log ends before its own rows");
            continue;
        }
        let from = named.get(&end.lane).map_or(0, |end| end.seq);
        if end.seq > from {
            moved += u64::try_from(end.seq - from).unwrap_or(0);
            named.insert(end.lane.clone(), end.clone());
        }
    }
    if moved == 0 {
        return Ok((0, None));
    }
    let record = Record::new("log.checkpointed").with("heads", Head::name_all(named.values()));
    let head = maintenance::append(connection, writer, now, ("log", "checkpoint"), &record).await?;
    let key = chain_keys.current();
    for end in named.values() {
        let seal = sealed(end, |parts| key.mac(parts));
        let values = [
            Value::Text(&end.lane),
            Value::Int(end.seq),
            Value::Bytes(&end.mac),
            Value::Text(key.id()),
            Value::Bytes(&seal),
        ];
        connection.execute(sql::RETAIN_FROM, &values).await?;
    }
    Ok((moved, head))
}

/// Deletes up to `most` rows that are at or before a sealed end.
pub(in crate::store) async fn trim(
    connection: &mut Connection,
    chain_keys: &dyn ChainKeys,
    most: i64,
) -> engine::Result<u64> {
    let lanes = lane_heads(connection).await?;
    let (ends, _distrusted) = retained(connection, chain_keys, &lanes).await?;
    let mut trimmed = 0;
    for end in ends.values() {
        let left = most - i64::try_from(trimmed).unwrap_or(i64::MAX);
        if left <= 0 {
            break;
        }
        let values = [Value::Text(&end.lane), Value::Int(end.seq), Value::Int(left)];
        trimmed += connection.execute(sql::TRIM_LOG, &values).await?;
    }
    Ok(trimmed)
}

async fn lane_heads(connection: &mut Connection) -> engine::Result<BTreeMap<String, i64>> {
    let heads = maintenance::heads(connection).await?;
    Ok(heads.into_iter().map(|head| (head.lane, head.seq)).collect())
}

/// Reads the ends under a proven seal, and the lanes whose seal is not proven.
async fn retained(
    connection: &mut Connection,
    chain_keys: &dyn ChainKeys,
    lanes: &BTreeMap<String, i64>,
) -> engine::Result<(BTreeMap<String, Head>, BTreeSet<String>)> {
    let (mut ends, mut distrusted) = (BTreeMap::new(), BTreeSet::new());
    for row in connection.fetch(sql::RETENTION, &[]).await? {
        let found = Retention::read(&row)?;
        let seal = found.judge_seal(chain_keys);
        let Head { lane, seq, .. } = &found.end;
        let is_within = lanes.get(lane).is_some_and(|head| head >= seq);
        if seal == Link::Proven && is_within {
            ends.insert(lane.clone(), found.end);
        } else {
            tracing::error!(
                lane,
                seq,
                ?seal,
                is_within,
                "a seal on the log's retention is not ours"
            );
            distrusted.insert(lane.clone());
        }
    }
    Ok((ends, distrusted))
}
