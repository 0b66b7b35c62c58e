//! The read cache: what was read is answered from memory for less than a second.

use super::hydrate::HydrateError;
use crate::{domain::Clock, two_generation_cache::TwoGenerationCache};
use std::{
    collections::HashMap,
    future::Future,
    hash::{BuildHasher as _, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::OnceCell;

/// How old a value may be: under the second within which changes take effect.
const FRESH: Duration = Duration::from_millis(900);

/// Parts, each behind a lock of its own.
const PARTS: usize = 8;

/// The weight that a part takes up before it forgets what was taken up before that.
const GENERATION: usize = 600;

/// Values by key, each with the time since its reading began; clones share them.
pub(super) struct ReadCache<V> {
    shared: Arc<CacheState<V>>,
}

impl<V> Clone for ReadCache<V> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

struct CacheState<V> {
    parts: [Mutex<Part<V>>; PARTS],
    clock: Arc<dyn Clock>,
    hasher: RandomState,
    weight: fn(&V) -> usize,
}

struct Part<V> {
    kept: TwoGenerationCache<Box<str>, CachedValue<V>>,
    /// When the young generation began, by the monotonic clock.
    begun: Duration,
    /// What is being read now. Callers that ask for one key at once share one reading, and its failure.
    readings: HashMap<Box<str>, Reading<V>>,
}

type Reading<V> = Arc<OnceCell<Result<CachedValue<V>, HydrateError>>>;

#[derive(Clone)]
struct CachedValue<V> {
    value: V,
    /// When its reading began, by the monotonic clock.
    since: Duration,
}

impl<V: Clone + Send + Sync + 'static> ReadCache<V> {
    /// Keeps values that weigh as `weight` says.
    pub(super) fn new(clock: Arc<dyn Clock>, weight: fn(&V) -> usize) -> Self {
        let begun = clock.monotonic();
        let parts = std::array::from_fn(|_| Mutex::new(Part::new(begun)));
        let hasher = RandomState::new();
        Self { shared: Arc::new(CacheState { parts, clock, hasher, weight }) }
    }

    /// Returns the value of `key` as it was less than a second ago; `read` reads it if none is kept.
    ///
    /// Callers that ask for one key at once share one reading.
    pub(super) async fn get<R>(&self, key: &str, read: impl Fn() -> R) -> Result<V, HydrateError>
    where
        R: Future<Output = Result<V, HydrateError>>,
    {
        let now = self.shared.clock.monotonic();
        if let Some(aged) = self.part(key).find(key, now)
            && now.saturating_sub(aged.since) < FRESH
        {
            return Ok(aged.value);
        }
        // Boxed: most calls end above, and should not carry what a reading needs.
        Box::pin(self.read_shared(key, read)).await
    }

    async fn read_shared<R>(&self, key: &str, read: impl Fn() -> R) -> Result<V, HydrateError>
    where
        R: Future<Output = Result<V, HydrateError>>,
    {
        let clock = &*self.shared.clock;
        let asked = clock.monotonic();
        let taking_part = ReadingWaiter { cache: self, key, reading: self.part(key).reading(key) };
        let reading = taking_part.reading.get_or_init(|| CachedValue::read(clock, read()));
        let CachedValue { value, since } = reading.await.clone()?;
        // The shared reading may have begun long before this caller asked.
        if asked.saturating_sub(since) < FRESH { Ok(value) } else { self.renew(key, read()).await }
    }

    /// Reads the value of `key` now and keeps it.
    pub(super) async fn renew<R>(&self, key: &str, read: R) -> Result<V, HydrateError>
    where
        R: Future<Output = Result<V, HydrateError>>,
    {
        let aged = CachedValue::read(&*self.shared.clock, read).await?;
        self.keep(key, aged.clone());
        Ok(aged.value)
    }

    /// Keeps the value of `key` no longer.
    pub(super) fn forget(&self, key: &str) {
        self.part(key).kept.remove(key);
    }

    /// Returns what has it forget a key, for as long as there is the cache.
    pub(super) fn forgetter(&self) -> impl Fn(&str) + Send + Sync + 'static {
        let shared = Arc::downgrade(&self.shared);
        move |key| {
            if let Some(shared) = shared.upgrade() {
                Self { shared }.forget(key);
            }
        }
    }

    /// Returns the value that is kept for `key`, however old.
    pub(super) fn kept(&self, key: &str) -> Option<V> {
        let now = self.shared.clock.monotonic();
        self.part(key).find(key, now).map(|aged| aged.value)
    }

    fn keep(&self, key: &str, aged: CachedValue<V>) {
        let (weight, now) = ((self.shared.weight)(&aged.value), self.shared.clock.monotonic());
        self.part(key).keep(key, (aged, weight), now);
    }
}

impl<V> ReadCache<V> {
    fn part(&self, key: &str) -> MutexGuard<'_, Part<V>> {
        let CacheState { parts, hasher, .. } = &*self.shared;
        let number = usize::try_from(hasher.hash_one(key) % PARTS as u64).unwrap_or(0);
        parts[number].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V> Part<V> {
    fn new(begun: Duration) -> Self {
        let (kept, readings) = (TwoGenerationCache::default(), HashMap::new());
        Self { kept, begun, readings }
    }

    fn keep(&mut self, key: &str, (aged, weight): (CachedValue<V>, usize), now: Duration) {
        let young = self.kept.weight();
        if young > 0 && young.saturating_add(weight) > GENERATION {
            self.turn(now);
        }
        self.kept.insert(key.into(), aged, weight);
    }

    fn reading(&mut self, key: &str) -> Reading<V> {
        if let Some(reading) = self.readings.get(key) {
            return reading.clone();
        }
        self.readings.entry(key.into()).or_default().clone()
    }

    fn turn(&mut self, now: Duration) {
        self.kept.turn();
        self.begun = now;
    }
}

impl<V: Clone> Part<V> {
    fn find(&mut self, key: &str, now: Duration) -> Option<CachedValue<V>> {
        // What is not asked for is given up after a while, however little there is; what is asked for weighs as well.
        if now.saturating_sub(self.begun) > FRESH || self.kept.weight() >= GENERATION {
            self.turn(now);
        }
        self.kept.find(key).cloned()
    }
}

/// A caller that waits for a reading; the first who leaves after its end keeps the value, and the last who leaves
/// before it, as callers do that are given up on, takes it away.
struct ReadingWaiter<'a, V: Clone + Send + Sync + 'static> {
    cache: &'a ReadCache<V>,
    key: &'a str,
    reading: Reading<V>,
}

impl<V: Clone + Send + Sync + 'static> Drop for ReadingWaiter<'_, V> {
    fn drop(&mut self) {
        let mut part = self.cache.part(self.key);
        // Given up while the part is locked, so that of two who leave the second knows that it is the last.
        let reading = std::mem::take(&mut self.reading);
        let shown = part.readings.get(self.key);
        if !shown.is_some_and(|shown| Arc::ptr_eq(shown, &reading)) {
            return;
        }
        // The map has one, this caller the other.
        if !reading.initialized() && Arc::strong_count(&reading) > 2 {
            return;
        }
        part.readings.remove(self.key);
        if let Some(Ok(aged)) = reading.get() {
            let CacheState { weight, clock, .. } = &*self.cache.shared;
            part.keep(self.key, (aged.clone(), weight(&aged.value)), clock.monotonic());
        }
    }
}

impl<V> CachedValue<V> {
    async fn read<R>(clock: &dyn Clock, reading: R) -> Result<Self, HydrateError>
    where
        R: Future<Output = Result<V, HydrateError>>,
    {
        let since = clock.monotonic();
        Ok(Self { value: reading.await?, since })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        future::{pending, ready},
        sync::atomic::{AtomicUsize, Ordering::SeqCst},
        task::{Context, Waker},
    };
    use tokio::task::yield_now;

    fn clock() -> Arc<dyn Clock> {
        Arc::new(crate::clock::SystemClock)
    }

    fn waits<F: Future>(future: &mut std::pin::Pin<Box<F>>) -> bool {
        future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending()
    }

    fn readings(cache: &ReadCache<u32>) -> usize {
        cache.shared.parts.iter().map(|part| part.lock().unwrap().readings.len()).sum()
    }

    fn kept(cache: &ReadCache<u32>) -> usize {
        cache.shared.parts.iter().map(|part| part.lock().unwrap().kept.len()).sum()
    }

    #[tokio::test]
    async fn callers_at_once_share_one_reading_and_the_next_finds_it() {
        let (cache, read) = (ReadCache::new(clock(), |_| 1), AtomicUsize::new(0));
        let ask = || {
            cache.get("a", || async {
                read.fetch_add(1, SeqCst);
                yield_now().await;
                Ok(7)
            })
        };
        let (one, other) = tokio::join!(ask(), ask());
        assert_eq!((one.unwrap(), other.unwrap(), ask().await.unwrap()), (7, 7, 7));
        assert_eq!((read.load(SeqCst), readings(&cache)), (1, 0));
        cache.forget("a");
        assert_eq!(cache.kept("a"), None);
    }

    #[tokio::test]
    async fn a_caller_that_is_given_up_on_leaves_the_reading_to_the_next_and_nothing_behind() {
        let cache = ReadCache::new(clock(), |_| 1);
        let mut first = Box::pin(cache.get("a", pending));
        let mut second = Box::pin(cache.get("a", || ready(Ok(8))));
        assert!(waits(&mut first));
        assert!(waits(&mut second), "it waits for the first");
        drop(first);
        assert_eq!((second.await.unwrap(), readings(&cache)), (8, 0));
        cache.forget("a");
        let mut alone = Box::pin(cache.get("a", pending));
        assert!(waits(&mut alone));
        drop(alone);
        assert_eq!(readings(&cache), 0, "no reading is left of a caller that went away");
    }

    #[tokio::test]
    async fn a_failure_is_shared_and_not_kept() {
        let cache = ReadCache::<u32>::new(clock(), |_| 1);
        let fail = || {
            cache.get("a", || async {
                yield_now().await;
                Err(HydrateError::Poisoned { kind: "test", id: "a".to_owned(), line: 1, column: 1 })
            })
        };
        let (one, other) = tokio::join!(fail(), fail());
        assert!(one.is_err() && other.is_err() && readings(&cache) == 0);
        assert_eq!(cache.get("a", || ready(Ok(9))).await.unwrap(), 9);
    }

    #[tokio::test]
    async fn what_is_asked_for_all_the_time_is_bounded_as_well() {
        let cache = ReadCache::new(clock(), |_: &u32| 1);
        for number in 0..12_000_u32 {
            cache.renew(&number.to_string(), ready(Ok(number))).await.unwrap();
            // Many that were read before are asked for again.
            for before in (0..number).rev().step_by(97).take(60) {
                cache.kept(&before.to_string());
            }
        }
        for number in 0..12_000_u32 {
            cache.kept(&number.to_string());
        }
        assert!(kept(&cache) <= 2 * PARTS * GENERATION, "{}", kept(&cache));
    }

    #[tokio::test]
    async fn what_is_kept_is_bounded_by_its_weight() {
        let cache = ReadCache::new(clock(), |weight: &u32| *weight as usize);
        for number in 0..20_000 {
            let key = number.to_string();
            cache.renew(&key, ready(Ok(1))).await.unwrap();
        }
        assert!(kept(&cache) <= 2 * PARTS * GENERATION, "{}", kept(&cache));
        for number in 0..100 {
            let key = number.to_string();
            cache.renew(&key, ready(Ok(1_200))).await.unwrap();
        }
        assert!(kept(&cache) <= 2 * PARTS, "a heavy value has a generation of its own");
    }
}
