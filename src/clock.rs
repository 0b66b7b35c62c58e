//! The one place where a clock is read.

use crate::domain::{Clock, Timestamp};
use std::{
    sync::LazyLock,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// The wall clock of this machine.
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that the others are given")]
    fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
    }

    fn monotonic(&self) -> Duration {
        static FIRST_READING: LazyLock<Stopwatch> = LazyLock::new(Stopwatch::start);
        FIRST_READING.elapsed()
    }
}

/// Measures how long something took, for operators and for time limits.
///
/// No rule of the domain rests on it: what is stored or issued has its times from a [`Clock`].
#[derive(Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "this is the stopwatch that the others use")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
