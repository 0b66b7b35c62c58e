//! Waits until a moment, to the microsecond: the runtime's own timer counts milliseconds.

use crate::Outcome;
use rustix::{
    io::read,
    time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    },
};
use std::{os::fd::OwnedFd, time::Instant};
use tokio::io::{Interest, unix::AsyncFd};

/// A timer of the kernel, which costs nothing while it is waited for.
pub struct Alarm(AsyncFd<OwnedFd>);

impl Alarm {
    #[expect(
        deprecated,
        reason = "what replaces it is unsafe; an OwnedFd stays open, and the same"
    )]
    pub fn new() -> Outcome<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Self(AsyncFd::with_interest(timer, Interest::READABLE)?))
    }

    /// Waits until then; returns at once where that is over.
    pub async fn until(&self, then: Instant) -> Outcome<()> {
        let left = then.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        let once =
            Itimerspec { it_interval: Timespec::default(), it_value: Timespec::try_from(left)? };
        timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &once)?;
        loop {
            let mut ready = self.0.readable().await?;
            let mut expirations = [0; 8];
            let expired =
                ready.try_io(|timer| Ok(read(timer.get_ref(), &mut expirations).map(drop)?));
            // What was ready may have been the alarm before.
            if let Ok(expired) = expired {
                return Ok(expired?);
            }
        }
    }
}
