//! How long a connection is waited for.
//!
//! Arming a timer for every head would cost each request; instead one timer beats a few times per
//! limit and looks whether the [`ConnectionState`] still waits for the same thing. What lasts a limit is
//! therefore noticed at the limit or at most one beat after it: on a fresh connection, whose
//! waiting begins with the timer, exactly at it.

use super::{
    ConnectionLimits,
    connection_state::{AwaitedEvent, ConnectionState, OLDEST, Version},
};
use std::{pin::Pin, time::Duration};
use tokio::time::{Sleep, sleep};

/// How often the timer beats while a head may take its time.
const BEATS: u32 = 8;

pub(super) struct Timeouts {
    interval: Duration,
    idle_beats: u32,
    /// After how many beats requests grow older.
    beats_per_age: u32,
    timer: Pin<Box<Sleep>>,
    changes: u64,
    /// For how many beats nothing has changed.
    beats: u32,
    /// How many beats this age has lasted.
    age: u32,
}

impl Timeouts {
    pub(super) fn new(limits: &ConnectionLimits) -> Self {
        let interval = (limits.header_read / BEATS).max(Duration::from_millis(1));
        let beats = |limit: Duration| {
            u32::try_from(limit.as_nanos().div_ceil(interval.as_nanos())).unwrap_or(u32::MAX)
        };
        Self {
            interval,
            idle_beats: beats(limits.idle),
            beats_per_age: beats(limits.answer).div_ceil(OLDEST),
            timer: Box::pin(sleep(interval)),
            changes: 0,
            beats: 0,
            age: 0,
        }
    }

    /// Waits until the other side has taken too long; may be given up and begun anew.
    pub(super) async fn run_out(&mut self, connection_state: &ConnectionState, version: Version) {
        loop {
            self.timer.as_mut().await;
            // Counted from now and not from when it was due: after a stall no beats are made up.
            self.timer.set(sleep(self.interval));
            let changes = connection_state.changes();
            self.beats = if changes == self.changes { self.beats.saturating_add(1) } else { 0 };
            self.changes = changes;
            self.age += 1;
            if self.age >= self.beats_per_age {
                self.age = 0;
                // A client that does not take its answer must not keep a permit for it.
                if connection_state.grow_older() {
                    return;
                }
            }
            let limit = match connection_state.awaiting(version) {
                AwaitedEvent::Answer => continue,
                AwaitedEvent::Head => BEATS,
                AwaitedEvent::Request => self.idle_beats,
            };
            if self.beats >= limit {
                return;
            }
        }
    }
}
