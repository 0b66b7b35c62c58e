//! The cache of documents that clients are known by, at addresses that are their ids (adr/0092).

use super::{
    Fetcher,
    cache::{CacheRules, DocumentCache, DocumentKind, MissingDocument},
    purpose::FetchPurpose,
};
use crate::{
    crypto::{Dice, draw_text},
    domain::{Clock, Fingerprint, Rate, Timestamp, client::KnownClient},
};
use std::{sync::Arc, time::Duration};

/// Clients by the address of their document.
pub struct MetadataDocuments(DocumentCache<Metadata>);

struct Metadata(Arc<dyn Dice>);

impl DocumentKind for Metadata {
    type Document = KnownClient;
    type Fault = String;

    /// Any caller can have us call an address, so each is called once in half a minute. With documents
    /// of eight kilobytes, all of them are sixteen megabytes.
    const RULES: CacheRules = CacheRules {
        fresh: Duration::from_mins(5),
        stale: Duration::from_hours(1),
        rate: Rate { burst: 1, refill: Duration::from_secs(30) },
        rest: Duration::from_secs(30),
        capacity: 2_048,
        waiters_of_one: 64,
        waiters: 256,
    };

    fn purpose(&self) -> FetchPurpose {
        FetchPurpose::Metadata
    }

    fn read(&self, address: &str, bytes: Vec<u8>, now: Timestamp) -> Result<KnownClient, String> {
        let document = serde_json::from_slice(&bytes).map_err(|_| "it is no JSON".to_owned())?;
        // No token manages it: what is drawn here is told to no caller.
        let token = Fingerprint::of(draw_text(&*self.0, 32).as_bytes());
        KnownClient::from_document(address, &document, token, now).map_err(|why| why.to_string())
    }
}

impl MetadataDocuments {
    pub fn new(fetcher: Arc<Fetcher>, clock: Arc<dyn Clock>, dice: Arc<dyn Dice>) -> Self {
        Self(DocumentCache::new(Metadata(dice), fetcher, clock))
    }

    /// Returns the client whose document this node has in memory.
    pub fn cached(&self, address: &str) -> Option<Arc<KnownClient>> {
        self.0.cached(address)
    }

    /// Tells whether a caller that asks for a client now has its document fetched, or waits for a fetch.
    pub fn needs_fetch(&self, address: &str) -> bool {
        self.0.needs_fetch(address)
    }

    /// Returns the client whose document lies at an address.
    pub async fn get(&self, address: &str) -> Result<Arc<KnownClient>, MissingDocument> {
        self.0.newer_than(0, address).await.map(|cached| cached.document)
    }
}
