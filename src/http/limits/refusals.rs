//! A rate limit of records, how often the same refusal is written into a trail: once a minute, with how often it was in between.
//!
//! A caller with a good token can be refused as fast as it asks. What is counted here is of this node
//! and in memory: the first refusal is always written, and what a node has counted when it stops is lost.

use crate::domain::Timestamp;
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// How often one is written.
const EVERY: Duration = Duration::from_mins(1);

/// So many are told apart; beyond them every refusal is written.
const MOST: usize = 10_000;

/// What makes two refusals the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RefusalKey {
    /// The slug of the organization in whose trail it is written.
    pub organization: String,
    /// Who acted.
    pub caller: String,
    pub operation: &'static str,
    pub code: &'static str,
}

/// Since when a refusal is only counted, and how often it was.
struct RefusalCount {
    written_at: Timestamp,
    since: u64,
}

#[derive(Default)]
pub struct Refusals(Mutex<HashMap<RefusalKey, RefusalCount>>);

impl Refusals {
    /// Returns how often a refusal was only counted since it was last written, if it is to be written
    /// now; `None` where it is counted.
    pub fn count(&self, refused: RefusalKey, now: Timestamp) -> Option<u64> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(counted) = all.get_mut(&refused) {
            // A clock that was set back writes at once.
            let is_recent = counted.written_at <= now && now.since(counted.written_at) < EVERY;
            if is_recent {
                counted.since += 1;
                return None;
            }
            let since = counted.since;
            *counted = RefusalCount { written_at: now, since: 0 };
            return Some(since);
        }
        if all.len() >= MOST {
            all.retain(|_, one| now.since(one.written_at) < EVERY);
        }
        if all.len() < MOST {
            all.insert(refused, RefusalCount { written_at: now, since: 0 });
        }
        Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(caller: &str) -> RefusalKey {
        RefusalKey {
            organization: "acme".to_owned(),
            caller: caller.to_owned(),
            operation: "getRole",
            code: "permission_required",
        }
    }

    #[test]
    fn the_same_refusal_is_written_once_a_minute_with_how_often_it_was() {
        let (refusals, start) = (Refusals::default(), Timestamp::from_millis(1_000_000));
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(refusals.count(refused("a"), start), Some(0));
        for second in 0..60 {
            assert_eq!(refusals.count(refused("a"), after(second)), None);
        }
        assert_eq!(refusals.count(refused("b"), after(1)), Some(0), "another caller");
        let other = RefusalKey { code: "other_organization", ..refused("a") };
        assert_eq!(refusals.count(other, after(1)), Some(0), "another code");
        assert_eq!(refusals.count(refused("a"), after(60)), Some(60));
        assert_eq!(refusals.count(refused("a"), after(61)), None);
        assert_eq!(refusals.count(refused("a"), after(200)), Some(1));
    }

    #[test]
    fn what_is_remembered_is_bounded_and_what_is_not_remembered_is_written() {
        let (refusals, start) = (Refusals::default(), Timestamp::from_millis(1_000_000));
        for caller in 0..MOST {
            assert_eq!(refusals.count(refused(&caller.to_string()), start), Some(0));
        }
        for _ in 0..2 {
            assert_eq!(refusals.count(refused("more"), start), Some(0));
        }
        assert_eq!(refusals.count(refused("more"), start + EVERY), Some(0));
        assert_eq!(refusals.0.lock().unwrap().len(), 1, "what is over is forgotten");
    }
}
