//! How sure we are of a person: derived from what was proved and when, never configured beside it.

use super::Timestamp;
use serde::{Deserialize, Serialize};

/// How a person proved who they are (RFC 8176 §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Method {
    #[serde(rename = "pwd")]
    Password,
}

impl Method {
    /// Returns its name in `amr`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Password => "pwd",
        }
    }
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
    pub const REACHABLE: [Self; 1] = [Self::Aal1];

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
        // One factor of any kind is the first level.
        (!self.0.is_empty()).then_some(Level::Aal1)
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
    }
}
