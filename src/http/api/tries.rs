//! How often an operation is decided while other changes come between.

use crate::clock::Stopwatch;
use std::time::Duration;

/// How often an operation is decided while other changes come between.
const TRIES: usize = 4;

/// After this time it is not decided again: with the last try it is less than the time that a request has.
const LONGEST: Duration = Duration::from_secs(5);

/// The tries of one operation.
pub struct Tries {
    made: usize,
    since: Stopwatch,
}

impl Tries {
    pub fn start() -> Self {
        Self { made: 0, since: Stopwatch::start() }
    }

    /// Counts a try, and tells whether the operation is to be decided again: only where another change came between.
    pub fn go_on_if(&mut self, is_conflict: bool) -> bool {
        self.made += 1;
        is_conflict && self.made < TRIES && self.since.elapsed() <= LONGEST
    }
}
