//! Scopes as they are asked for and granted: a set of words, in the order they were given.

use serde::{Deserialize, Serialize};

/// The scopes of OpenID Connect, and `groups`: they speak of a person and need no role.
pub const OIDC_SCOPES: [&str; 7] =
    ["openid", "profile", "email", "address", "phone", "offline_access", GROUPS];

/// Asks for the names of the person's roles in the organization that was chosen.
pub const GROUPS: &str = "groups";

const MOST: usize = 100;

/// A set of scopes in the order they were given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Scopes(Vec<String>);

/// Why a text is not a set of scopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MalformedScope {
    #[error("a scope is made of printable ASCII without spaces, quotes and backslashes")]
    Character,
    #[error("at most 100 scopes are asked for at once")]
    TooMany,
}

impl Scopes {
    /// Parses scopes separated by single spaces (RFC 6749 §3.3); a repeated one counts once.
    pub fn parse(text: &str) -> Result<Self, MalformedScope> {
        let mut scopes = Vec::new();
        // People write two spaces, or one at the end; the words are the same.
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            let allowed = |byte: u8| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e);
            if !word.bytes().all(allowed) {
                return Err(MalformedScope::Character);
            }
            if !scopes.iter().any(|known| known == word) {
                scopes.push(word.to_owned());
            }
            if scopes.len() > MOST {
                return Err(MalformedScope::TooMany);
            }
        }
        Ok(Self(scopes))
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Lists those that some API owns.
    pub fn of_apis(&self) -> impl Iterator<Item = &str> {
        self.iter().filter(|scope| !OIDC_SCOPES.contains(scope))
    }

    pub fn contains(&self, scope: &str) -> bool {
        self.iter().any(|known| known == scope)
    }

    /// Returns these and those of `more` that are not among them.
    pub fn with(&self, more: &Self) -> Self {
        let added = more.0.iter().filter(|scope| !self.contains(scope));
        Self(self.0.iter().chain(added).cloned().collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl std::fmt::Display for Scopes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (place, scope) in self.iter().enumerate() {
            if place > 0 {
                f.write_str(" ")?;
            }
            f.write_str(scope)?;
        }
        Ok(())
    }
}

impl TryFrom<String> for Scopes {
    type Error = MalformedScope;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl From<Scopes> for String {
    fn from(scopes: Scopes) -> Self {
        scopes.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_keep_their_order_and_count_once() {
        let scopes = Scopes::parse("b:x  openid a:y b:x ").unwrap();
        assert_eq!(scopes.to_string(), "b:x openid a:y");
        assert_eq!(scopes.of_apis().collect::<Vec<_>>(), ["b:x", "a:y"]);
        assert!(Scopes::parse("").unwrap().is_empty());
    }

    #[test]
    fn what_is_no_scope_is_refused() {
        for bad in ["a\"b", "a\\b", "a\tb", "é", "a\0", "a\nb", "\u{a0}"] {
            assert_eq!(Scopes::parse(bad), Err(MalformedScope::Character), "{bad:?}");
        }
        let many: Vec<String> = (0..101).map(|n| format!("s:{n}")).collect();
        assert_eq!(Scopes::parse(&many.join(" ")), Err(MalformedScope::TooMany));
    }
}
