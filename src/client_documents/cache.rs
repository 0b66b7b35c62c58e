//! A cache of documents that clients keep at addresses of their own.
//!
//! | what is cached | what is asked for | what happens |
//! |---|---|---|
//! | nothing | a document | fetched, unless the address failed within `rest` |
//! | one younger than `fresh` | a document | that one |
//! | an older one | a document | fetched; where that fails, that one, until it is `stale` |
//! | any | a newer one than that | fetched |
//!
//! However often callers ask, an address is called at its rate and by one fetch at a time; after a
//! failure it is left alone for `rest`. Each fetch is a task of the cache: a caller that hangs up stops
//! none. Others wait for the same one, but not so many that none is left to serve other clients.

use super::{
    Fetcher,
    fetcher::{AdmittedFetch, FetchFault},
    purpose::FetchPurpose,
};
use crate::{
    domain::{Clock, Rate, Timestamp},
    two_generation_cache::BoundedCache,
};
use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{self, OwnedMutexGuard, Semaphore},
    task::JoinSet,
};

/// How long documents of one kind are used, how often they are fetched, and how many there are.
#[derive(Clone, Copy)]
pub struct CacheRules {
    /// For how long a document is used without looking again.
    pub fresh: Duration,
    /// For how long it is used where its address does not answer.
    pub stale: Duration,
    /// How often one address is called.
    pub rate: Rate,
    /// For how long an address that failed is not called again.
    pub rest: Duration,
    /// How many addresses are cached.
    pub capacity: usize,
    /// How many callers wait for one address.
    pub waiters_of_one: usize,
    /// How many callers wait for all of them: far fewer than the server works for at once.
    pub waiters: usize,
}

/// A kind of document: by which rules it is cached, and how it is read.
pub trait DocumentKind: Send + Sync + 'static {
    type Document: Send + Sync + 'static;
    /// What is wrong with what came from an address; said in the log, and nothing of what came.
    type Fault: fmt::Display + Send + Sync + 'static;
    const RULES: CacheRules;

    fn purpose(&self) -> FetchPurpose;

    /// Reads what came from an address.
    fn read(
        &self,
        address: &str,
        bytes: Vec<u8>,
        now: Timestamp,
    ) -> Result<Self::Document, Self::Fault>;
}

/// Documents of one kind by address.
pub struct DocumentCache<K: DocumentKind> {
    kind: Arc<K>,
    fetcher: Arc<Fetcher>,
    clock: Arc<dyn Clock>,
    entries: BoundedCache<String, Arc<Entry<K>>>,
    /// Fetches that are under way, whether or not a caller waits for them.
    fetches: Mutex<JoinSet<()>>,
    waiting: Semaphore,
}

/// A document as it was fetched.
pub struct CachedDocument<D> {
    pub document: Arc<D>,
    fetched_at: Timestamp,
    /// Counts the documents of one address.
    pub number: u64,
}

impl<D> Clone for CachedDocument<D> {
    fn clone(&self) -> Self {
        Self { document: self.document.clone(), ..*self }
    }
}

/// Why there is no document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingDocument {
    /// There is none that can be used.
    Absent,
    /// So much is being fetched that this one was not: the caller comes back.
    Busy,
}

/// Why the last fetch of a document came to nothing.
pub enum Failure<F> {
    Fetch(FetchFault),
    Read(F),
}

impl<F: fmt::Display> Failure<F> {
    /// Says why for the log, and nothing of what came.
    fn in_full(&self) -> String {
        match self {
            Self::Fetch(fault) => fault.in_full(),
            Self::Read(fault) => fault.to_string(),
        }
    }
}

/// What is known of one address.
struct Entry<K: DocumentKind> {
    state: Mutex<EntryState<K>>,
    waiting: Semaphore,
    /// Held by the one fetch that is under way.
    fetching: Arc<sync::Mutex<()>>,
}

struct EntryState<K: DocumentKind> {
    cached: Option<CachedDocument<K::Document>>,
    /// When the whole rate of this address will have come back.
    full_at: Timestamp,
    rests_until: Timestamp,
    /// The last fetch was not made: others of its host were made too often. It says nothing of the address.
    deferred: bool,
    /// Why the last fetch came to nothing, if it did.
    failure: Option<Arc<Failure<K::Fault>>>,
}

impl<K: DocumentKind> EntryState<K> {
    /// Returns the document that was fetched after the document `number`, if it is younger than `age`.
    fn younger(
        &self,
        age: Duration,
        number: u64,
        now: Timestamp,
    ) -> Option<CachedDocument<K::Document>> {
        let fits = |one: &&CachedDocument<K::Document>| {
            one.number > number && now.since(one.fetched_at) < age
        };
        self.cached.as_ref().filter(fits).cloned()
    }

    /// Returns when the whole rate will have come back after a call now, if one may be made.
    fn full_after_call(&self, rules: CacheRules, now: Timestamp) -> Option<Timestamp> {
        // A clock that was set back stops no client for longer than these.
        let full_at = self.full_at.min(now + rules.rate.whole());
        let rests = self.rests_until.min(now + rules.rest) > now;
        rules.rate.take(full_at, now).ok().filter(|_| !rests)
    }
}

impl<K: DocumentKind> Entry<K> {
    fn new(waiters: usize) -> Self {
        let (full_at, rests_until) = (Timestamp::default(), Timestamp::default());
        let (cached, deferred, failure) = (None, false, None);
        let state = Mutex::new(EntryState { cached, full_at, rests_until, deferred, failure });
        Self { state, waiting: Semaphore::new(waiters), fetching: Arc::default() }
    }

    fn state(&self) -> MutexGuard<'_, EntryState<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: DocumentKind> DocumentCache<K> {
    pub fn new(kind: K, fetcher: Arc<Fetcher>, clock: Arc<dyn Clock>) -> Self {
        Self {
            kind: Arc::new(kind),
            fetcher,
            clock,
            entries: BoundedCache::new(K::RULES.capacity),
            fetches: Mutex::default(),
            waiting: Semaphore::new(K::RULES.waiters),
        }
    }

    /// Returns the document at an address, if it is not the document `number` or an earlier one.
    pub async fn newer_than(
        &self,
        number: u64,
        address: &str,
    ) -> Result<CachedDocument<K::Document>, MissingDocument> {
        let rules = K::RULES;
        let entry = self.entry(address);
        let now = self.clock.now();
        if let Some(fresh) = entry.state().younger(rules.fresh, number, now) {
            return Ok(fresh);
        }
        let (Ok(_one), Ok(_all)) = (entry.waiting.try_acquire(), self.waiting.try_acquire()) else {
            return entry.state().younger(rules.stale, number, now).ok_or(MissingDocument::Busy);
        };
        let turn = entry.fetching.clone().lock_owned().await;
        let now = self.clock.now();
        // Another caller may have fetched it meanwhile.
        if let Some(fresh) = entry.state().younger(rules.fresh, number, now) {
            return Ok(fresh);
        }
        let refused = match self.admit(address, &entry, now) {
            Ok(admitted) => {
                self.fetch(admitted, address, entry.clone(), turn);
                // Until that fetch has ended, and those of callers before us.
                drop(entry.fetching.lock().await);
                None
            }
            Err(missing) => Some(missing),
        };
        let state = entry.state();
        let refused = refused.unwrap_or(if state.deferred {
            MissingDocument::Busy
        } else {
            MissingDocument::Absent
        });
        state.younger(rules.stale, number, self.clock.now()).ok_or(refused)
    }

    /// Returns the document of an address that this node has in memory and still uses.
    pub fn cached(&self, address: &str) -> Option<Arc<K::Document>> {
        let entry = self.entries.get(address)?;
        let cached = entry.state().younger(K::RULES.stale, 0, self.clock.now())?;
        Some(cached.document)
    }

    /// Returns why the last fetch from an address came to nothing, if it did.
    pub fn failure(&self, address: &str) -> Option<Arc<Failure<K::Fault>>> {
        self.entries.get(address)?.state().failure.clone()
    }

    /// Tells whether a caller that asks for a document now would have it fetched, or wait for a fetch.
    pub fn needs_fetch(&self, address: &str) -> bool {
        let Some(entry) = self.entries.get(address) else { return true };
        let now = self.clock.now();
        let state = entry.state();
        let is_fresh = state.younger(K::RULES.fresh, 0, now).is_some();
        let may_call = state.full_after_call(K::RULES, now).is_some();
        !is_fresh && (may_call || entry.fetching.try_lock().is_err())
    }

    /// Returns what is cached of an address, and has it fetched if that is due: no caller waits.
    pub fn look(&self, address: &str) -> Option<Arc<K::Document>> {
        let rules = K::RULES;
        let entry = self.entry(address);
        let now = self.clock.now();
        let is_fresh = entry.state().younger(rules.fresh, 0, now).is_some();
        if !is_fresh
            && let Ok(turn) = entry.fetching.clone().try_lock_owned()
            && let Ok(admitted) = self.admit(address, &entry, now)
        {
            self.fetch(admitted, address, entry.clone(), turn);
        }
        entry.state().younger(rules.stale, 0, now).map(|cached| cached.document)
    }

    /// Returns a cached document that is still used.
    pub fn find(&self, is_meant: impl Fn(&K::Document) -> bool) -> Option<Arc<K::Document>> {
        let now = self.clock.now();
        self.entries.find_map(|entry| {
            let cached = entry.state().younger(K::RULES.stale, 0, now)?;
            is_meant(&cached.document).then_some(cached.document)
        })
    }

    fn entry(&self, address: &str) -> Arc<Entry<K>> {
        self.entries.get_or_make(address, || Arc::new(Entry::new(K::RULES.waiters_of_one)))
    }

    /// Takes what a call of an address needs: one of its rate, and a slot.
    fn admit(
        &self,
        address: &str,
        entry: &Entry<K>,
        now: Timestamp,
    ) -> Result<AdmittedFetch, MissingDocument> {
        let mut state = entry.state();
        let full_at = state.full_after_call(K::RULES, now).ok_or(MissingDocument::Absent)?;
        let admitted = self.fetcher.admit(self.kind.purpose(), address, now);
        let admitted = admitted.map_err(|fault| match fault {
            FetchFault::Busy => MissingDocument::Busy,
            _ => MissingDocument::Absent,
        })?;
        state.full_at = full_at;
        Ok(admitted)
    }

    /// Has a document fetched by a task of its own.
    fn fetch(
        &self,
        admitted: AdmittedFetch,
        address: &str,
        entry: Arc<Entry<K>>,
        turn: OwnedMutexGuard<()>,
    ) {
        let (kind, fetcher, clock) = (self.kind.clone(), self.fetcher.clone(), self.clock.clone());
        let address = address.to_owned();
        let mut fetches = self.fetches.lock().unwrap_or_else(PoisonError::into_inner);
        while fetches.try_join_next().is_some() {}
        fetches.spawn(async move {
            let fetched = fetcher.fetch(admitted).await;
            let at = clock.now();
            let deferred = matches!(fetched, Err(FetchFault::Busy));
            let read = fetched
                .map_err(Failure::Fetch)
                .and_then(|bytes| kind.read(&address, bytes, at).map_err(Failure::Read));
            let mut state = entry.state();
            state.deferred = deferred;
            state.failure = None;
            match read {
                Err(_) if deferred => state.full_at = state.full_at - K::RULES.rate.refill,
                Ok(document) => {
                    let number = state.cached.as_ref().map_or(1, |one| one.number + 1);
                    let document = Arc::new(document);
                    state.cached = Some(CachedDocument { document, fetched_at: at, number });
                }
                Err(failure) => {
                    state.rests_until = at + K::RULES.rest;
                    let (what, why) = (kind.purpose().name(), failure.in_full());
                    state.failure = Some(Arc::new(failure));
                    // A query may hold what is not for the log.
                    let address = address.split(['?', '#']).next();
                    tracing::info!(what, address, why, "a document cannot be used");
                }
            }
            drop(state);
            drop(turn);
        });
    }
}
