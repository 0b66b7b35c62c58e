//! The moment that a dateTime attribute names (RFC 7643 §2.3.5), for comparison.

/// Seconds since 1970 and nanoseconds within the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DateTime {
    seconds: i64,
    nanoseconds: u32,
}

impl DateTime {
    /// Reads `2011-05-13T04:42:34.5Z`. A text without a zone is in UTC.
    pub fn parse(text: &str) -> Option<Self> {
        let (year, rest) = take_number(text, 4)?;
        let (month, rest) = take_number(rest.strip_prefix('-')?, 2)?;
        let (day, rest) = take_number(rest.strip_prefix('-')?, 2)?;
        let (hour, rest) = take_number(rest.strip_prefix(['T', 't'])?, 2)?;
        let (minute, rest) = take_number(rest.strip_prefix(':')?, 2)?;
        let (second, rest) = take_number(rest.strip_prefix(':')?, 2)?;
        let (nanoseconds, rest) = take_fraction(rest)?;
        let offset = read_zone(rest)?;
        let fits = (1..=12).contains(&month)
            && (1..=days_of_month(year, month)).contains(&day)
            && hour <= 23
            && minute <= 59
            && second <= 60;
        let seconds =
            days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
                - offset;
        fits.then_some(Self { seconds, nanoseconds })
    }
}

fn take_number(text: &str, digits: usize) -> Option<(i64, &str)> {
    let (number, rest) = text.split_at_checked(digits)?;
    let all_digits = number.bytes().all(|byte| byte.is_ascii_digit());
    Some((number.parse().ok().filter(|_| all_digits)?, rest))
}

/// Reads the digits after the point, as nanoseconds; what is finer is left out.
fn take_fraction(text: &str) -> Option<(u32, &str)> {
    let Some(rest) = text.strip_prefix('.') else {
        return Some((0, text));
    };
    let length = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, after) = rest.split_at_checked(length).filter(|_| length > 0)?;
    let nine = digits.bytes().chain(std::iter::repeat(b'0')).take(9);
    Some((nine.fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0')), after))
}

/// Reads how many seconds a zone is ahead of UTC.
fn read_zone(text: &str) -> Option<i64> {
    let (sign, rest) = match text.split_at_checked(1) {
        None | Some(("Z" | "z", "")) => return Some(0),
        Some(("+", rest)) => (1, rest),
        Some(("-", rest)) => (-1, rest),
        Some(_) => return None,
    };
    let (hours, rest) = take_number(rest, 2)?;
    let (minutes, rest) = take_number(rest.strip_prefix(':')?, 2)?;
    let fits = rest.is_empty() && hours <= 23 && minutes <= 59;
    fits.then_some(sign * (hours * 3600 + minutes * 60))
}

fn is_leap(year: i64) -> bool {
    (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
}

fn days_of_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Counts the days from 1 January 1970 to this one; `year` is not negative.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let before = year - 1;
    let leap_days = before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400);
    let in_year: i64 = (1..month).map(|earlier| days_of_month(year, earlier)).sum();
    // 719,162 days lie between 1 January of year 1 and 1 January 1970.
    before * 365 + leap_days + in_year + day - 1 - 719_162
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> i64 {
        DateTime::parse(text).unwrap().seconds
    }

    #[test]
    fn a_moment_is_the_same_in_every_zone() {
        assert_eq!(seconds("1970-01-01T00:00:00Z"), 0);
        assert_eq!(seconds("2000-03-01T00:00:00Z"), 951_868_800);
        assert_eq!(seconds("2011-05-13T04:42:34Z"), 1_305_261_754);
        assert_eq!(seconds("2011-05-13T06:42:34+02:00"), seconds("2011-05-13T04:42:34Z"));
        assert_eq!(seconds("2011-05-12T23:42:34-05:00"), seconds("2011-05-13T04:42:34z"));
        assert_eq!(seconds("2011-05-13T04:42:34"), seconds("2011-05-13T04:42:34Z"));
        assert_eq!(seconds("0000-01-01T00:00:00Z"), -62_167_219_200);
    }

    #[test]
    fn fractions_are_compared() {
        let parse = |text: &str| DateTime::parse(text).unwrap();
        assert!(parse("2011-05-13T04:42:34.5Z") > parse("2011-05-13T04:42:34.499999999Z"));
        assert_eq!(parse("2011-05-13T04:42:34.50Z"), parse("2011-05-13T04:42:34.5000000000009Z"));
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in [
            "",
            "2011",
            "2011-05-13",
            "2011-13-01T00:00:00Z",
            "2011-02-29T00:00:00Z",
            "2011-05-13T24:00:00Z",
            "2011-05-13T04:42:34.Z",
            "2011-05-13T04:42:34+2:00",
            "2011-05-13T04:42:34Zx",
            "+011-05-13T04:42:34Z",
            "２０11-05-13T04:42:34Z",
            "2011-05-13T04:42:3é",
        ] {
            assert_eq!(DateTime::parse(text), None, "{text}");
        }
    }
}
