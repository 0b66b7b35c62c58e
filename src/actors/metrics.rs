//! Counts for operators of the entities of one kind.

use crate::histogram::{Histogram, HistogramReport};
use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

pub(super) struct KindMetrics {
    asks: AtomicU64,
    woken: AtomicU64,
    rested: AtomicU64,
    conflicts: AtomicU64,
    failures: AtomicU64,
    unknown: AtomicU64,
    shed: AtomicU64,
    waits: Histogram,
}

/// Counters of one kind since the system was built, and how many are awake now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindReport {
    pub awake: u64,
    pub quarantined: u64,
    pub asks: u64,
    pub woken: u64,
    pub rested: u64,
    /// Decisions made anew because another node was first.
    pub conflicts: u64,
    /// Actors that ended in the middle of a command.
    pub failures: u64,
    /// Commits whose outcome was not known.
    pub unknown: u64,
    /// Asks turned away because too much was waiting.
    pub shed: u64,
    /// How long commands lay in a mailbox before they were begun, in microseconds.
    pub waits: HistogramReport,
}

impl Default for KindMetrics {
    fn default() -> Self {
        Self {
            asks: AtomicU64::default(),
            woken: AtomicU64::default(),
            rested: AtomicU64::default(),
            conflicts: AtomicU64::default(),
            failures: AtomicU64::default(),
            unknown: AtomicU64::default(),
            shed: AtomicU64::default(),
            waits: Histogram::of_times(),
        }
    }
}

impl KindMetrics {
    pub(super) fn waited(&self, time: Duration) {
        self.waits.took(time);
    }

    pub(super) fn ask(&self) {
        self.asks.fetch_add(1, Relaxed);
    }

    pub(super) fn woke(&self) {
        self.woken.fetch_add(1, Relaxed);
    }

    pub(super) fn rested(&self, many: usize) {
        self.rested.fetch_add(many as u64, Relaxed);
    }

    pub(super) fn conflict(&self) {
        self.conflicts.fetch_add(1, Relaxed);
    }

    pub(super) fn failure(&self) {
        self.failures.fetch_add(1, Relaxed);
    }

    pub(super) fn unknown(&self) {
        self.unknown.fetch_add(1, Relaxed);
    }

    pub(super) fn shed(&self) {
        self.shed.fetch_add(1, Relaxed);
    }

    pub(super) fn report(&self, awake: usize, quarantined: usize) -> KindReport {
        KindReport {
            awake: awake as u64,
            quarantined: quarantined as u64,
            asks: self.asks.load(Relaxed),
            woken: self.woken.load(Relaxed),
            rested: self.rested.load(Relaxed),
            conflicts: self.conflicts.load(Relaxed),
            failures: self.failures.load(Relaxed),
            unknown: self.unknown.load(Relaxed),
            shed: self.shed.load(Relaxed),
            waits: self.waits.report(),
        }
    }
}
