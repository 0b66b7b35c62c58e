//! Remembers what was read for less than a second.

use super::hydrate::HydrateError;
use crate::clock::Stopwatch;
use moka::future::Cache;
use std::{future::Future, time::Duration};

/// How old a value may be: under the second within which changes take effect.
const FRESH: Duration = Duration::from_millis(900);

/// The most weight that is kept at once; a read beyond it pushes out another value.
const MOST: u64 = 10_000;

/// Values by key, each with the time since its reading began; clones share them.
#[derive(Clone)]
pub(super) struct Recent<V> {
    kept: Cache<Box<str>, Aged<V>>,
}

#[derive(Clone)]
struct Aged<V> {
    value: V,
    /// Since its reading began.
    since: Stopwatch,
}

impl<V: Clone + Send + Sync + 'static> Recent<V> {
    /// Keeps values that weigh as `weight` says.
    pub(super) fn new(weight: fn(&V) -> u32) -> Self {
        let kept = Cache::builder().max_capacity(MOST).time_to_live(FRESH);
        let kept = kept.weigher(move |_, aged: &Aged<V>| weight(&aged.value));
        Self { kept: kept.build() }
    }

    /// Returns the value of `key` as it was less than a second ago; `read` reads it if none is kept.
    ///
    /// Callers that ask for one key at once share one reading.
    pub(super) async fn get<R>(&self, key: &str, read: impl Fn() -> R) -> Result<V, HydrateError>
    where
        R: Future<Output = Result<V, HydrateError>>,
    {
        match self.kept.get(key).await {
            Some(aged) if aged.since.elapsed() < FRESH => return Ok(aged.value),
            // It was old when its reading ended.
            Some(_) => self.kept.invalidate(key).await,
            None => {}
        }
        // Boxed: most calls end above, and should not carry what a reading needs.
        Box::pin(self.read_shared(key, read)).await
    }

    async fn read_shared<R>(&self, key: &str, read: impl Fn() -> R) -> Result<V, HydrateError>
    where
        R: Future<Output = Result<V, HydrateError>>,
    {
        let asked = Stopwatch::start();
        let shared = self.kept.try_get_with(key.into(), Aged::read(read()));
        let Aged { value, since } = shared.await.map_err(|error| HydrateError::clone(&error))?;
        // The shared reading may have begun long before this caller asked.
        let age_when_asked = since.elapsed().saturating_sub(asked.elapsed());
        if age_when_asked < FRESH { Ok(value) } else { self.renew(key, read()).await }
    }

    /// Reads the value of `key` now and keeps it.
    pub(super) async fn renew<R>(&self, key: &str, read: R) -> Result<V, HydrateError>
    where
        R: Future<Output = Result<V, HydrateError>>,
    {
        let aged = Aged::read(read).await?;
        self.kept.insert(key.into(), aged.clone()).await;
        Ok(aged.value)
    }

    /// Keeps the value of `key` no longer.
    pub(super) async fn forget(&self, key: &str) {
        self.kept.invalidate(key).await;
    }

    /// Returns the value that is kept for `key`, however old.
    pub(super) async fn kept(&self, key: &str) -> Option<V> {
        self.kept.get(key).await.map(|aged| aged.value)
    }
}

impl<V> Aged<V> {
    async fn read<R>(reading: R) -> Result<Self, HydrateError>
    where
        R: Future<Output = Result<V, HydrateError>>,
    {
        let since = Stopwatch::start();
        Ok(Self { value: reading.await?, since })
    }
}
