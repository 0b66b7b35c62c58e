//! Backoff of entities that keep failing: each failure bars the id a little longer, then for a minute.
//!
//! A poisoned row or a command that always panics must not cost a restart for every request, and
//! must not harm other entities of its kind.

use crate::domain::Timestamp;
use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

/// The first pause; each further failure doubles it.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// From this many failures on the id is in quarantine.
pub(super) const QUARANTINE_AFTER: u32 = 5;

/// How long a quarantine lasts before one more try.
const QUARANTINE: Duration = Duration::from_mins(1);

/// How long a failure is remembered.
const MEMORY: Duration = Duration::from_mins(10);

/// The most ids remembered at once; beyond it the oldest is let go.
const MOST: usize = 10_000;

struct Failures {
    number: u32,
    last: Timestamp,
    barred_until: Timestamp,
}

#[derive(Default)]
pub(super) struct Quarantine {
    /// Kept beside the map so that the usual case, no failures at all, costs one read.
    count: AtomicUsize,
    by_id: Mutex<HashMap<String, Failures>>,
}

impl Quarantine {
    /// Notes a failure and returns how many there have been lately.
    pub(super) fn failed(&self, id: &str, now: Timestamp) -> u32 {
        let mut by_id = self.lock();
        if by_id.len() >= MOST && !by_id.contains_key(id) {
            let oldest = by_id.iter().min_by_key(|(_, failures)| failures.last);
            if let Some(oldest) = oldest.map(|(id, _)| id.clone()) {
                by_id.remove(&oldest);
            }
        }
        let fresh = Failures { number: 0, last: now, barred_until: now };
        let failures = by_id.entry(id.to_owned()).or_insert(fresh);
        failures.number = failures.number.saturating_add(1);
        failures.last = now;
        let pause = if failures.number >= QUARANTINE_AFTER {
            QUARANTINE
        } else {
            FIRST_PAUSE * 2u32.pow(failures.number - 1)
        };
        failures.barred_until = now + pause;
        let failures = failures.number;
        self.count.store(by_id.len(), Relaxed);
        failures
    }

    /// Notes that the entity serves again.
    pub(super) fn recovered(&self, id: &str) {
        if self.count.load(Relaxed) > 0 {
            let mut by_id = self.lock();
            by_id.remove(id);
            self.count.store(by_id.len(), Relaxed);
        }
    }

    pub(super) fn is_barred(&self, id: &str, now: Timestamp) -> bool {
        self.count.load(Relaxed) > 0
            && self.lock().get(id).is_some_and(|failures| failures.barred_until > now)
    }

    /// Returns how many ids are in quarantine.
    pub(super) fn quarantined(&self) -> usize {
        self.lock().values().filter(|failures| failures.number >= QUARANTINE_AFTER).count()
    }

    /// Forgets what is long over.
    pub(super) fn tidy(&self, now: Timestamp) {
        if self.count.load(Relaxed) > 0 {
            let mut by_id = self.lock();
            by_id.retain(|_, failures| now.since(failures.last) < MEMORY);
            self.count.store(by_id.len(), Relaxed);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Failures>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_bars_longer_until_quarantine_and_recovery_clears_it() {
        let quarantine = Quarantine::default();
        let mut now = Timestamp::from_millis(1_000_000);
        assert!(!quarantine.is_barred("a", now));
        for pause in [50, 100, 200, 400, 60_000, 60_000] {
            quarantine.failed("a", now);
            assert!(quarantine.is_barred("a", now + Duration::from_millis(pause - 1)));
            now = now + Duration::from_millis(pause);
            assert!(!quarantine.is_barred("a", now));
        }
        assert_eq!(quarantine.quarantined(), 1);
        assert!(!quarantine.is_barred("b", now), "other entities are not barred");
        quarantine.recovered("a");
        assert_eq!(quarantine.failed("a", now), 1);
    }

    #[test]
    fn memory_of_troubles_is_bounded_in_number_and_time() {
        let quarantine = Quarantine::default();
        let now = Timestamp::from_millis(1_000_000);
        for number in 0..i64::try_from(MOST).unwrap() + 50 {
            quarantine.failed(&number.to_string(), Timestamp::from_millis(number));
        }
        assert_eq!(quarantine.count.load(Relaxed), MOST);
        quarantine.tidy(now + MEMORY);
        assert_eq!(quarantine.count.load(Relaxed), 0);
    }
}
