//! The rate limit of polls, by which devices ask whether they were decided on (RFC 8628 §3.5), as this node sees it.
//!
//! It is kept in memory alone: a poll writes nothing. Only what waits is paced; what was decided is
//! answered at any pace (contract §5).

use crate::{domain::Timestamp, rate_limiter::evict};
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// How long a device waits between two polls.
pub const INTERVAL: Duration = Duration::from_secs(5);
/// By how much the interval grows with each poll that comes too early.
const MORE: Duration = Duration::from_secs(5);
/// It grows no further.
const LONGEST: Duration = Duration::from_mins(1);
/// A device that keeps to the interval may seem this much early: networks are not even.
const JITTER: Duration = Duration::from_millis(500);
/// How many are remembered: a few megabytes at most.
const MOST: usize = 65_536;

/// When each device code was last asked for.
#[derive(Default)]
pub struct Polls(Mutex<HashMap<String, Poll>>);

#[derive(Clone, Copy)]
struct Poll {
    at: Timestamp,
    interval: Duration,
}

impl Polls {
    /// Notes a poll, and tells whether it came early.
    pub fn is_early(&self, id: &str, now: Timestamp) -> bool {
        let mut polls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if polls.len() >= MOST && !polls.contains_key(id) {
            // After the longest interval no poll is early.
            evict(&mut polls, MOST, now, |poll| poll.at + LONGEST);
        }
        let Some(poll) = polls.get_mut(id) else {
            polls.insert(id.to_owned(), Poll { at: now, interval: INTERVAL });
            return false;
        };
        let early = now.since(poll.at) + JITTER < poll.interval;
        if early {
            poll.interval = (poll.interval + MORE).min(LONGEST);
        }
        poll.at = now;
        early
    }

    /// Forgets a device code that was decided.
    pub fn forget(&self, id: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn after(seconds: u64) -> Timestamp {
        NOW + Duration::from_secs(seconds)
    }

    #[test]
    fn a_poll_that_comes_early_makes_the_interval_longer() {
        let polls = Polls::default();
        assert!(!polls.is_early("one", NOW), "the first is never early");
        assert!(
            !polls.is_early("one", NOW + Duration::from_millis(4_600)),
            "networks are not even"
        );
        assert!(!polls.is_early("one", after(10)));
        assert!(polls.is_early("one", after(12)));
        assert!(polls.is_early("one", after(18)), "it is ten seconds now");
        assert!(!polls.is_early("one", after(33)), "and now fifteen");
        assert!(!polls.is_early("other", after(33)));
        polls.forget("one");
        assert!(!polls.is_early("one", after(33)));
    }

    #[test]
    fn the_interval_grows_to_a_minute_and_no_further() {
        let polls = Polls::default();
        for _ in 0..100 {
            polls.is_early("one", NOW);
        }
        assert!(!polls.is_early("one", after(60)));
    }

    #[test]
    fn codes_without_number_take_no_more_memory() {
        let polls = Polls::default();
        for number in 0..2 * MOST + 10 {
            polls.is_early(&number.to_string(), NOW);
        }
        assert!(polls.0.lock().unwrap().len() <= MOST);
        for number in 0..MOST + 10 {
            polls.is_early(&format!("later {number}"), NOW + Duration::from_millis(1));
        }
        assert!(polls.0.lock().unwrap().len() <= MOST);
    }
}
