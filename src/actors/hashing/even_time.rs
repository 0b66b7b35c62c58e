//! How long a wrong password takes: the same, whatever hash it was compared with.
//!
//! A hash that was imported may cost less than ours, or more. What comes of comparing with it is told
//! no sooner than the dearest of them would take on this machine, as it is now (adr/0040).

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// How much longer than ours the dearest hash takes that can be imported: seven times the work
/// (`PasswordCost::MOST_WORK`), and twice that because its memory fits into no cache.
const DEAREST: u32 = 14;

/// No wrong password takes longer for this reason: a machine that is as slow has other cares.
const LONGEST: Duration = Duration::from_secs(2);

/// What a hash at our own cost takes, learnt from those that are computed.
#[derive(Default)]
pub(super) struct EvenTime {
    /// A moving average in nanoseconds; zero until the first is computed.
    ours: AtomicU64,
}

impl EvenTime {
    pub(super) fn is_known(&self) -> bool {
        self.ours.load(Ordering::Relaxed) > 0
    }

    /// Takes in how long a hash at our own cost took.
    pub(super) fn learn(&self, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX).max(1);
        let before = self.ours.load(Ordering::Relaxed);
        let average = if before == 0 { took } else { before - before / 8 + took / 8 };
        // Of two that learn at once one is not heard, and the next one is.
        self.ours.store(average.max(1), Ordering::Relaxed);
    }

    /// How long after it was begun a comparison that failed is told.
    pub(super) fn wrong_after(&self) -> Duration {
        let ours = Duration::from_nanos(self.ours.load(Ordering::Relaxed));
        ours.saturating_mul(DEAREST).min(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::password::PasswordCost;

    #[test]
    fn the_dearest_hash_that_can_be_imported_is_done_in_time() {
        let PasswordCost { memory, passes, .. } = PasswordCost::default();
        let ours = u64::from(memory) * u64::from(passes);
        assert!(2 * PasswordCost::MOST_WORK <= ours * u64::from(DEAREST));
    }

    #[test]
    fn it_follows_the_machine_and_is_bounded() {
        let even = EvenTime::default();
        assert!(!even.is_known() && even.wrong_after() == Duration::ZERO);
        even.learn(Duration::from_millis(20));
        assert_eq!(even.wrong_after(), Duration::from_millis(280));
        for _ in 0..100 {
            even.learn(Duration::from_millis(40));
        }
        let after = even.wrong_after();
        assert!(after > Duration::from_millis(550) && after <= Duration::from_millis(560));
        even.learn(Duration::MAX);
        assert_eq!(even.wrong_after(), LONGEST);
    }
}
