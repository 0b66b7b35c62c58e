//! Looks at entities that rarely change, without waking anybody.
//!
//! What a view shows was true less than a second ago. That is enough to issue a token, and not enough
//! to say whether one is still good: for that, read the standing of what it rests on and ask for
//! [`View::at_version`].

use super::services::Services;
use crate::{
    clock::Stopwatch,
    domain::Machine,
    store::{ReadError, Row},
};
use moka::future::Cache;
use std::{sync::Arc, time::Duration};

/// How old a look may be: under the second within which changes take effect.
pub(super) const FRESH: Duration = Duration::from_millis(900);

/// How many are kept; whoever asks for more at once reads the store more often.
pub(super) const MOST: u64 = 10_000;

/// An entity as it was seen; version 0 and the machine's default where there was no row.
pub struct Seen<M> {
    pub machine: M,
    pub version: i64,
    /// Since its reading began.
    since: Stopwatch,
}

/// Why nothing could be seen.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ViewError {
    #[error("the store cannot be read")]
    Unavailable(#[source] Arc<ReadError>),
    #[error("what is stored makes no sense to this binary")]
    Unreadable,
}

/// Shows the entities of one kind; clones share what was seen.
pub struct View<M: Machine> {
    services: Arc<Services>,
    seen: Cache<Box<str>, Arc<Seen<M>>>,
}

impl<M: Machine> Clone for View<M> {
    fn clone(&self) -> Self {
        Self { services: self.services.clone(), seen: self.seen.clone() }
    }
}

impl<M: Machine> View<M> {
    pub(super) fn new(services: Arc<Services>) -> Self {
        Self { services, seen: kept() }
    }

    /// Shows an entity as it was less than a second ago.
    pub async fn look(&self, id: &str) -> Result<Arc<Seen<M>>, ViewError> {
        match self.seen.get(id).await {
            Some(seen) if seen.since.elapsed() < FRESH => return Ok(seen),
            // It was old when its reading ended.
            Some(_) => self.seen.invalidate(id).await,
            None => {}
        }
        // Whoever asks for the same meanwhile waits for the same reading.
        let reading = self.seen.try_get_with(id.into(), self.read(id));
        reading.await.map_err(|error| (*error).clone())
    }

    /// Shows an entity as it is now, where `anew`; else as it was less than a second ago.
    pub async fn look_if(&self, anew: bool, id: &str) -> Result<Arc<Seen<M>>, ViewError> {
        if anew { self.look_anew(id).await } else { self.look(id).await }
    }

    /// Forgets what was seen: the entity has just changed.
    pub async fn forget(&self, id: &str) {
        self.seen.invalidate(id).await;
    }

    /// Shows an entity as it is now, and keeps nothing of it.
    pub async fn peek(&self, id: &str) -> Result<Arc<Seen<M>>, ViewError> {
        self.read(id).await
    }

    /// Shows an entity as it is now.
    pub async fn look_anew(&self, id: &str) -> Result<Arc<Seen<M>>, ViewError> {
        let seen = self.read(id).await?;
        self.seen.insert(id.into(), seen.clone()).await;
        Ok(seen)
    }

    /// Shows an entity as of a version that was just read, or a later one.
    pub async fn at_version(&self, id: &str, version: i64) -> Result<Arc<Seen<M>>, ViewError> {
        if let Some(seen) = self.seen.get(id).await.filter(|seen| seen.version == version) {
            return Ok(seen);
        }
        self.look_anew(id).await
    }

    async fn read(&self, id: &str) -> Result<Arc<Seen<M>>, ViewError> {
        let since = Stopwatch::start();
        let row = self.services.store.load(M::KIND, id).await;
        let row = row.map_err(|error| ViewError::Unavailable(Arc::new(error)))?;
        let seen = match row {
            None => Seen { machine: M::default(), version: 0, since },
            Some(Row { revision, .. }) if revision > M::REVISION.into() => {
                return Err(ViewError::Unreadable);
            }
            Some(Row { version, state, .. }) => {
                let machine = serde_json::from_str(&state).map_err(|_| ViewError::Unreadable)?;
                Seen { machine, version, since }
            }
        };
        Ok(Arc::new(seen))
    }
}

/// Shows who holds the names of one space.
#[derive(Clone)]
pub struct Holders {
    services: Arc<Services>,
    space: &'static str,
    seen: Cache<Box<str>, Option<Arc<str>>>,
}

impl Holders {
    pub(super) fn new(services: Arc<Services>, space: &'static str) -> Self {
        Self { services, space, seen: kept() }
    }

    /// Returns the id of whoever held `name` less than a second ago.
    pub async fn look(&self, name: &str) -> Result<Option<Arc<str>>, ViewError> {
        if let Some(holder) = self.seen.get(name).await {
            return Ok(holder);
        }
        let reading = self.seen.try_get_with(name.into(), async {
            let found = self.services.store.find(self.space, name).await;
            let found = found.map_err(|error| ViewError::Unavailable(Arc::new(error)))?;
            Ok::<_, ViewError>(found.map(|(_, id)| id.into()))
        });
        reading.await.map_err(|error| (*error).clone())
    }
}

fn kept<V: Clone + Send + Sync + 'static>() -> Cache<Box<str>, V> {
    Cache::builder().max_capacity(MOST).time_to_live(FRESH).build()
}
