//! Reads entities that rarely change, and lists of them, through a read cache and without starting an actor.
//!
//! What a view returns was true less than a second ago. That is enough to issue a token, and not
//! enough to say whether one is still valid: for that, read the standing of what it rests on and ask
//! for [`View::at_version`].

use super::{
    hydrate::{EntitySnapshot, HydrateError, hydrate, parse},
    read_cache::ReadCache,
    services::Services,
};
use crate::{domain::Machine, store::ListRow};
use std::sync::{Arc, OnceLock};
use tokio::task::yield_now;

/// How many entries of a list are read at once. SQLite is read on the thread that serves requests and without waiting:
/// other tasks of that thread run between two pages.
const PAGE: u32 = 100;

/// How many entries of a list one caller reads at most: no request costs more because its person owns more (adr/0119).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound(u32);

impl Bound {
    /// No caller reads more of a list.
    pub const MOST: u32 = 1_000;

    /// Refuses to be compiled, where it is a constant, if it is no bound.
    pub const fn new(most: u32) -> Self {
        assert!(0 < most && most <= Self::MOST, "a list is read up to a bound");
        Self(most)
    }

    /// As many as a caller asks for, as far as that is a bound.
    pub fn asked(most: u32) -> Self {
        Self(most.clamp(1, Self::MOST))
    }

    pub const fn most(self) -> u32 {
        self.0
    }
}

/// An entity on a list.
pub struct Entry<M> {
    pub id: String,
    pub machine: M,
    pub version: i64,
}

type Lists<M> = ReadCache<Arc<[Entry<M>]>>;

/// Reads the entities of one kind; clones share what was read.
pub struct View<M: Machine> {
    services: Arc<Services>,
    entities: ReadCache<Arc<EntitySnapshot<M>>>,
    /// Few views read lists.
    lists: Arc<OnceLock<Lists<M>>>,
}

impl<M: Machine> Clone for View<M> {
    fn clone(&self) -> Self {
        let Self { services, entities, lists } = self;
        Self { services: services.clone(), entities: entities.clone(), lists: lists.clone() }
    }
}

impl<M: Machine> View<M> {
    pub(super) fn new(services: Arc<Services>) -> Self {
        let entities = ReadCache::new(services.clock.clone(), |_| 1);
        services.caches.add(M::KIND, entities.forgetter());
        Self { services, entities, lists: Arc::default() }
    }

    /// Returns an entity as it was less than a second ago.
    pub async fn look(&self, id: &str) -> Result<Arc<EntitySnapshot<M>>, HydrateError> {
        self.entities.get(id, || self.peek(id)).await
    }

    /// Returns an entity as it is now, where `anew`; else as it was less than a second ago.
    pub async fn look_if(
        &self,
        anew: bool,
        id: &str,
    ) -> Result<Arc<EntitySnapshot<M>>, HydrateError> {
        if anew { self.look_anew(id).await } else { self.look(id).await }
    }

    /// Forgets what was read: the entity has just changed.
    pub fn forget(&self, id: &str) {
        self.entities.forget(id);
    }

    /// Returns an entity as it is now, and keeps nothing of it.
    pub async fn peek(&self, id: &str) -> Result<Arc<EntitySnapshot<M>>, HydrateError> {
        hydrate(&self.services.store, id).await.map(Arc::new)
    }

    /// Returns an entity as it is now.
    pub async fn look_anew(&self, id: &str) -> Result<Arc<EntitySnapshot<M>>, HydrateError> {
        // Boxed: most callers of `at_version` end before it, and should not carry it.
        Box::pin(self.entities.renew(id, self.peek(id))).await
    }

    /// Returns an entity as of a version that was just read, or a later one.
    pub async fn at_version(
        &self,
        id: &str,
        version: i64,
    ) -> Result<Arc<EntitySnapshot<M>>, HydrateError> {
        match self.entities.kept(id).filter(|kept| kept.version == version) {
            Some(kept) => Ok(kept),
            None => self.look_anew(id).await,
        }
    }

    /// Returns the start of the list of `owner` as it is now, where `anew`; else as it was less than a second ago.
    pub async fn list_if(
        &self,
        anew: bool,
        (list, owner): (&'static str, &str),
        bound: Bound,
    ) -> Result<Arc<[Entry<M>]>, HydrateError> {
        let key = format!("{} {list} {owner}", bound.0);
        // Boxed: most callers find the list in the cache, and should not carry what reading it takes.
        let read = || Box::pin(self.read_list((list, owner), bound));
        if anew {
            self.lists().renew(&key, read()).await
        } else {
            self.lists().get(&key, read).await
        }
    }

    /// Returns the start of a list as it is now, a hundred entries at most, and keeps nothing of it.
    pub async fn first_page(
        &self,
        list: &'static str,
        owner: &str,
    ) -> Result<Vec<Entry<M>>, HydrateError> {
        let page = self.read_page((list, owner), (("", ""), None), PAGE).await?;
        Ok(page.into_iter().map(|(_, entry)| entry).collect())
    }

    /// Returns a page of a list as it is now, each entry with its rank, after the rank and id given
    /// (empty: from its start).
    pub async fn page(
        &self,
        list: &'static str,
        owner: &str,
        after: (&str, &str),
        bound: Bound,
    ) -> Result<Vec<(String, Entry<M>)>, HydrateError> {
        self.page_below((list, owner), (after, None), bound).await
    }

    /// Returns a page of a list as it is now that begins after so many entries.
    pub async fn page_from(
        &self,
        (list, owner): (&'static str, &str),
        from: u32,
        Bound(most): Bound,
    ) -> Result<Vec<(String, Entry<M>)>, HydrateError> {
        let mut entries = Vec::new();
        // The first part passes over what comes before; the rest goes on from its end.
        let first = self.services.store.list_from((list, owner), (from, most.min(PAGE))).await?;
        let is_full = first.len() >= PAGE as usize;
        for listed in first {
            entries.push((listed.rank.clone(), entry(listed)?));
        }
        let left = most.saturating_sub(PAGE);
        if let Some((rank, last)) = entries.last().filter(|_| is_full && left > 0) {
            let after = (rank.clone(), last.id.clone());
            yield_now().await;
            entries.extend(self.page(list, owner, (&after.0, &after.1), Bound(left)).await?);
        }
        Ok(entries)
    }

    /// The same as [`View::page`] with nothing of the rank `below`, or of a higher one.
    pub async fn page_below(
        &self,
        (list, owner): (&'static str, &str),
        (after, below): ((&str, &str), Option<&str>),
        Bound(most): Bound,
    ) -> Result<Vec<(String, Entry<M>)>, HydrateError> {
        let mut entries: Vec<(String, Entry<M>)> = Vec::new();
        loop {
            let from = match entries.last() {
                Some((rank, entry)) => (rank.as_str(), entry.id.as_str()),
                None => after,
            };
            let left = most - u32::try_from(entries.len()).unwrap_or(most);
            let asked = left.min(PAGE);
            let mut page = self.read_page((list, owner), (from, below), asked).await?;
            let is_last = asked == left || page.len() < asked as usize;
            entries.append(&mut page);
            if is_last {
                return Ok(entries);
            }
        }
    }

    fn lists(&self) -> &Lists<M> {
        // Long lists take as much memory as many short ones.
        let weight = |list: &Arc<[_]>| 1 + list.len();
        let new = || ReadCache::new(self.services.clock.clone(), weight);
        self.lists.get_or_init(new)
    }

    async fn read_list(
        &self,
        (list, owner): (&'static str, &str),
        bound: Bound,
    ) -> Result<Arc<[Entry<M>]>, HydrateError> {
        let entries = self.page(list, owner, ("", ""), bound).await?;
        Ok(entries.into_iter().map(|(_, entry)| entry).collect())
    }

    /// Reads at most [`PAGE`] entries with their ranks, and gives way to other tasks after a full page.
    async fn read_page(
        &self,
        (list, owner): (&'static str, &str),
        (after, below): ((&str, &str), Option<&str>),
        most: u32,
    ) -> Result<Vec<(String, Entry<M>)>, HydrateError> {
        let store = &self.services.store;
        let page = match below {
            None => store.list(list, owner, after, most).await?,
            Some(below) => store.list_below((list, owner), (after, below), most).await?,
        };
        let placed = |listed: ListRow| Ok((listed.rank.clone(), entry(listed)?));
        let entries: Vec<_> = page.into_iter().map(placed).collect::<Result<_, HydrateError>>()?;
        if entries.len() >= PAGE as usize {
            yield_now().await;
        }
        Ok(entries)
    }
}

fn entry<M: Machine>(listed: ListRow) -> Result<Entry<M>, HydrateError> {
    let ListRow { id, row, .. } = listed;
    let EntitySnapshot { machine, version } = parse(&id, &row)?;
    Ok(Entry { id, machine, version })
}

/// Reads which entity holds a name of one space.
#[derive(Clone)]
pub struct NameView {
    services: Arc<Services>,
    space: &'static str,
    holders: ReadCache<Option<Arc<str>>>,
}

impl NameView {
    pub(super) fn new(services: Arc<Services>, space: &'static str) -> Self {
        let holders = ReadCache::new(services.clock.clone(), |_| 1);
        Self { services, space, holders }
    }

    /// Returns the id of the entity that held `name` less than a second ago.
    pub async fn look(&self, name: &str) -> Result<Option<Arc<str>>, HydrateError> {
        let find = async || {
            let found = self.services.store.find(self.space, name).await?;
            Ok(found.map(|(_, id)| id.into()))
        };
        self.holders.get(name, find).await
    }
}
