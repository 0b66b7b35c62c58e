//! Times as documents show them: RFC 3339, in UTC.

use crate::domain::Timestamp;

/// Writes a time, to the second.
pub fn rfc3339(at: Timestamp) -> String {
    at.rfc3339()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAST: &str = "9999-12-31T23:59:59Z";

    #[test]
    fn times_are_written_as_the_standard_has_them() {
        for (seconds, written) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_800_000_000, "2027-01-15T08:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (253_402_300_799, LAST),
            (253_402_300_800, LAST),
        ] {
            assert_eq!(rfc3339(Timestamp::from_millis(seconds * 1_000)), written);
        }
        assert_eq!(rfc3339(Timestamp::FOREVER), LAST);
    }

    #[test]
    fn what_is_written_is_read_and_nothing_else_is() {
        let at = Timestamp::from_millis(1_800_000_000_000);
        assert_eq!(Timestamp::from_rfc3339(&rfc3339(at)), Some(at));
        assert_eq!(
            Timestamp::from_rfc3339("2027-01-15T09:00:00.5+01:00").map(Timestamp::seconds),
            Some(at.seconds())
        );
        for bad in ["", "yesterday", "2027-01-15", "2027-01-15 08:00:00", "2027-13-01T00:00:00Z"] {
            assert_eq!(Timestamp::from_rfc3339(bad), None, "{bad}");
        }
    }

    #[test]
    fn times_are_read_as_the_standard_has_them() {
        for (written, millis) in [
            ("2027-01-15T08:00:00Z", 1_800_000_000_000),
            ("2027-01-15T09:00:00+01:00", 1_800_000_000_000),
            ("2027-01-15T08:00:00.25Z", 1_800_000_000_250),
        ] {
            assert_eq!(Timestamp::from_rfc3339(written), Some(Timestamp::from_millis(millis)));
        }
        for wrong in ["", "2027-01-15", "2027-01-15T08:00:00", "2027-13-01T00:00:00Z", "now"] {
            assert_eq!(Timestamp::from_rfc3339(wrong), None, "{wrong}");
        }
    }
}
