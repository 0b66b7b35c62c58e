//! The rate limit of wrong user codes from all accounts together, on this node.
//!
//! Each account has a pace of its own, which is kept in the store. This one is for an attacker with
//! very many accounts. Only wrong codes are counted, and only then is every code refused for a moment.

use crate::{
    domain::{Rate, Timestamp},
    http::answer::retry_after::RetryAfter,
};
use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// An account makes ten at once and then ten an hour: a thousand accounts do not use this up.
const RATE: Rate = Rate { burst: 500, refill: Duration::from_millis(200) };

pub struct UserCodeGuesses {
    enabled: bool,
    /// When the whole allowance will have come back.
    full_at: Mutex<Timestamp>,
}

impl UserCodeGuesses {
    pub fn new(enabled: bool) -> Self {
        Self { enabled, full_at: Mutex::new(Timestamp::NEVER) }
    }

    /// Lets a code be judged, or says how long that must wait.
    pub fn check(&self, now: Timestamp) -> Result<(), RetryAfter> {
        if !self.enabled {
            return Ok(());
        }
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        // No more is owed than the whole: a clock that was set back stops no caller for longer.
        *full_at = (*full_at).min(now + RATE.whole());
        RATE.take(*full_at, now).map(drop).map_err(|retry_at| RetryAfter::until(retry_at, now))
    }

    /// Counts a code that was wrong.
    pub fn count(&self, now: Timestamp) {
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        *full_at = RATE.take(*full_at, now).unwrap_or(*full_at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    #[test]
    fn very_many_wrong_codes_of_all_accounts_stop_all_of_them_for_a_moment() {
        let guesses = UserCodeGuesses::new(true);
        for _ in 0..RATE.burst {
            assert!(guesses.check(NOW).is_ok());
            guesses.count(NOW);
        }
        assert_eq!(guesses.check(NOW).unwrap_err().seconds(), 1);
        assert!(guesses.check(NOW + RATE.refill).is_ok());
        assert!(guesses.check(NOW + RATE.refill).is_ok(), "to look is not counted");
        let off = UserCodeGuesses::new(false);
        for _ in 0..2 * RATE.burst {
            off.count(NOW);
        }
        assert!(off.check(NOW).is_ok());
    }
}
