//! How sure we are of a person: derived from what was proved and when, never configured beside it.

use super::Timestamp;
use serde::{Deserialize, Serialize};

/// How a person proved who they are (RFC 8176 §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Method {
    #[serde(rename = "pwd")]
    Password,
    /// A one-time code of an authenticator application.
    #[serde(rename = "otp")]
    Totp,
}

impl Method {
    /// Returns its name in `amr`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Password => "pwd",
            Self::Totp => "otp",
        }
    }

    /// What one must know, or have, to use it (NIST SP 800-63B-4 §2).
    const fn factor(self) -> Factor {
        match self {
            Self::Password => Factor::Knowledge,
            Self::Totp => Factor::Possession,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Factor {
    Knowledge,
    Possession,
}

/// An authenticator assurance level (NIST SP 800-63B-4 §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Aal1,
    Aal2,
    Aal3,
}

impl Level {
    /// Every level that evidence can reach today.
    pub const REACHABLE: [Self; 2] = [Self::Aal1, Self::Aal2];

    /// Returns its name in `acr`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aal1 => "aal1",
            Self::Aal2 => "aal2",
            Self::Aal3 => "aal3",
        }
    }
}

/// One proof, and when it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    pub method: Method,
    pub at: Timestamp,
}

/// Everything that was proved of one person, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Evidence(Vec<Proof>);

impl Evidence {
    pub fn of(method: Method, at: Timestamp) -> Self {
        Self(vec![Proof { method, at }])
    }

    /// Returns the level reached; nothing proved reaches none.
    pub fn level(&self) -> Option<Level> {
        let mut factors = self.0.iter().map(|proof| proof.method.factor());
        let first = factors.next()?;
        // Two of one kind are one factor.
        Some(if factors.any(|factor| factor != first) { Level::Aal2 } else { Level::Aal1 })
    }

    /// Returns what was proved, and one proof more.
    pub fn and(&self, method: Method, at: Timestamp) -> Self {
        Self(self.0.iter().copied().chain([Proof { method, at }]).collect())
    }

    /// Lists the methods, each once, as `amr` does.
    pub fn methods(&self) -> Vec<Method> {
        let mut methods: Vec<Method> = Vec::new();
        for proof in &self.0 {
            if !methods.contains(&proof.method) {
                methods.push(proof.method);
            }
        }
        methods
    }

    /// Returns when the person last proved anything: `auth_time`.
    pub fn last(&self) -> Option<Timestamp> {
        self.0.iter().map(|proof| proof.at).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_follows_from_the_evidence() {
        assert_eq!(Evidence::default().level(), None);
        let now = Timestamp::from_millis(1_800_000_000_000);
        let proved = Evidence::of(Method::Password, now);
        assert_eq!((proved.level(), proved.last()), (Some(Level::Aal1), Some(now)));
        assert_eq!(proved.methods(), [Method::Password]);
        let twice = proved.and(Method::Password, now);
        assert_eq!((twice.level(), twice.methods().len()), (Some(Level::Aal1), 1));
        let both = proved.and(Method::Totp, now);
        assert_eq!(both.level(), Some(Level::Aal2));
        assert_eq!(both.methods(), [Method::Password, Method::Totp]);
    }
}
