//! Numbers of JSON, compared without rounding.

use serde_json::{Number, Value};
use std::cmp::Ordering;

/// Up to here a floating-point number is as exact as a whole one.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Compares two numbers; those that cannot be compared exactly are not compared.
pub fn compare(one: &Number, other: &Number) -> Option<Ordering> {
    if let (Some(one), Some(other)) = (one.as_i128(), other.as_i128()) {
        return Some(one.cmp(&other));
    }
    let exact = |number: &Number| number.as_f64().filter(|value| value.abs() <= EXACT);
    exact(one)?.partial_cmp(&exact(other)?)
}

/// Tells whether an amount is at most another: both numbers, or both decimals in text as in `"12.50"`.
pub fn is_at_most(amount: &Value, most: &Value) -> bool {
    let order = match (amount, most) {
        (Value::Number(amount), Value::Number(most)) => compare(amount, most),
        (Value::String(amount), Value::String(most)) => {
            decimal(amount).zip(decimal(most)).map(|(amount, most)| amount.cmp(&most))
        }
        _ => None,
    };
    order.is_some_and(Ordering::is_le)
}

/// A decimal without a sign: how many digits stand before the point, which, and those after it.
type Decimal<'a> = (usize, &'a str, &'a str);

/// Returns the digits before the point and those after it.
pub(super) fn digits(text: &str) -> Option<(&str, &str)> {
    let (whole, fraction) = match text.split_once('.') {
        Some((_, "")) => return None,
        Some(parts) => parts,
        None => (text, ""),
    };
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    (!whole.is_empty() && digits(whole) && digits(fraction)).then_some((whole, fraction))
}

fn decimal(text: &str) -> Option<Decimal<'_>> {
    let (whole, fraction) = digits(text)?;
    let whole = whole.trim_start_matches('0');
    Some((whole.len(), whole, fraction.trim_end_matches('0')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn amounts_are_compared_exactly() {
        for (amount, most, is) in [
            (json!(1), json!(2), true),
            (json!(2), json!(2), true),
            (json!(3), json!(2), false),
            (json!(1.5), json!(2), true),
            (json!(2.5), json!(2), false),
            (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992_u64), false),
            (json!(9_007_199_254_740_993_u64), json!(1e300), false),
            (json!(-1), json!(0), true),
            (json!("12.50"), json!("12.5"), true),
            (json!("12.51"), json!("12.5"), false),
            (json!("9"), json!("10"), true),
            (json!("0010"), json!("9.99"), false),
            (json!("0.1"), json!("0.09"), false),
            (json!("1"), json!(2), false),
            (json!("-1"), json!("2"), false),
            (json!("1e0"), json!("2"), false),
            (json!(".5"), json!("2"), false),
            (json!("1."), json!("2"), false),
            (json!(""), json!("2"), false),
            (json!(null), json!(2), false),
        ] {
            assert_eq!(is_at_most(&amount, &most), is, "{amount} {most}");
        }
    }
}
