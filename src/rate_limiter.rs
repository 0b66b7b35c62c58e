//! A rate limiter for many keys (token buckets), in bounded memory.

use crate::domain::{Rate, Timestamp};
use std::{collections::HashMap, hash::Hash};

/// How many keys are remembered: a few megabytes at most.
const MOST: usize = 65_536;

/// When the allowance of each key will be whole again; a key whose allowance is whole is not kept.
pub struct RateLimiter<K> {
    full_at: HashMap<K, Timestamp>,
}

impl<K> Default for RateLimiter<K> {
    fn default() -> Self {
        Self { full_at: HashMap::new() }
    }
}

impl<K: Eq + Hash> RateLimiter<K> {
    /// Takes one of what a key is allowed, or says when there will be one.
    pub fn take(&mut self, key: K, rate: Rate, now: Timestamp) -> Result<(), Timestamp> {
        if self.full_at.len() >= MOST && !self.full_at.contains_key(&key) {
            self.forget(now);
        }
        let held = self.full_at.get(&key).copied();
        // No more is owed than the whole: a clock that was set back stops no caller for longer.
        let full_at = held.unwrap_or(now).min(now + rate.whole());
        let taken = rate.take(full_at, now);
        self.full_at.insert(key, taken.unwrap_or(full_at));
        taken.map(drop)
    }

    /// Forgets the keys that owe nothing, and if that is not half of them, those that owe the least.
    fn forget(&mut self, now: Timestamp) {
        self.full_at.retain(|_, full_at| *full_at > now);
        if self.full_at.len() > MOST / 2 {
            let mut owed: Vec<Timestamp> = self.full_at.values().copied().collect();
            let middle = owed.len() / 2;
            let (_, middle, _) = owed.select_nth_unstable(middle);
            self.full_at.retain(|_, full_at| *full_at > *middle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
    const RATE: Rate = Rate { burst: 3, refill: Duration::from_secs(10) };

    fn at_once(limiter: &mut RateLimiter<usize>, key: usize, now: Timestamp) -> usize {
        (0..10).take_while(|_| limiter.take(key, RATE, now).is_ok()).count()
    }

    #[test]
    fn each_key_has_a_burst_and_then_a_rate() {
        let mut limiter = RateLimiter::default();
        assert_eq!(at_once(&mut limiter, 1, NOW), 3);
        assert_eq!(limiter.take(1, RATE, NOW), Err(NOW + RATE.refill));
        assert_eq!(at_once(&mut limiter, 1, NOW + RATE.refill), 1);
        assert_eq!(at_once(&mut limiter, 2, NOW), 3);
        let before = NOW - Duration::from_hours(24);
        assert_eq!(at_once(&mut limiter, 1, before), 0);
        assert_eq!(at_once(&mut limiter, 1, before + RATE.refill), 1, "a clock set back");
    }

    #[test]
    fn keys_without_number_take_no_more_memory_and_do_not_free_those_that_owe_most() {
        let mut limiter = RateLimiter::default();
        assert_eq!(at_once(&mut limiter, usize::MAX, NOW), 3);
        for key in 0..3 * MOST {
            assert!(limiter.take(key, RATE, NOW).is_ok());
        }
        assert!(limiter.full_at.len() <= MOST);
        assert_eq!(at_once(&mut limiter, usize::MAX, NOW), 0);
        let later = NOW + RATE.whole();
        limiter.take(3 * MOST, RATE, later).unwrap();
        for key in 0..MOST {
            limiter.take(key, RATE, later).unwrap();
        }
        assert!(limiter.full_at.len() <= MOST, "{}", limiter.full_at.len());
    }
}
