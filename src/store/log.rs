//! Proving the security log: what was removed, altered, cut off or dropped shows here.

use super::{
    CommitError, Head, LogRow, ReadError, Store,
    chain::ROOT,
    chore::{Chore, Done, named_head},
    sql,
    value::Value,
};
use crate::domain::Timestamp;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

/// How many rows are read at a time.
const PAGE: i64 = 1_000;

/// Something about the log that should not be so.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Finding {
    #[error("lane {lane}: row {seq} was altered, or what it is chained to was")]
    Altered { lane: String, seq: i64 },
    #[error("lane {lane}: rows are missing before row {seq}")]
    Missing { lane: String, seq: i64 },
    #[error("lane {lane}: rows up to {seq} were there once and are gone")]
    CutOff { lane: String, seq: i64 },
    #[error("lane {lane} was registered and is gone")]
    Dropped { lane: String },
    #[error("lane {lane} was never registered")]
    Unregistered { lane: String },
    #[error("lane {lane}: row {seq} is chained with key {key}, which is not in the keys folder")]
    UnknownKey { lane: String, seq: i64, key: String },
}

/// What a verification read and what it found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    pub rows: u64,
    pub heads: Vec<(String, i64)>,
    pub findings: BTreeSet<Finding>,
}

/// What the log says of itself, gathered while it is read.
#[derive(Default)]
struct Testimony {
    /// Lane → MAC of the row that registers it.
    registered: BTreeMap<String, Vec<u8>>,
    /// Rows that some record says exist: (lane, seq, named head).
    named: Vec<(String, i64, Json)>,
    /// Lane → the rows, up to which checkpoints allow deletion, with their named heads.
    checkpoints: BTreeMap<String, Vec<(i64, Json)>>,
    /// Lane → the first row found.
    firsts: BTreeMap<String, LogRow>,
    /// Lane → the last row found.
    lasts: BTreeMap<String, Head>,
}

impl Store {
    /// Names every lane's head in the log and returns them, for keeping outside the database.
    pub async fn anchor_log(&self, now: Timestamp) -> Result<Vec<Head>, CommitError> {
        match self.run_chore(Chore::Anchor { now }).await? {
            Done::Heads(heads) => Ok(heads),
            Done::Count(_) | Done::Leased(_) => Err(CommitError::Unknown),
        }
    }

    /// Appends a checkpoint that allows rows from before `before` to be deleted.
    pub async fn checkpoint_log(
        &self,
        now: Timestamp,
        before: Timestamp,
    ) -> Result<Vec<Head>, CommitError> {
        match self.run_chore(Chore::Checkpoint { now, before }).await? {
            Done::Heads(heads) => Ok(heads),
            Done::Count(_) | Done::Leased(_) => Err(CommitError::Unknown),
        }
    }

    /// Deletes up to `most` rows that a checkpoint allows to be deleted.
    pub async fn trim_log(&self, most: u32) -> Result<u64, CommitError> {
        self.count_chore(Chore::Trim { most: most.into() }).await
    }

    async fn recorded_heads(&self) -> Result<Vec<Head>, ReadError> {
        let rows = self.fetch(sql::LANES, &[]).await?;
        Ok(rows.iter().map(Head::read).collect::<sqlx::Result<_>>()?)
    }

    /// Returns where each lane ends.
    pub async fn log_heads(&self) -> Result<Vec<(String, i64)>, ReadError> {
        let heads = self.recorded_heads().await?;
        Ok(heads.into_iter().map(|head| (head.lane, head.seq)).collect())
    }

    /// Reads a page of one lane, after row `after`.
    pub async fn log_page(&self, lane: &str, after: i64) -> Result<Vec<LogRow>, ReadError> {
        let values = [Value::Text(lane), Value::Int(after), Value::Int(PAGE)];
        let rows = self.fetch(sql::LOG_PAGE, &values).await?;
        Ok(rows.iter().map(|row| LogRow::read(lane, row)).collect::<sqlx::Result<_>>()?)
    }

    /// Returns the lanes that have rows.
    pub async fn log_lanes(&self) -> Result<Vec<String>, ReadError> {
        let rows = self.fetch(sql::LOG_LANES_WRITTEN, &[]).await?;
        Ok(rows.iter().map(|row| row.text(0)).collect::<sqlx::Result<_>>()?)
    }

    /// Reads the whole log and proves it, also against `exported` heads kept outside the database.
    pub async fn verify_log(&self, exported: &[Head]) -> Result<Proof, ReadError> {
        let mut proof = Proof::default();
        let mut testimony = Testimony::default();
        // Heads before rows, lanes after them: what is written while we read is then no surprise.
        let recorded = self.recorded_heads().await?;
        for lane in self.log_lanes().await? {
            self.read_lane(&lane, &mut testimony, &mut proof).await?;
        }
        self.check_beginnings(&testimony, &mut proof);
        let heads = recorded.iter().chain(exported).filter(|head| head.seq > 0);
        let promised = heads.map(|head| (head.lane.clone(), head.seq, named_head(head)));
        for (lane, seq, named) in testimony.named.iter().cloned().chain(promised) {
            let forgotten = testimony.forgotten(&lane, seq);
            if !forgotten && self.named_row(&lane, seq).await? != Some(named) {
                proof.findings.insert(Finding::CutOff { lane, seq });
            }
        }
        for (lane, ends) in &testimony.checkpoints {
            for (seq, named) in ends {
                if self.named_row(lane, *seq).await?.is_some_and(|found| found != *named) {
                    proof.findings.insert(Finding::Altered { lane: lane.clone(), seq: *seq });
                }
            }
        }
        let lanes = self.recorded_heads().await?;
        let is_there = |lane: &String| lanes.iter().any(|head| head.lane == *lane);
        for lane in testimony.registered.keys().filter(|lane| !is_there(lane)) {
            proof.findings.insert(Finding::Dropped { lane: lane.clone() });
        }
        proof.heads = testimony.lasts.into_values().map(|head| (head.lane, head.seq)).collect();
        Ok(proof)
    }

    async fn read_lane(
        &self,
        lane: &str,
        testimony: &mut Testimony,
        proof: &mut Proof,
    ) -> Result<(), ReadError> {
        let mut last: Option<Head> = None;
        loop {
            let page = self.log_page(lane, last.as_ref().map_or(0, |head| head.seq)).await?;
            let whole = page.len() < usize::try_from(PAGE).unwrap_or(usize::MAX);
            for row in page {
                if let Some(previous) = &last {
                    if row.seq == previous.seq + 1 {
                        self.check_link(&row, &previous.mac, proof);
                    } else {
                        let lane = lane.to_owned();
                        proof.findings.insert(Finding::Missing { lane, seq: row.seq });
                    }
                } else {
                    testimony.firsts.insert(lane.to_owned(), row.clone());
                }
                testimony.hear(&row);
                proof.rows += 1;
                last = Some(Head { lane: row.lane, seq: row.seq, mac: row.mac });
            }
            if whole {
                break;
            }
        }
        testimony.lasts.extend(last.map(|head| (lane.to_owned(), head)));
        Ok(())
    }

    fn check_link(&self, row: &LogRow, previous: &[u8], proof: &mut Proof) {
        let (lane, seq) = (row.lane.clone(), row.seq);
        match row.expected_mac(previous, &*self.inner.chainer) {
            None => {
                let key = row.mac_key.clone();
                proof.findings.insert(Finding::UnknownKey { lane, seq, key });
            }
            Some(mac) if mac.as_slice() != row.mac => {
                proof.findings.insert(Finding::Altered { lane, seq });
            }
            Some(_) => {}
        }
    }

    /// A lane begins with its registration, or right after a checkpoint that names what was before.
    fn check_beginnings(&self, testimony: &Testimony, proof: &mut Proof) {
        for (lane, first) in &testimony.firsts {
            if first.seq > 1 {
                let ends = || testimony.checkpoints.get(lane).into_iter().flatten();
                let exactly = ends().find(|(seq, _)| *seq == first.seq - 1);
                if let Some(mac) = exactly.and_then(|(_, named)| mac_of(named)) {
                    self.check_link(first, &mac, proof);
                } else if !ends().any(|(seq, _)| *seq >= first.seq) {
                    // Not even half way through what a checkpoint allows.
                    let lane = lane.clone();
                    proof.findings.insert(Finding::Missing { lane, seq: first.seq });
                }
            } else if lane == ROOT {
                self.check_link(first, &[], proof);
            } else {
                match testimony.registered.get(lane) {
                    Some(mac) => self.check_link(first, mac, proof),
                    // Its registration may have been trimmed; the checkpoint then names the lane.
                    None if testimony.root_was_trimmed() => {}
                    None => {
                        proof.findings.insert(Finding::Unregistered { lane: lane.clone() });
                    }
                }
            }
        }
    }

    async fn named_row(&self, lane: &str, seq: i64) -> Result<Option<Json>, ReadError> {
        let rows = self.fetch(sql::LOG_MAC, &[Value::Text(lane), Value::Int(seq)]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let mac = row.bytes(0)?;
        Ok(Some(named_head(&Head { lane: lane.to_owned(), seq, mac })))
    }
}

impl Testimony {
    fn hear(&mut self, row: &LogRow) {
        let detail: Json = serde_json::from_str(&row.detail).unwrap_or_default();
        let heads = || detail["heads"].as_object().into_iter().flatten();
        match (row.lane.as_str(), row.event.as_str()) {
            (ROOT, "log.lane_registered") => {
                let lane = detail["lane"].as_str().unwrap_or_default();
                self.registered.insert(lane.to_owned(), row.mac.clone());
            }
            (_, "log.anchored") => {
                for (lane, named) in heads() {
                    let seq = named[0].as_i64().unwrap_or_default();
                    if seq > 0 {
                        self.named.push((lane.clone(), seq, named.clone()));
                    }
                }
            }
            (_, "log.checkpointed") => {
                for (lane, named) in heads() {
                    let seq = named[0].as_i64().unwrap_or_default();
                    self.checkpoints.entry(lane.clone()).or_default().push((seq, named.clone()));
                }
            }
            _ => {}
        }
    }

    /// Tells whether a checkpoint allowed this row to be deleted.
    fn forgotten(&self, lane: &str, seq: i64) -> bool {
        self.checkpoints.get(lane).into_iter().flatten().any(|(upto, _)| *upto >= seq)
    }

    fn root_was_trimmed(&self) -> bool {
        self.checkpoints.contains_key(ROOT)
    }
}

fn mac_of(named: &Json) -> Option<Vec<u8>> {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    URL_SAFE_NO_PAD.decode(named[1].as_str()?).ok()
}
