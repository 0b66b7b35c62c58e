//! A rate limit, how often something may be done: some of it at once, and then one by one.

use super::Timestamp;
use std::time::Duration;

/// So many at once, and one more after each `refill`, to the millisecond; zero sets no limit.
///
/// All that is remembered is when the whole allowance will have come back. In any window of time
/// `t` no more than `burst + t / refill` are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub burst: u32,
    pub refill: Duration,
}

impl Rate {
    /// The time in which all of the allowance comes back.
    pub fn whole(&self) -> Duration {
        self.refill.saturating_mul(self.burst)
    }

    /// Takes one of what will be whole at `full_at` and says when it will then be whole; or, if none
    /// is left, when there will be one.
    pub fn take(&self, full_at: Timestamp, now: Timestamp) -> Result<Timestamp, Timestamp> {
        let full_at = full_at.max(now) + self.refill;
        let retry_at = full_at - self.whole();
        if retry_at > now { Err(retry_at) } else { Ok(full_at) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_are_taken_at_once_and_then_one_by_one() {
        let rate = Rate { burst: 2, refill: Duration::from_secs(1) };
        let at = |millis: i64| Timestamp::from_millis(1_000_000 + millis);
        assert_eq!(rate.take(at(-5_000), at(0)), Ok(at(1_000)));
        assert_eq!(rate.take(at(1_000), at(0)), Ok(at(2_000)));
        assert_eq!(rate.take(at(2_000), at(0)), Err(at(1_000)));
        assert_eq!(rate.take(at(2_000), at(999)), Err(at(1_000)));
        assert_eq!(rate.take(at(2_000), at(1_000)), Ok(at(3_000)));
        let unlimited = Rate { refill: Duration::ZERO, ..rate };
        assert_eq!(unlimited.take(at(0), at(0)), Ok(at(0)));
    }
}
