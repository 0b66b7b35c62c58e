//! Proving the security log: what was removed, altered, cut off or dropped shows here.
//!
//! Other nodes write, checkpoint and trim meanwhile, and there is no snapshot of it all. Hence the
//! order: lanes and heads are read before the rows, so that every row they name must be found; what
//! may be deleted is read after the rows, so that rows deleted while we read are explained.

use super::{
    super::{Head, ReadError, Store, chain::Link, sql, value::Value},
    PAGE,
    evidence::LogEvidence,
    retention::Retention,
};
use std::collections::BTreeSet;

/// How often a log that is being shortened is read before its findings count.
const READINGS: usize = 5;

/// Something about the log that should not be so.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Finding {
    #[error("lane {lane}: row {seq} was altered, or what it is chained to was")]
    Altered { lane: String, seq: i64 },
    #[error("lane {lane}: rows are missing before row {seq}")]
    Missing { lane: String, seq: i64 },
    #[error("lane {lane}: rows up to {seq} were there once and are gone")]
    CutOff { lane: String, seq: i64 },
    #[error("lane {lane}: row {seq} is where no row can be")]
    Misplaced { lane: String, seq: i64 },
    #[error("lane {lane} was registered and is gone")]
    Dropped { lane: String },
    #[error("lane {lane} was never registered")]
    Unregistered { lane: String },
    #[error("lane {lane}: what may be deleted of it was not sealed by us")]
    Unsealed { lane: String },
    #[error("lane {lane}: deletion up to row {seq} is not what the checkpoints say")]
    Uncheckpointed { lane: String, seq: i64 },
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

impl Store {
    /// Reads the whole log and proves it, also against `exported` heads kept outside the database.
    pub async fn verify_log(&self, exported: &[Head]) -> Result<Proof, ReadError> {
        let mut reading = 1;
        loop {
            let before = self.retention().await?;
            let (proof, after) = self.read_and_prove(exported, &before).await?;
            // A log that was shortened meanwhile may show findings that are none.
            if proof.findings.is_empty() || before == after || reading == READINGS {
                return Ok(proof);
            }
            reading += 1;
        }
    }

    async fn read_and_prove(
        &self,
        exported: &[Head],
        before: &[Retention],
    ) -> Result<(Proof, Vec<Retention>), ReadError> {
        let chain_keys = &*self.inner.chain_keys;
        let mut proof = Proof::default();
        let mut evidence = LogEvidence::default();
        let recorded = self.recorded_heads().await?;
        let lanes = self.log_lanes().await?;
        for lane in &lanes {
            self.read_lane(lane, &mut evidence, &mut proof).await?;
        }
        let sealed = self.retention().await?;
        evidence.trust_seals(self.proven_ends(&sealed));
        evidence.prove_beginnings(chain_keys, &mut proof);
        let mut missed = Vec::new();
        let promised = recorded.iter().chain(exported).filter(|head| head.seq > 0);
        for head in promised.chain(&evidence.named) {
            if self.log_mac(head).await?.as_ref() != Some(&head.mac) {
                missed.push(head.clone());
            }
        }
        // Read again: a row that was not found may have been deleted in between.
        let after = self.retention().await?;
        evidence.trust_seals(self.proven_ends(&after));
        for Head { lane, seq, .. } in missed {
            if !evidence.may_be_gone(&lane, seq) {
                proof.findings.insert(Finding::CutOff { lane, seq });
            }
        }
        for lane in evidence.shortened() {
            let Some(end) = evidence.end(lane) else { continue };
            if self.log_mac(&end).await?.is_some_and(|mac| mac != end.mac) {
                proof.findings.insert(Finding::Altered { lane: end.lane, seq: end.seq });
            }
        }
        evidence.judge_beginnings(&mut proof);
        evidence.judge_lanes(&lanes, &self.recorded_heads().await?, &mut proof);
        self.judge_seals(&after, &mut proof);
        if before == after {
            evidence.judge_retention(&mut proof);
        }
        Ok((proof, after))
    }

    async fn read_lane(
        &self,
        lane: &str,
        evidence: &mut LogEvidence,
        proof: &mut Proof,
    ) -> Result<(), ReadError> {
        let misplaced = self.scan(sql::LOG_BEFORE_FIRST, &[Value::Text(lane)]).await?;
        if let Some(row) = misplaced.first() {
            let (lane, seq) = (lane.to_owned(), row.int(0)?);
            proof.findings.insert(Finding::Misplaced { lane, seq });
        }
        let mut last: Option<Head> = None;
        loop {
            let page = self.log_page(lane, last.as_ref().map_or(0, |head| head.seq)).await?;
            let is_last = i64::try_from(page.len()).unwrap_or(i64::MAX) < PAGE;
            for row in page {
                match &last {
                    Some(previous) if row.seq == previous.seq + 1 => {
                        evidence.follow(&row, &previous.mac, &*self.inner.chain_keys, proof);
                    }
                    _ => evidence.begin(row.clone()),
                }
                proof.rows += 1;
                last = Some(row.head());
            }
            if is_last {
                proof.heads.extend(last.map(|head| (head.lane, head.seq)));
                return Ok(());
            }
        }
    }

    async fn log_mac(&self, head: &Head) -> Result<Option<Vec<u8>>, ReadError> {
        let place = [Value::Text(&head.lane), Value::Int(head.seq)];
        let rows = self.scan(sql::LOG_MAC, &place).await?;
        Ok(rows.first().map(|row| row.bytes(0)).transpose()?)
    }

    fn proven_ends(&self, retention: &[Retention]) -> Vec<Head> {
        let is_ours = |r: &&Retention| r.judge_seal(&*self.inner.chain_keys) == Link::Proven;
        retention.iter().filter(is_ours).map(|retention| retention.end.clone()).collect()
    }

    fn judge_seals(&self, retention: &[Retention], proof: &mut Proof) {
        for found in retention {
            let Head { lane, seq, .. } = found.end.clone();
            match found.judge_seal(&*self.inner.chain_keys) {
                Link::Proven => {}
                Link::Broken => {
                    proof.findings.insert(Finding::Unsealed { lane });
                }
                Link::UnknownKey => {
                    let key = found.key.clone();
                    proof.findings.insert(Finding::UnknownKey { lane, seq, key });
                }
            }
        }
    }
}
