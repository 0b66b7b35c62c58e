//! Reading before a decision: how fresh what is looked at must be, and what a token was found to rest on.

pub mod new_entity;
pub mod read_token;
pub mod retries;

use crate::{
    actors::{EntitySnapshot, HydrateError, View},
    domain::{
        Machine, Requirement, Timestamp, access_token::AccessToken, session::Session,
        token_family::TokenFamily,
    },
    store::views::Liveness,
};
use std::sync::Arc;

/// How entities are read.
#[derive(Clone, Copy)]
pub enum Reading<'a> {
    /// As they were less than a second ago.
    Recent,
    /// As they are now.
    Anew,
    /// As of versions that were just read in one query.
    At(&'a LivenessReading<'a>),
}

/// A reading of liveness: what one query has found of the entities that were asked for.
pub struct LivenessReading<'a> {
    pub asked: &'a [(&'static str, &'a str)],
    pub found: &'a [Option<Liveness>],
}

/// What a credential was judged by. A commit that rests on the credential requires all of it.
#[derive(Clone, Debug, Default)]
pub struct Dependencies {
    pub requirements: Vec<Requirement>,
    /// The `jti` of each token that was not revoked.
    pub tokens: Vec<String>,
}

impl LivenessReading<'_> {
    /// Tells whether everything stands that was asked for: the first `tokens` are not revoked, most of which
    /// have no row; those up to `optional` may be missing; all others are there and live.
    pub fn holds(&self, tokens: usize, optional: usize, now: Timestamp) -> bool {
        let is_live = |found: &Option<Liveness>| found.is_some_and(|found| found.is_live(now));
        self.found[..tokens].iter().all(|found| found.is_none() || is_live(found))
            && self.found[optional..].iter().all(is_live)
    }

    /// Lists what a commit must require that rests on this.
    pub fn dependencies(&self) -> Dependencies {
        let mut dependencies = Dependencies::default();
        for (&(kind, id), found) in self.asked.iter().zip(self.found) {
            let id = id.to_owned();
            match (kind, found) {
                (AccessToken::KIND, _) => dependencies.tokens.push(id),
                // They move on with every use: what they confer does not.
                (TokenFamily::KIND | Session::KIND, Some(_)) => {
                    dependencies.requirements.push(Requirement::Live { kind, id });
                }
                (_, Some(Liveness { version, .. })) => {
                    let version = *version;
                    dependencies.requirements.push(Requirement::Unchanged { kind, id, version });
                }
                (_, None) => {}
            }
        }
        dependencies
    }

    /// Returns the version of an entity, 0 where there is no row.
    pub fn version(&self, kind: &str, id: &str) -> i64 {
        let index = self.asked.iter().position(|(of, name)| (*of, *name) == (kind, id));
        index.and_then(|index| self.found[index]).map_or(0, |found| found.version)
    }
}

impl Reading<'_> {
    /// As they are now, after something has changed meanwhile.
    pub const fn anew_if(anew: bool) -> Self {
        if anew { Self::Anew } else { Self::Recent }
    }

    /// Tells whether a second look may see something newer.
    pub const fn is_old(self) -> bool {
        matches!(self, Self::Recent)
    }

    pub async fn see<M: Machine>(
        self,
        view: &View<M>,
        id: &str,
    ) -> Result<Arc<EntitySnapshot<M>>, HydrateError> {
        match self {
            Self::Recent => view.look(id).await,
            Self::Anew => view.look_anew(id).await,
            Self::At(standing) => view.at_version(id, standing.version(M::KIND, id)).await,
        }
    }
}
