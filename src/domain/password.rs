//! Passwords as people choose them: one form in which they are hashed, one rule for a new one.
//!
//! A password is normalised (Unicode NFC) wherever it comes from, so that it is the same on a keyboard
//! that composes `é` and on one that does not. Length is the only rule of composition (adr/0039). Beside
//! it there is a block list: of passwords that many people use, and of the words around an account
//! (adr/0054).

mod block_list;
mod context;
mod patterns;
#[cfg(test)]
mod tests;

pub use context::Context;

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
    #[error("must not be a password that many people use, or a simple pattern: choose another")]
    Common,
    #[error("must be more than a name of yours, of your organization or of this service")]
    ContextWord,
    #[error("was found among passwords that leaked from other services: choose another")]
    Breached,
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

    /// Returns its text in lower case, and only the characters that count.
    fn folded(&self, counts: fn(char) -> bool) -> Zeroizing<Vec<char>> {
        let text = str::from_utf8(self.expose()).unwrap_or_default();
        // Space for all of it at once, as above: a character becomes three at most in lower case.
        let mut folded = Zeroizing::new(Vec::with_capacity(text.len() * EXPANSION));
        folded.extend(text.chars().flat_map(char::to_lowercase).filter(|it| counts(*it)));
        folded
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

    /// Says what keeps a person from choosing a password; `context` is what is known around them.
    pub fn check(&self, password: &Password, context: &Context) -> Result<(), Fault> {
        self.check_length(password)?;
        if context.is_all_of(password) {
            return Err(Fault::ContextWord);
        }
        if block_list::has(password, self.min_length) {
            return Err(Fault::Common);
        }
        Ok(())
    }

    /// Says whether a password is too short; an operator's file is held to nothing else.
    pub fn check_length(&self, password: &Password) -> Result<(), Fault> {
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
