//! The cache of logos at the `logo_uri`s of clients, which pages show from here: a page calls no other host.
//!
//! No page waits for a logo: it gets what is cached, and a fetch goes on beside it. Only pictures made of
//! points are taken, known by their first bytes.

use super::{
    Fetcher,
    cache::{CacheRules, DocumentCache, DocumentKind},
    purpose::FetchPurpose,
};
use crate::domain::{
    Clock, Rate, Timestamp,
    picture::{Picture, PictureFacts},
};
use std::{sync::Arc, time::Duration};

/// Logos by address.
pub struct Logos(DocumentCache<Logo>);

struct Logo;

impl DocumentKind for Logo {
    type Document = Picture;
    type Fault = String;

    /// All of them are sixteen megabytes at most.
    const RULES: CacheRules = CacheRules {
        fresh: Duration::from_hours(1),
        stale: Duration::from_hours(24),
        rate: Rate { burst: 1, refill: Duration::from_mins(5) },
        rest: Duration::from_mins(5),
        capacity: 512,
        waiters_of_one: 0,
        waiters: 0,
    };

    fn purpose(&self) -> FetchPurpose {
        FetchPurpose::Logo
    }

    fn read(&self, _: &str, bytes: Vec<u8>, _: Timestamp) -> Result<Picture, String> {
        Picture::of_points(bytes).map_err(|fault| format!("it {fault}"))
    }
}

impl Logos {
    pub fn new(fetcher: Arc<Fetcher>, clock: Arc<dyn Clock>) -> Self {
        Self(DocumentCache::new(Logo, fetcher, clock))
    }

    /// Returns what is cached of the logo at an address, and has it fetched if that is due.
    pub fn look(&self, uri: &str) -> Option<PictureFacts> {
        let address = uri.split('#').next().unwrap_or_default();
        self.0.look(address).map(|picture| picture.facts.clone())
    }

    /// Returns the logo that has this hash.
    pub fn find(&self, hash: &str) -> Option<Arc<Picture>> {
        self.0.find(|picture| picture.facts.hash == hash)
    }
}
