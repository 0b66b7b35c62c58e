//! What the log says of itself; only rows that are proven count.
//!
//! A row whose MAC fits the row before it was written by a holder of the keys, also where other rows
//! are missing or altered. The first row of a run has none before it in the table: it is proven once a
//! registration or a checkpoint names the MAC that was there. That record may itself be a first row,
//! hence [`LogEvidence::prove_beginnings`] repeats until nothing more can be proven.

use super::super::chain::{ChainKeys, Head, Link, LogRow, ROOT};
use super::verify::{Finding, Proof};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
pub(super) struct LogEvidence {
    /// Lane → MAC of the row that registers it.
    registered: BTreeMap<String, Vec<u8>>,
    /// Rows that some record says exist.
    pub(super) named: BTreeSet<Head>,
    /// Lane → the rows up to which checkpoints allow deletion, with their MACs.
    checkpoints: BTreeMap<String, BTreeMap<i64, Vec<u8>>>,
    /// Lane → the row up to which a seal allows deletion.
    sealed: BTreeMap<String, Head>,
    /// The first rows of runs that are not proven yet.
    beginnings: Vec<LogRow>,
}

impl LogEvidence {
    /// Keeps a row that has none before it, to be proven later.
    pub(super) fn begin(&mut self, first: LogRow) {
        self.beginnings.push(first);
    }

    /// Takes in a row, if it is proven to follow one whose MAC is `previous`.
    pub(super) fn follow(
        &mut self,
        row: &LogRow,
        previous: &[u8],
        chain_keys: &dyn ChainKeys,
        proof: &mut Proof,
    ) {
        let (lane, seq) = (row.lane.clone(), row.seq);
        match row.link_to(previous, chain_keys) {
            Link::Proven => self.note_claims(row),
            Link::Broken => {
                proof.findings.insert(Finding::Altered { lane, seq });
            }
            Link::UnknownKey => {
                let key = row.mac_key.clone();
                proof.findings.insert(Finding::UnknownKey { lane, seq, key });
            }
        }
    }

    fn note_claims(&mut self, row: &LogRow) {
        match row.event.as_str() {
            "log.lane_registered" => {
                self.registered.extend(row.registers().map(|lane| (lane, row.mac.clone())));
                // A lane that replaces one that was set back names the last row of that one.
                self.named.extend(row.names());
            }
            "log.anchored" => self.named.extend(row.names().into_iter().filter(|h| h.seq > 0)),
            "log.checkpointed" => {
                for Head { lane, seq, mac } in row.names().into_iter().filter(|h| h.lane != ROOT) {
                    self.checkpoints.entry(lane).or_default().insert(seq, mac);
                }
            }
            _ => {}
        }
    }

    /// Takes ends whose seal was proven.
    pub(super) fn trust_seals(&mut self, ends: impl IntoIterator<Item = Head>) {
        self.sealed = ends.into_iter().map(|end| (end.lane.clone(), end)).collect();
    }

    /// Proves the beginnings that can be proven, and takes them in.
    pub(super) fn prove_beginnings(&mut self, chain_keys: &dyn ChainKeys, proof: &mut Proof) {
        loop {
            let beginnings = std::mem::take(&mut self.beginnings);
            let count = beginnings.len();
            for first in beginnings {
                match self.before(&first) {
                    Some(previous) => self.follow(&first, &previous, chain_keys, proof),
                    None => self.beginnings.push(first),
                }
            }
            if self.beginnings.len() == count {
                return;
            }
        }
    }

    /// Returns the MAC of the row before `first`, where something proven says what it was.
    fn before(&self, first: &LogRow) -> Option<Vec<u8>> {
        let (lane, seq) = (first.lane.as_str(), first.seq);
        match (lane, seq) {
            (ROOT, 1) => Some(Vec::new()),
            (ROOT, _) => None,
            (_, 1) => self.registered.get(lane).cloned(),
            // A row that may be deleted proves nothing.
            _ if self.may_be_gone(lane, seq) => None,
            _ => {
                let sealed = self.sealed.get(lane).filter(|end| end.seq == seq - 1);
                let named = self.checkpoints.get(lane).and_then(|ends| ends.get(&(seq - 1)));
                sealed.map(|end| &end.mac).or(named).cloned()
            }
        }
    }

    /// Tells whether a checkpoint allowed this row to be deleted.
    pub(super) fn may_be_gone(&self, lane: &str, seq: i64) -> bool {
        self.end(lane).is_some_and(|end| end.seq >= seq)
    }

    /// Returns the last row of `lane` that may be deleted.
    pub(super) fn end(&self, lane: &str) -> Option<Head> {
        let sealed = self.sealed.get(lane).cloned();
        sealed.into_iter().chain(self.checkpointed(lane)).max_by_key(|end| end.seq)
    }

    fn checkpointed(&self, lane: &str) -> Option<Head> {
        let (seq, mac) = self.checkpoints.get(lane)?.last_key_value()?;
        Some(Head { lane: lane.to_owned(), seq: *seq, mac: mac.clone() })
    }

    /// Returns the lanes of which some rows may be deleted.
    pub(super) fn shortened(&self) -> BTreeSet<&String> {
        self.checkpoints.keys().chain(self.sealed.keys()).collect()
    }

    /// Judges the runs whose beginning nothing explains.
    pub(super) fn judge_beginnings(&self, proof: &mut Proof) {
        for first in &self.beginnings {
            let (lane, seq) = (first.lane.clone(), first.seq);
            // The first row of a lane that was not registered is found as such.
            if seq > 1 && !self.may_be_gone(&lane, seq) {
                proof.findings.insert(Finding::Missing { lane, seq });
            }
        }
    }

    /// Judges `listed` lanes, which existed before the log was read, and `heads`, read after it.
    pub(super) fn judge_lanes(&self, listed: &[String], heads: &[Head], proof: &mut Proof) {
        for lane in listed.iter().filter(|lane| *lane != ROOT) {
            if !self.registered.contains_key(lane) {
                proof.findings.insert(Finding::Unregistered { lane: lane.clone() });
            }
        }
        // A lane is opened with its first row; no head is ever before that.
        let is_there = |lane: &String| heads.iter().any(|h| h.lane == *lane && h.seq > 0);
        for lane in self.registered.keys().filter(|lane| !is_there(lane)) {
            proof.findings.insert(Finding::Dropped { lane: lane.clone() });
        }
        for head in heads {
            let Some(end) = self.end(&head.lane) else { continue };
            let (lane, seq) = (end.lane.clone(), end.seq);
            if head.seq < seq {
                proof.findings.insert(Finding::CutOff { lane, seq });
            } else if head.seq == seq && head.mac != end.mac {
                proof.findings.insert(Finding::Altered { lane, seq });
            }
        }
    }

    /// Judges whether what is sealed for deletion is what the checkpoints in the log say.
    pub(super) fn judge_retention(&self, proof: &mut Proof) {
        for lane in self.shortened() {
            let (said, sealed) = (self.checkpointed(lane), self.sealed.get(lane).cloned());
            if said != sealed {
                let seq = sealed.or(said).map_or(0, |end| end.seq);
                let lane = lane.clone();
                proof.findings.insert(Finding::Uncheckpointed { lane, seq });
            }
        }
    }
}
