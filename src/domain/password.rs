//! Passwords as people choose them: one form in which they are hashed, one rule for a new one.
//!
//! A password is normalised (Unicode NFC) wherever it comes from, so that it is the same on a keyboard
//! that composes `é` and on one that does not. Length is the only rule of composition (adr/0039).

use super::Secret;
use unicode_normalization::{UnicodeNormalization as _, is_nfc};
use zeroize::Zeroizing;

/// No password has more characters: a sentence is shorter, and a file must not be hashed.
pub const LONGEST: usize = 1_024;

/// NFC makes a text three times as long at most, in bytes (Unicode Standard Annex 15).
const EXPANSION: usize = 3;

/// A password in the form in which it is hashed and compared; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Password(Secret);

/// What is wrong with a password; reads on from its name, and repeats nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("must not be empty")]
    Empty,
    #[error("must have at least {least} characters")]
    TooShort { least: usize },
    #[error("must have at most {LONGEST} characters")]
    TooLong,
}

impl Password {
    /// Reads a password that someone presents; what can be no password is refused.
    pub fn read(text: &str) -> Result<Self, Fault> {
        if text.is_empty() {
            return Err(Fault::Empty);
        }
        if text.chars().nth(LONGEST).is_some() {
            return Err(Fault::TooLong);
        }
        if is_nfc(text) {
            return Ok(Self(Secret::new(text)));
        }
        // Room for all of it at once: a buffer that grows leaves a copy of the secret behind.
        let mut normalised = Zeroizing::new(String::with_capacity(text.len() * EXPANSION));
        normalised.extend(text.nfc());
        Ok(Self(Secret::new(normalised.as_bytes())))
    }

    /// Hands out the bytes that are hashed; every caller of this is a place to look at in a review.
    pub fn expose(&self) -> &[u8] {
        self.0.expose()
    }

    /// How many characters it has: Unicode code points, as NIST SP 800-63B-4 §3.1.1.2 counts them.
    fn length(&self) -> usize {
        // Each code point has one byte that does not continue another.
        self.expose().iter().filter(|byte| (**byte & 0xC0) != 0x80).count()
    }
}

/// The rule for a new password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    min_length: usize,
}

impl Policy {
    /// No installation asks for less.
    pub const LEAST: usize = 8;

    pub fn new(min_length: usize) -> Self {
        Self { min_length: min_length.max(Self::LEAST) }
    }

    pub fn min_length(&self) -> usize {
        self.min_length
    }

    /// Says what keeps a password from being chosen.
    pub fn check(&self, password: &Password) -> Result<(), Fault> {
        if password.length() < self.min_length {
            return Err(Fault::TooShort { least: self.min_length });
        }
        Ok(())
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::new(15)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Password {
        Password::read(text).unwrap()
    }

    #[test]
    fn composed_and_decomposed_characters_are_the_same_password() {
        let (composed, decomposed) = ("pass\u{e9} n\u{ba} 1", "passe\u{301} n\u{ba} 1");
        assert_eq!(read(composed), read(decomposed));
        assert_eq!(read(decomposed).expose(), composed.as_bytes());
        // NFC keeps what only looks alike apart, as NFKC would not.
        assert_ne!(read("n\u{ba}"), read("no"));
        assert_eq!(read("\u{1100}\u{1161}\u{11a8}"), read("\u{ac01}"));
    }

    #[test]
    fn a_new_password_is_counted_in_characters_of_its_normal_form() {
        let policy = Policy::default();
        assert_eq!(policy.check(&read(&"ñ".repeat(15))), Ok(()));
        let short = Err(Fault::TooShort { least: 15 });
        assert_eq!(policy.check(&read(&"ñ".repeat(14))), short);
        assert_eq!(policy.check(&read(&"n\u{303}".repeat(14))), short, "marks do not count twice");
        assert_eq!(policy.check(&read("12345678")), short);
        assert_eq!(Policy::new(8).check(&read("12345678")), Ok(()));
        assert_eq!(Policy::new(1), Policy::new(Policy::LEAST), "never below eight");
    }

    #[test]
    fn a_password_has_1024_characters_at_most_whatever_they_are() {
        for character in ["x", "ñ", "🐎", "\u{fb2c}", "\u{1d160}", " ", "\u{7}"] {
            let longest = character.repeat(LONGEST);
            assert_eq!(Policy::default().check(&read(&longest)), Ok(()), "{character:?}");
            let longer = format!("{longest}{character}");
            assert_eq!(Password::read(&longer), Err(Fault::TooLong), "{character:?}");
        }
        assert_eq!(Password::read(""), Err(Fault::Empty));
    }

    #[test]
    fn a_password_is_never_shown() {
        let shown = format!("{:?}", read("open sesame"));
        assert!(!shown.contains("sesame"), "{shown}");
    }
}
