//! One-time codes of an authenticator application (RFC 6238), as all of them make them: SHA-1, six
//! digits, thirty seconds.

use crate::domain::{Secret, Timestamp};
use totp_rs::{Algorithm, Builder, Secret as Shared};

const DIGITS: u8 = 6;
/// RFC 6238 §5.2: one step of delay is borne, and one of a clock that is fast.
const SKEW: u16 = 1;
const STEP: u64 = 30;

/// Returns the time step for which `code` is the right one; the caller accepts each step once.
pub fn matching_step(secret: &Secret, code: &str, now: Timestamp) -> Option<u64> {
    let code = code.trim();
    if code.len() != usize::from(DIGITS) || !code.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let seconds = u64::try_from(now.seconds()).ok()?;
    // Secrets from elsewhere may be shorter than the standard recommends.
    let totp = Builder::new()
        .with_algorithm(Algorithm::SHA1)
        .with_digits(DIGITS)
        .with_skew(SKEW)
        .with_step_duration(STEP)
        .with_secret(Shared::new(secret.expose().into()))
        .build_noncompliant();
    totp.check(code, seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    #[test]
    fn the_codes_are_those_of_the_standard() {
        // RFC 6238, appendix B, the last six digits.
        let secret = Secret::new("12345678901234567890");
        for (seconds, code) in
            [(59, "287082"), (1_111_111_109, "081804"), (2_000_000_000, "279037")]
        {
            assert_eq!(
                matching_step(&secret, code, at(seconds)),
                Some(seconds.cast_unsigned() / 30)
            );
        }
    }

    #[test]
    fn one_step_early_or_late_is_borne_and_no_more() {
        let secret = Secret::new("12345678901234567890");
        for (seconds, good) in [(0, true), (30, true), (60, true), (89, true), (90, false)] {
            assert_eq!(matching_step(&secret, "287082", at(seconds)).is_some(), good, "{seconds}");
        }
    }

    #[test]
    fn what_is_not_six_digits_is_no_code() {
        let secret = Secret::new("12345678901234567890");
        for bad in ["", "28708", "2870822", "28708a", "+87082", "２８７０８２", "287 082"] {
            assert_eq!(matching_step(&secret, bad, at(59)), None, "{bad}");
        }
        assert!(matching_step(&secret, " 287082\n", at(59)).is_some(), "as it was pasted");
    }
}
