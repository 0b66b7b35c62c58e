//! Counters of readers and committers, for operators; read without locks.

use crate::histogram::{Histogram, HistogramReport};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Counters of one store, since it was opened.
pub struct Vitals {
    reads: AtomicU64,
    groups: AtomicU64,
    commits: AtomicU64,
    refused: AtomicU64,
    contested: AtomicU64,
    passing: AtomicU64,
    reruns: AtomicU64,
    failed: AtomicU64,
    unknown: AtomicU64,
    counted: AtomicU64,
    panics: AtomicU64,
    sizes: Histogram,
    times: Histogram,
}

/// The counters at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreReport {
    /// Queries for entities, their liveness, names and lists.
    pub reads: u64,
    /// Transactions that held at least one commit.
    pub groups: u64,
    /// Commits that became durable.
    pub commits: u64,
    /// Commits that lost a race or missed a requirement.
    pub refused: u64,
    /// Groups written again because a commit in them had lost its race.
    pub contested: u64,
    /// Transactions that failed for a reason that may pass: a deadlock, a lock that took too long.
    pub passing: u64,
    /// Groups that failed and were written again one by one.
    pub reruns: u64,
    /// Commits of which nothing was written.
    pub failed: u64,
    /// Commits whose outcome is unknown.
    pub unknown: u64,
    /// Records of durable commits that were counted, and not kept in the security log.
    pub counted: u64,
    /// Panics a committer survived.
    pub panics: u64,
    /// How many commits shared a transaction.
    pub sizes: HistogramReport,
    /// How long a transaction took, in microseconds.
    pub times: HistogramReport,
}

impl Default for Vitals {
    fn default() -> Self {
        Self {
            reads: AtomicU64::default(),
            groups: AtomicU64::default(),
            commits: AtomicU64::default(),
            refused: AtomicU64::default(),
            contested: AtomicU64::default(),
            passing: AtomicU64::default(),
            reruns: AtomicU64::default(),
            failed: AtomicU64::default(),
            unknown: AtomicU64::default(),
            counted: AtomicU64::default(),
            panics: AtomicU64::default(),
            sizes: Histogram::of_sizes(),
            times: Histogram::of_times(),
        }
    }
}

impl Vitals {
    pub(super) fn read(&self) {
        self.reads.fetch_add(1, Relaxed);
    }

    pub(super) fn group(&self, commits: usize, took: Duration) {
        self.groups.fetch_add(1, Relaxed);
        self.sizes.add(commits as u64);
        self.times.took(took);
    }

    pub(super) fn contested(&self) {
        self.contested.fetch_add(1, Relaxed);
    }

    pub(super) fn passing(&self) {
        self.passing.fetch_add(1, Relaxed);
    }

    pub(super) fn rerun(&self) {
        self.reruns.fetch_add(1, Relaxed);
    }

    pub(super) fn panicked(&self) {
        self.panics.fetch_add(1, Relaxed);
    }

    pub(super) fn counted(&self, records: usize) {
        self.counted.fetch_add(records as u64, Relaxed);
    }

    pub(super) fn answered<T>(&self, verdict: &Result<T, super::CommitError>) {
        use super::CommitError::{Conflict, Taken, Unavailable, Unknown, Unmet};
        let counter = match verdict {
            Ok(_) => &self.commits,
            Err(Conflict | Taken { .. } | Unmet { .. }) => &self.refused,
            Err(Unavailable) => &self.failed,
            Err(Unknown) => &self.unknown,
        };
        counter.fetch_add(1, Relaxed);
    }

    pub fn report(&self) -> StoreReport {
        StoreReport {
            reads: self.reads.load(Relaxed),
            groups: self.groups.load(Relaxed),
            commits: self.commits.load(Relaxed),
            refused: self.refused.load(Relaxed),
            contested: self.contested.load(Relaxed),
            passing: self.passing.load(Relaxed),
            reruns: self.reruns.load(Relaxed),
            failed: self.failed.load(Relaxed),
            unknown: self.unknown.load(Relaxed),
            counted: self.counted.load(Relaxed),
            panics: self.panics.load(Relaxed),
            sizes: self.sizes.report(),
            times: self.times.report(),
        }
    }
}
