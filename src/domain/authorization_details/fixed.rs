//! Amounts that are added up without rounding: whole numbers and decimals with at most six places.

use super::number::digits;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;
use std::fmt;

const PLACES: usize = 6;
const ONE: i128 = 1_000_000;

/// Digits before the point, at most.
const MOST_DIGITS: usize = 18;

/// An amount, which is never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fixed(i128);

impl Fixed {
    /// Reads a number of JSON, or a decimal in text as in `"12.50"`; what cannot be exact is none.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Self::parse(text),
            Value::Number(number) => Self::parse(&number.to_string()),
            _ => None,
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = digits(text)?;
        if whole.len() > MOST_DIGITS || fraction.len() > PLACES {
            return None;
        }
        let padded = format!("{fraction:0<PLACES$}");
        Some(Self(whole.parse::<i128>().ok()? * ONE + padded.parse::<i128>().ok()?))
    }

    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Fixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / ONE, self.0 % ONE);
        if rest == 0 {
            return write!(f, "{whole}");
        }
        let fraction = format!("{rest:0>PLACES$}");
        write!(f, "{whole}.{}", fraction.trim_end_matches('0'))
    }
}

impl Serialize for Fixed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fixed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("this is no amount"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn amounts_are_read_and_written_exactly() {
        for (value, text) in [
            (json!(5), "5"),
            (json!(12.5), "12.5"),
            (json!("12.50"), "12.5"),
            (json!("0.000001"), "0.000001"),
            (json!("007"), "7"),
        ] {
            assert_eq!(Fixed::of(&value).unwrap().to_string(), text);
        }
        for bad in [
            json!(-1),
            json!("-1"),
            json!("1e3"),
            json!(1e300),
            json!(""),
            json!("."),
            json!("1."),
            json!("0.0000001"),
            json!("9".repeat(19)),
            json!(null),
            json!(["1"]),
        ] {
            assert_eq!(Fixed::of(&bad), None, "{bad}");
        }
        let sum = Fixed::parse("0.1").unwrap().plus(Fixed::parse("0.2").unwrap());
        assert_eq!(sum, Fixed::parse("0.3").unwrap());
    }
}
