//! The hash by which leaked passwords are listed, and a line of such a list.

use crate::domain::password::Password;
use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use zeroize::Zeroizing;

/// How many hexadecimal digits a hash has.
pub(super) const DIGITS: usize = 40;

/// How many of them a server is told.
pub(super) const PREFIX: usize = 5;

/// The longest count in a line: no list has more leaks than this has digits.
const LONGEST_COUNT: usize = 19;

/// The longest line: a hash, a count, and how the line ends.
pub(super) const LONGEST_LINE: usize = DIGITS + 1 + LONGEST_COUNT + 2;

/// The SHA-1 of a password in upper-case digits; it is quickly guessed back, so it is as secret.
pub(super) struct Digest(Zeroizing<[u8; DIGITS]>);

impl Digest {
    pub(super) fn of(password: &Password) -> Self {
        const HEX: [u8; 16] = *b"0123456789ABCDEF";
        let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, password.expose());
        let mut digits = Zeroizing::new([0; DIGITS]);
        for (pair, byte) in digits.chunks_exact_mut(2).zip(hash.as_ref()) {
            pair[0] = HEX[usize::from(byte >> 4)];
            pair[1] = HEX[usize::from(byte & 15)];
        }
        Self(digits)
    }

    /// What a server is told.
    pub(super) fn prefix(&self) -> &str {
        str::from_utf8(&self.0[..PREFIX]).unwrap_or_default()
    }

    /// What a server is not told.
    pub(super) fn suffix(&self) -> &[u8] {
        &self.0[PREFIX..]
    }

    pub(super) fn digits(&self) -> &[u8; DIGITS] {
        &self.0
    }
}

/// A line of a list: the digits of a hash, in upper case, and whether it stands for a leak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<const N: usize> {
    pub(super) digits: [u8; N],
    /// A line that was seen zero times is padding, which hides how long an answer is.
    pub(super) leaked: bool,
}

impl<const N: usize> Line<N> {
    /// Reads `DIGITS`, or `DIGITS:COUNT`, without the end of the line.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let (digits, count) = text.split_at_checked(N)?;
        let mut digits: [u8; N] = digits.try_into().ok()?;
        if !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        digits.make_ascii_uppercase();
        let leaked = match count {
            [] => true,
            [b':', count @ ..]
                if (1..=LONGEST_COUNT).contains(&count.len())
                    && count.iter().all(u8::is_ascii_digit) =>
            {
                count.iter().any(|digit| *digit != b'0')
            }
            _ => return None,
        };
        Some(Self { digits, leaked })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_has_the_digest_that_lists_have() {
        let digest = Digest::of(&Password::read("password").unwrap());
        assert_eq!(digest.digits(), b"5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8");
        assert_eq!(digest.prefix(), "5BAA6");
        assert_eq!(digest.suffix(), b"1E4C9B93F3F0682250B6CF8331B7EE68FD8");
    }

    #[test]
    fn a_line_is_digits_and_perhaps_a_count() {
        let line = |text: &str| Line::<4>::parse(text.as_bytes()).map(|it| (it.digits, it.leaked));
        assert_eq!(line("0aF9"), Some((*b"0AF9", true)));
        assert_eq!(line("0AF9:12"), Some((*b"0AF9", true)));
        assert_eq!(line("0AF9:0"), Some((*b"0AF9", false)));
        assert_eq!(line("0AF9:000"), Some((*b"0AF9", false)));
        assert_eq!(line("0AF9:010"), Some((*b"0AF9", true)));
        for bad in ["", "0AF", "0AG9", "0AF9 ", "0AF9:", "0AF9:x", "0AF9:-1", "0AF91", "é\u{e9}F9"]
        {
            assert_eq!(line(bad), None, "{bad:?}");
        }
        assert_eq!(line(&format!("0AF9:{}", "9".repeat(19))), Some((*b"0AF9", true)));
        assert_eq!(line(&format!("0AF9:{}", "9".repeat(20))), None);
    }
}
