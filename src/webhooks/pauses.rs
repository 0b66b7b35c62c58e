//! How long an endpoint that fails is left alone, whatever waits for it.

use crate::domain::Timestamp;
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

const SHORTEST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_hours(4);

/// When each endpoint that fails is called again; those that work are not in it.
#[derive(Default)]
pub(super) struct Pauses(Mutex<HashMap<String, Timestamp>>);

impl Pauses {
    /// Returns how long an endpoint is left alone yet, if it is.
    pub(super) fn rest(&self, endpoint: &str, now: Timestamp) -> Option<Duration> {
        let ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = ends.get(endpoint).map(|end| end.since(now));
        rest.filter(|rest| !rest.is_zero())
    }

    /// Leaves an endpoint alone for as long as it has been failing.
    pub(super) fn begin(&self, endpoint: &str, since: Timestamp, now: Timestamp) -> Duration {
        let pause = now.since(since).clamp(SHORTEST, LONGEST);
        let mut ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What is over belongs to endpoints that are called again soon, or never.
        ends.retain(|_, end| *end > now);
        ends.insert(endpoint.to_owned(), now + pause);
        pause
    }

    /// Calls an endpoint again at once: it works.
    pub(super) fn end(&self, endpoint: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(endpoint);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_as_long_as_the_failing_and_ends_with_a_success() {
        let (pauses, start) = (Pauses::default(), Timestamp::from_millis(1_000_000));
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(pauses.rest("a", start), None);
        for (seconds, pause) in [(0, 5), (5, 5), (60, 60), (100_000, 4 * 3_600)] {
            let begun = pauses.begin("a", start, after(seconds));
            assert_eq!(begun, Duration::from_secs(pause), "{seconds}");
            let left = Duration::from_secs(pause - 1);
            assert_eq!(pauses.rest("a", after(seconds + 1)), Some(left));
            assert_eq!(pauses.rest("a", after(seconds + pause)), None);
        }
        assert_eq!(pauses.rest("b", after(100_000)), None, "another one is called");
        pauses.end("a");
        assert_eq!(pauses.rest("a", after(100_000)), None);
        pauses.begin("a", start, start);
        pauses.begin("b", start, after(6));
        assert_eq!(pauses.0.lock().unwrap().len(), 1, "what is over is not kept");
    }
}
