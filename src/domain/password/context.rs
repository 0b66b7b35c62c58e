//! The words around an account: a password that is nothing but one of them is no secret.
//!
//! The rule is narrow. A word refuses a password that is this word alone, or this word several times.
//! Case does not count, and neither does what stands between letters and digits. A word with anything
//! else beside it refuses nothing.

use super::Password;

/// Shorter words refuse nothing: the block list knows what they become when they are repeated.
const SHORTEST: usize = 3;

/// What an attacker knows of an account without any work.
#[derive(Clone, Debug, Default)]
pub struct Context(Vec<Vec<char>>);

impl Context {
    /// Adds a name.
    pub fn with(mut self, name: &str) -> Self {
        let word: Vec<char> =
            name.chars().flat_map(char::to_lowercase).filter(|it| counts(*it)).collect();
        if word.len() >= SHORTEST && !self.0.contains(&word) {
            self.0.push(word);
        }
        self
    }

    /// Adds a host, and each of its labels.
    pub fn with_host(self, host: &str) -> Self {
        host.split('.').fold(self.with(host), Self::with)
    }

    /// Adds an e-mail address, and what stands before its `@`.
    pub fn with_email(self, address: &str) -> Self {
        let local = address.rsplit_once('@').map_or(address, |(local, _)| local);
        self.with(address).with(local)
    }

    /// Adds a person's names, and both together.
    pub fn with_person(self, given: &str, family: &str) -> Self {
        let both = self.with(given).with(family).with(&format!("{given} {family}"));
        both.with(&format!("{family} {given}"))
    }

    /// Tells whether a password is one of the words and nothing else.
    pub(super) fn is_all_of(&self, password: &Password) -> bool {
        let text = password.folded(counts);
        let repeats = |word: &Vec<char>| {
            text.len().is_multiple_of(word.len()) && text.chunks(word.len()).all(|it| it == word)
        };
        !text.is_empty() && self.0.iter().any(repeats)
    }
}

fn counts(character: char) -> bool {
    character.is_alphanumeric()
}
