//! The logos at the `logo_uri`s of clients, which pages show from here: a page calls no other host.
//!
//! | what is kept | what a page gets | what happens beside |
//! |---|---|---|
//! | nothing | nothing | fetched, unless the address failed within `REST` |
//! | a picture younger than `FRESH` | the picture | nothing |
//! | an older one | the picture, until it is `STALE` | fetched, likewise |
//!
//! No page waits for a logo. One address is called once within `REST`, and few at once, so that key
//! sets are always fetched. Only pictures made of points are taken, known by their first bytes.

use super::Fetcher;
use crate::domain::{
    Clock, Timestamp,
    picture::{Picture, PictureFacts},
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::task::JoinSet;

/// For how long a logo is shown without looking again.
const FRESH: Duration = Duration::from_hours(1);

/// For how long a logo is shown where its address does not answer.
const STALE: Duration = Duration::from_hours(24);

/// For how long an address is not called again.
const REST: Duration = Duration::from_mins(5);

/// How many logos are remembered: sixteen megabytes at most.
const MOST: usize = 512;

/// How many logos are fetched at once.
const AT_ONCE: usize = 16;

/// Logos by address.
pub struct Logos {
    fetcher: Arc<Fetcher>,
    clock: Arc<dyn Clock>,
    kept: Arc<Mutex<HashMap<String, Kept>>>,
    /// Fetches that are under way.
    fetches: Mutex<JoinSet<()>>,
}

/// What is known of one address.
struct Kept {
    picture: Option<(Arc<Picture>, Timestamp)>,
    called_at: Timestamp,
    asked_at: Timestamp,
}

impl Kept {
    fn picture(&self, now: Timestamp) -> Option<&Arc<Picture>> {
        let (picture, at) = self.picture.as_ref()?;
        (now.since(*at) < STALE).then_some(picture)
    }

    fn is_due(&self, now: Timestamp) -> bool {
        let fresh = self.picture.as_ref().is_some_and(|(_, at)| now.since(*at) < FRESH);
        !fresh && now.since(self.called_at) >= REST
    }
}

impl Logos {
    pub fn new(fetcher: Arc<Fetcher>, clock: Arc<dyn Clock>) -> Self {
        Self { fetcher, clock, kept: Arc::default(), fetches: Mutex::default() }
    }

    /// Returns what is known of the logo at an address, and has it fetched if that is due.
    pub fn look(&self, uri: &str) -> Option<PictureFacts> {
        let address = uri.split('#').next().unwrap_or_default();
        let now = self.clock.now();
        let mut kept = lock(&self.kept);
        let known = kept.get_mut(address).map(|one| {
            one.asked_at = now;
            (one.picture(now).map(|picture| picture.facts.clone()), one.is_due(now))
        });
        let (facts, is_due) = known.unwrap_or((None, true));
        if is_due && self.fetch(address) {
            match kept.get_mut(address) {
                Some(one) => one.called_at = now,
                None => insert(&mut kept, address, now),
            }
        }
        facts
    }

    /// Returns the logo that has this hash.
    pub fn find(&self, hash: &str) -> Option<Arc<Picture>> {
        let now = self.clock.now();
        let kept = lock(&self.kept);
        let mut pictures = kept.values().filter_map(|one| one.picture(now));
        pictures.find(|picture| picture.facts.hash == hash).cloned()
    }

    /// Has a logo fetched by a task of its own; tells whether there is one for it.
    fn fetch(&self, address: &str) -> bool {
        let mut fetches = lock(&self.fetches);
        while fetches.try_join_next().is_some() {}
        if fetches.len() >= AT_ONCE {
            return false;
        }
        let (fetcher, clock, kept) = (self.fetcher.clone(), self.clock.clone(), self.kept.clone());
        let address = address.to_owned();
        fetches.spawn(async move {
            match read(&fetcher, &address).await {
                Ok(picture) => {
                    if let Some(one) = lock(&kept).get_mut(&address) {
                        one.picture = Some((Arc::new(picture), clock.now()));
                    }
                }
                Err(why) => tracing::info!(why, "the logo of a client could not be fetched"),
            }
        });
        true
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remembers an address that is being called; the one that was not asked for the longest gives way.
fn insert(kept: &mut HashMap<String, Kept>, address: &str, now: Timestamp) {
    if kept.len() >= MOST {
        let oldest = kept.iter().min_by_key(|(_, one)| one.asked_at);
        if let Some(oldest) = oldest.map(|(address, _)| address.clone()) {
            kept.remove(&oldest);
        }
    }
    kept.insert(address.to_owned(), Kept { picture: None, called_at: now, asked_at: now });
}

/// Fetches a logo; says for the log why that failed, and nothing of what came.
async fn read(fetcher: &Fetcher, address: &str) -> Result<Picture, String> {
    let fetched = fetcher.get(address, "image/png, image/jpeg, image/webp").await;
    let bytes = fetched.map_err(|fault| fault.in_full())?;
    Picture::of_points(bytes).map_err(|fault| format!("it {fault}"))
}
