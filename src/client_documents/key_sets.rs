//! The key sets at the `jwks_uri`s of clients, remembered for a while.
//!
//! | what is kept | what is asked for | what happens |
//! |---|---|---|
//! | nothing | keys | fetched |
//! | keys younger than `FRESH` | keys | those |
//! | older keys | keys | fetched; where that fails, those, until they are `STALE` |
//! | keys | a key that is not among them | fetched |
//!
//! However often callers ask, an address is called at `PACE` and by one call at a time; after a failure
//! it is left alone for `REST`. A caller that hangs up stops no fetch: others wait for the same one, but
//! not so many that none is left to serve other clients.

use super::Fetcher;
use crate::{
    crypto::{ClientKeys, Jws, Unverified},
    domain::{Clock, Rate, Timestamp},
    generations::Bounded,
};
use serde_json::Value;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{self, OwnedMutexGuard, Semaphore},
    task::JoinSet,
};

/// For how long a set is used without looking again: a key that its client took away verifies nothing
/// after that.
const FRESH: Duration = Duration::from_mins(5);

/// For how long a set is used where its address does not answer.
const STALE: Duration = Duration::from_hours(1);

/// How often one address is called: a client may change its keys twice in a moment, but not for ever.
const PACE: Rate = Rate { burst: 3, refill: Duration::from_secs(30) };

/// For how long an address that failed is not called again.
const REST: Duration = Duration::from_secs(30);

/// How many addresses are remembered; with the longest keys in each set, some fifty megabytes.
const MOST: usize = 2_048;

/// How many callers wait for one address, and for all of them: far fewer than the server works for at
/// once. Where there are more, former keys serve, or the caller comes back.
const WAIT_FOR_ONE: usize = 64;
const WAIT_FOR_ALL: usize = 512;

/// Key sets by address.
pub struct KeySets {
    fetcher: Arc<Fetcher>,
    clock: Arc<dyn Clock>,
    entries: Bounded<String, Arc<Entry>>,
    /// Fetches that are under way, whether or not a caller waits for them.
    fetches: Mutex<JoinSet<()>>,
    waiting: Semaphore,
}

struct Entry {
    kept: Mutex<Kept>,
    waiting: Semaphore,
    /// Held by the one fetch that is under way.
    fetching: Arc<sync::Mutex<()>>,
}

impl Default for Entry {
    fn default() -> Self {
        let (kept, waiting) = (Mutex::default(), Semaphore::new(WAIT_FOR_ONE));
        Self { kept, waiting, fetching: Arc::default() }
    }
}

#[derive(Default)]
struct Kept {
    fetched: Option<Fetched>,
    /// When the whole of `PACE` will have come back.
    full_at: Timestamp,
    rests_until: Timestamp,
}

#[derive(Clone)]
struct Fetched {
    keys: Arc<ClientKeys>,
    at: Timestamp,
    /// Counts the sets of one address.
    number: u64,
}

impl Kept {
    /// Returns the set that was fetched after the set `number`, if it is younger than `age`.
    fn younger(&self, age: Duration, number: u64, now: Timestamp) -> Option<Fetched> {
        let fits = |one: &&Fetched| one.number > number && now.since(one.at) < age;
        self.fetched.as_ref().filter(fits).cloned()
    }

    /// Takes one of the calls that may be made.
    fn may_call(&mut self, now: Timestamp) -> bool {
        // A clock that was set back stops no client for longer than these.
        let full_at = self.full_at.min(now + PACE.whole());
        let rests = self.rests_until.min(now + REST) > now;
        match PACE.take(full_at, now) {
            Ok(full_at) if !rests => {
                self.full_at = full_at;
                true
            }
            _ => false,
        }
    }
}

impl Entry {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeySets {
    pub fn new(fetcher: Arc<Fetcher>, clock: Arc<dyn Clock>) -> Self {
        let (entries, fetches) = (Bounded::new(MOST), Mutex::default());
        Self { fetcher, clock, entries, fetches, waiting: Semaphore::new(WAIT_FOR_ALL) }
    }

    /// Tells whether one of the keys at `uri` signed it: one that we know, or one that is there now.
    pub async fn verify(&self, uri: &str, jws: &Jws<'_>) -> Result<(), Unverified> {
        let known = self.newer_than(0, uri).await?;
        let verdict = known.keys.verify(jws);
        // A key without a name may have been replaced by another without a name.
        let may_be_new = match verdict {
            Err(Unverified::NoKey) => true,
            Err(Unverified::Signature) => jws.kid.is_none(),
            Ok(()) | Err(Unverified::Ambiguous | Unverified::Busy) => false,
        };
        if !may_be_new {
            return verdict;
        }
        match self.newer_than(known.number, uri).await {
            Ok(newer) => newer.keys.verify(jws),
            Err(Unverified::Busy) => Err(Unverified::Busy),
            Err(_) => verdict,
        }
    }

    /// Returns the set at `uri`, if it is not the set `number` or an earlier one.
    async fn newer_than(&self, number: u64, uri: &str) -> Result<Fetched, Unverified> {
        let entry = self.entries.get_or_make(uri, Arc::default);
        let now = self.clock.now();
        if let Some(fresh) = entry.kept().younger(FRESH, number, now) {
            return Ok(fresh);
        }
        let (Ok(_one), Ok(_all)) = (entry.waiting.try_acquire(), self.waiting.try_acquire()) else {
            return entry.kept().younger(STALE, number, now).ok_or(Unverified::Busy);
        };
        let turn = entry.fetching.clone().lock_owned().await;
        let now = self.clock.now();
        {
            let mut kept = entry.kept();
            // Another caller may have fetched it meanwhile.
            if let Some(fresh) = kept.younger(FRESH, number, now) {
                return Ok(fresh);
            }
            if !kept.may_call(now) {
                return kept.younger(STALE, number, now).ok_or(Unverified::NoKey);
            }
        }
        self.fetch(uri, entry.clone(), turn);
        // Until that fetch has ended, and those of callers before us.
        drop(entry.fetching.lock().await);
        let now = self.clock.now();
        entry.kept().younger(STALE, number, now).ok_or(Unverified::NoKey)
    }

    /// Has a set fetched by a task of its own.
    fn fetch(&self, uri: &str, entry: Arc<Entry>, turn: OwnedMutexGuard<()>) {
        let (fetcher, clock, uri) = (self.fetcher.clone(), self.clock.clone(), uri.to_owned());
        let mut fetches = self.fetches.lock().unwrap_or_else(PoisonError::into_inner);
        while fetches.try_join_next().is_some() {}
        fetches.spawn(async move {
            let read = read(&fetcher, &uri).await;
            let mut kept = entry.kept();
            let at = clock.now();
            match read {
                Ok(keys) => {
                    let number = kept.fetched.as_ref().map_or(1, |one| one.number + 1);
                    kept.fetched = Some(Fetched { keys: Arc::new(keys), at, number });
                }
                Err(why) => {
                    kept.rests_until = at + REST;
                    tracing::info!(why, "the key set of a client could not be fetched");
                }
            }
            drop(kept);
            drop(turn);
        });
    }
}

/// Fetches a set; says for the log why that failed, and nothing of what came.
async fn read(fetcher: &Fetcher, uri: &str) -> Result<ClientKeys, String> {
    let fetched = fetcher.get(uri, "application/jwk-set+json, application/json").await;
    let body = fetched.map_err(|fault| fault.in_full())?;
    let set: Value = serde_json::from_slice(&body).map_err(|_| "it is not JSON".to_owned())?;
    let keys = ClientKeys::read(&set).ok_or_else(|| "it is no key set".to_owned())?;
    keys.map_err(|fault| format!("it {fault}"))
}
