//! The hours of a day in which people are not written to.

use super::Timestamp;

const HOUR: i64 = 60 * 60;

/// Whole hours of a day, UTC: from one until before another, over midnight where the second is earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuietHours {
    from: i64,
    until: i64,
}

impl QuietHours {
    /// Reads hours such as `22-7`; `None` where they are none.
    pub fn parse(text: &str) -> Option<Self> {
        let (from, until) = text.split_once('-')?;
        let hour = |text: &str| {
            let digits = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
            text.parse().ok().filter(|hour| digits && (0..24).contains(hour))
        };
        let hours = Self { from: hour(from)?, until: hour(until)? };
        (hours.from != hours.until).then_some(hours)
    }

    /// Tells whether it is one of them.
    pub fn contain(self, now: Timestamp) -> bool {
        let hour = now.seconds().rem_euclid(24 * HOUR) / HOUR;
        if self.from < self.until {
            (self.from..self.until).contains(&hour)
        } else {
            hour >= self.from || hour < self.until
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_read_and_may_go_over_midnight() {
        let at = |hour: i64| Timestamp::from_seconds(20_000 * 24 * HOUR + hour * HOUR + 1_800);
        let quiet = |text: &str| {
            let hours = QuietHours::parse(text).unwrap();
            (0..24).filter(|hour| hours.contain(at(*hour))).collect::<Vec<i64>>()
        };
        assert_eq!(quiet("22-2"), [0, 1, 22, 23]);
        assert_eq!((quiet("1-3"), quiet("23-0")), (vec![1, 2], vec![23]));
        for bad in ["", "22", "22-22", "24-1", "-1-2", "a-b", "022-1", "1-2-3", " 1-2"] {
            assert_eq!(QuietHours::parse(bad), None, "{bad}");
        }
    }
}
