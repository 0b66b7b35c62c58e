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

impl<K: Clone + Eq + Hash> RateLimiter<K> {
    /// Takes one of what a key is allowed, or says when there will be one.
    pub fn take(&mut self, key: K, rate: Rate, now: Timestamp) -> Result<(), Timestamp> {
        self.take_of_each(std::iter::once((key, rate)), now)
    }

    /// Takes one of what each key is allowed; or nothing of any, and says when each has one.
    pub fn take_of_each(
        &mut self,
        keys: impl Iterator<Item = (K, Rate)> + Clone,
        now: Timestamp,
    ) -> Result<(), Timestamp> {
        let mut retry_at = None;
        for (key, rate) in keys.clone() {
            let Some(full_at) = self.full_at.get_mut(&key) else { continue };
            // No more is owed than the whole: a clock that was set back stops no caller for longer.
            *full_at = (*full_at).min(now + rate.whole());
            retry_at = retry_at.max(rate.take(*full_at, now).err());
        }
        if let Some(retry_at) = retry_at {
            return Err(retry_at);
        }
        for (key, rate) in keys {
            if self.full_at.len() >= MOST && !self.full_at.contains_key(&key) {
                evict(&mut self.full_at, MOST, now, |full_at| *full_at);
            }
            let full_at = self.full_at.get(&key).copied().unwrap_or(now);
            self.full_at.insert(key, rate.take(full_at, now).unwrap_or(full_at));
        }
        Ok(())
    }
}

/// Makes room in a map that holds `most`: entries that are over go, and if that is not half of them, those that are over first.
pub fn evict<K: Eq + Hash, V>(
    map: &mut HashMap<K, V>,
    most: usize,
    now: Timestamp,
    over_at: impl Fn(&V) -> Timestamp,
) {
    map.retain(|_, value| over_at(value) > now);
    if map.len() > most / 2 {
        let mut times: Vec<Timestamp> = map.values().map(&over_at).collect();
        let middle = times.len() / 2;
        let (_, middle, _) = times.select_nth_unstable(middle);
        let middle = *middle;
        map.retain(|_, value| over_at(value) > middle);
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

    #[test]
    fn a_key_that_owes_nothing_is_forgotten_first() {
        let mut limiter = RateLimiter::default();
        for key in 0..MOST {
            limiter.take(key, RATE, NOW).unwrap();
        }
        limiter.take(MOST, RATE, NOW + RATE.refill).unwrap();
        assert_eq!(limiter.full_at.len(), 1);
    }

    #[test]
    fn where_one_key_has_none_left_nothing_is_taken_of_the_others() {
        let mut limiter = RateLimiter::default();
        assert_eq!(at_once(&mut limiter, 1, NOW), 3);
        let both = [(2, RATE), (1, RATE)];
        let retry_at = limiter.take_of_each(both.into_iter(), NOW).unwrap_err();
        assert_eq!(retry_at, NOW + RATE.refill);
        assert_eq!(at_once(&mut limiter, 2, NOW), 3);
    }
}
