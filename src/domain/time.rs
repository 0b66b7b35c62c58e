//! Points in time as the store keeps them: milliseconds since 1970, UTC.

use serde::{Deserialize, Serialize};
use std::time::Duration;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

/// RFC 3339 has four digits for a year, so this is the last time that it can write.
const LAST: &str = "9999-12-31T23:59:59Z";

/// Nodes' clocks may differ by this much: nothing is forgotten before it is over for all of them.
pub(super) const CLOCK_SKEW: Duration = Duration::from_mins(5);

/// A point in time; the only form in which time enters a rule.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Before everything; as an end of life it means "already over".
    pub const NEVER: Self = Self(0);
    /// After everything; as an end of life it means "until something happens".
    pub const FOREVER: Self = Self(i64::MAX);

    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Reads a time as tokens count it.
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1_000))
    }

    /// Returns whole seconds since 1970, as tokens count time.
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    /// Writes it as RFC 3339 has it, in UTC, to the second.
    pub fn rfc3339(self) -> String {
        let at = OffsetDateTime::from_unix_timestamp(self.seconds()).ok();
        at.and_then(|at| at.format(&Rfc3339).ok()).unwrap_or_else(|| LAST.to_owned())
    }

    /// Reads a time as RFC 3339 writes it; a fraction of a second is kept to the millisecond.
    pub fn from_rfc3339(text: &str) -> Option<Self> {
        let at = OffsetDateTime::parse(text, &Rfc3339).ok()?;
        i64::try_from(at.unix_timestamp_nanos() / 1_000_000).ok().map(Self::from_millis)
    }

    /// Returns the end of the hour in which it lies.
    pub const fn end_of_hour(self) -> Self {
        const HOUR: i64 = 3_600_000;
        Self(self.0.div_euclid(HOUR).saturating_add(1).saturating_mul(HOUR))
    }

    /// Returns the time since `earlier`, or nothing where `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        let millis = self.0.saturating_sub(earlier.0);
        Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    }
}

impl std::ops::Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, after: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(after.as_millis()).unwrap_or(i64::MAX)))
    }
}

impl std::ops::Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, before: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(before.as_millis()).unwrap_or(i64::MAX)))
    }
}

/// Tells the time.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;

    /// Returns the time since some moment in the past, which never goes back: for how old a value in memory is.
    fn monotonic(&self) -> Duration;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_ends_after_everything_that_lies_in_it() {
        let hour = |millis| Timestamp::from_millis(millis).end_of_hour().millis();
        assert_eq!([hour(0), hour(3_599_999), hour(3_600_000)], [3_600_000, 3_600_000, 7_200_000]);
        assert_eq!(Timestamp::FOREVER.end_of_hour(), Timestamp::FOREVER);
    }

    #[test]
    fn arithmetic_stops_at_the_ends_instead_of_wrapping() {
        assert_eq!(Timestamp::FOREVER + Duration::from_secs(1), Timestamp::FOREVER);
        assert_eq!(Timestamp::NEVER.since(Timestamp::FOREVER), Duration::ZERO);
        assert_eq!(
            Timestamp::from_millis(1_500).since(Timestamp::from_millis(500)),
            Duration::from_secs(1)
        );
    }
}
