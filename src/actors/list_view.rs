//! Looks at the lists of one name, as [`View`](super::View) looks at entities.

use super::{
    services::Services,
    view::{FRESH, MOST, ViewError},
};
use crate::{clock::Stopwatch, domain::Machine, store::Listed};
use moka::future::Cache;
use std::sync::Arc;

/// How many entries are read at once.
const PAGE: u32 = 100;

/// An entity on a list, as it was seen.
pub struct Entry<M> {
    pub id: String,
    pub machine: M,
    pub version: i64,
}

/// A whole list, as it was seen.
struct Seen<M> {
    entries: Arc<[Entry<M>]>,
    /// Since its reading began.
    since: Stopwatch,
}

/// Shows the lists of one name, each by its owner; clones share what was seen.
pub struct ListView<M: Machine> {
    services: Arc<Services>,
    list: &'static str,
    seen: Cache<Box<str>, Arc<Seen<M>>>,
}

impl<M: Machine> Clone for ListView<M> {
    fn clone(&self) -> Self {
        Self { services: self.services.clone(), list: self.list, seen: self.seen.clone() }
    }
}

impl<M: Machine> ListView<M> {
    pub(super) fn new(services: Arc<Services>, list: &'static str) -> Self {
        let seen = Cache::builder()
            .max_capacity(MOST)
            // Long lists take as much memory as many short ones.
            .weigher(|_, seen: &Arc<Seen<M>>| {
                u32::try_from(1 + seen.entries.len()).unwrap_or(u32::MAX)
            })
            .time_to_live(FRESH)
            .build();
        Self { services, list, seen }
    }

    /// Shows the list of `owner` as it is now, where `anew`; else as it was less than a second ago.
    pub async fn look_if(&self, anew: bool, owner: &str) -> Result<Arc<[Entry<M>]>, ViewError> {
        if !anew
            && let Some(seen) = self.seen.get(owner).await
            && seen.since.elapsed() < FRESH
        {
            return Ok(seen.entries.clone());
        }
        let since = Stopwatch::start();
        let entries = self.read(owner).await?;
        let seen = Arc::new(Seen { entries: entries.clone(), since });
        self.seen.insert(owner.into(), seen).await;
        Ok(entries)
    }

    async fn read(&self, owner: &str) -> Result<Arc<[Entry<M>]>, ViewError> {
        let mut entries = Vec::new();
        let mut after = (String::new(), String::new());
        loop {
            let from = (after.0.as_str(), after.1.as_str());
            let page = self.services.store.list(self.list, owner, from, PAGE).await;
            let page = page.map_err(|error| ViewError::Unavailable(Arc::new(error)))?;
            let is_last = page.len() < PAGE as usize;
            for Listed { rank, id, version, state, .. } in page {
                let machine = serde_json::from_str(&state).map_err(|_| ViewError::Unreadable)?;
                after = (rank, id.clone());
                entries.push(Entry { id, machine, version });
            }
            if is_last {
                return Ok(entries.into());
            }
        }
    }
}
