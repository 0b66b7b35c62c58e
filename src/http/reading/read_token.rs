//! An access token whose signature was verified, and a cache of what it was last found to rest on.

use super::{Dependencies, LivenessReading};
use crate::{
    actors::EntitySnapshot,
    domain::{
        access_token::Claims,
        account::{self, Account},
    },
};
use serde::Deserialize;
use std::{
    ops::Deref,
    sync::{Arc, Mutex, PoisonError},
};

/// What a good token rests on.
#[derive(Clone)]
pub struct Good {
    /// The person it speaks for, if it is not a client in its own name.
    account: Option<Arc<EntitySnapshot<Account>>>,
    /// Of a token for our own API or for SCIM, by which changes are made.
    dependencies: Option<Arc<Dependencies>>,
}

impl Good {
    pub fn of_person(account: Option<Arc<EntitySnapshot<Account>>>) -> Self {
        Self { account, dependencies: None }
    }

    /// Keeps what the token was judged by, if changes are made by it.
    pub fn judged_by(mut self, is_built_in: bool, standing: &LivenessReading<'_>) -> Self {
        self.dependencies = is_built_in.then(|| Arc::new(standing.dependencies()));
        self
    }

    /// Returns what a change must require that is made by the token.
    pub fn dependencies(&self) -> Option<Arc<Dependencies>> {
        self.dependencies.clone()
    }

    /// Returns the person it speaks for, if it is not a client in its own name.
    pub fn account(&self) -> Option<&account::Known> {
        self.account.as_ref()?.machine.known()
    }
}

/// The claims of a token of ours.
///
/// Whether it is good follows from what it says and from the versions of the entities that it rests on. Their
/// versions are read each time; where they are those of the last time it was good, nothing is narrowed again. Only
/// that it was good is cached.
#[derive(Deserialize)]
#[serde(from = "Claims<'static>")]
pub struct ReadToken {
    claims: Claims<'static>,
    last: Mutex<Option<Last>>,
}

struct Last {
    /// The organization that had to be live beside those of the token.
    also: Option<Box<str>>,
    /// In the order in which they are asked for; 0 where there is no row.
    versions: Box<[i64]>,
    good: Good,
}

impl From<Claims<'static>> for ReadToken {
    fn from(claims: Claims<'static>) -> Self {
        Self { claims, last: Mutex::default() }
    }
}

impl Deref for ReadToken {
    type Target = Claims<'static>;

    fn deref(&self) -> &Claims<'static> {
        &self.claims
    }
}

impl ReadToken {
    /// Returns what it rests on, if it was good when these entities had these versions.
    pub fn found_good(
        &self,
        also: Option<&str>,
        versions: impl Iterator<Item = i64>,
    ) -> Option<Good> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |last: &&Last| {
            last.also.as_deref() == also && last.versions.iter().copied().eq(versions)
        };
        last.as_ref().filter(same).map(|last| last.good.clone())
    }

    pub fn remember(&self, also: Option<&str>, versions: impl Iterator<Item = i64>, good: &Good) {
        let last =
            Last { also: also.map(Into::into), versions: versions.collect(), good: good.clone() };
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn it_was_good_for_these_versions_and_this_organization_alone() {
        let claims = json!({
            "iss": "https://id.example", "sub": "ana", "aud": "https://api.example", "exp": 9, "iat": 1,
            "jti": "1", "client_id": "portal", "scope": "",
        });
        let token: ReadToken = serde_json::from_value(claims).unwrap();
        assert_eq!(token.client_id, "portal");
        let good = |also: Option<&str>, versions: &[i64]| {
            token.found_good(also, versions.iter().copied()).is_some()
        };
        assert!(!good(None, &[]) && !good(None, &[0, 7, 8]));
        token.remember(None, [0, 7, 8].into_iter(), &Good::of_person(None));
        assert!(good(None, &[0, 7, 8]));
        for other in [&[0, 7, 9][..], &[0, 7], &[0, 7, 8, 9], &[1, 7, 8], &[]] {
            assert!(!good(None, other), "{other:?}");
        }
        assert!(!good(Some("acme"), &[0, 7, 8]));
        token.remember(Some("acme"), [0, 7, 8].into_iter(), &Good::of_person(None));
        assert!(good(Some("acme"), &[0, 7, 8]) && !good(None, &[0, 7, 8]));
    }
}
