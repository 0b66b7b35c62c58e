//! The cache of key sets at the `jwks_uri`s of clients.

use super::{
    Fetcher,
    cache::{CacheRules, CachedDocument, DocumentCache, DocumentKind, MissingDocument},
    purpose::FetchPurpose,
};
use crate::{
    crypto::{ClientEvidence, ClientKeys, UnverifiedSignature},
    domain::{Clock, Rate, Timestamp},
};
use serde_json::Value;
use std::{sync::Arc, time::Duration};

/// Key sets by address: those of clients that were provisioned, and those of clients that registered
/// themselves, which can neither displace the former nor keep their callers waiting.
pub struct KeySets {
    provisioned: DocumentCache<KeySet>,
    self_registered: DocumentCache<KeySet>,
}

/// Where the keys of a client are.
#[derive(Clone, Copy)]
pub struct KeySetAddress<'a> {
    pub uri: &'a str,
    pub self_registered: bool,
}

struct KeySet(FetchPurpose);

impl DocumentKind for KeySet {
    type Document = ClientKeys;
    type Fault = String;

    /// A key that its client took away verifies nothing once its set is no longer fresh. A client may
    /// change its keys twice in a moment, but not for ever. With the longest keys in each set, all of
    /// them are some fifty megabytes.
    const RULES: CacheRules = CacheRules {
        fresh: Duration::from_mins(5),
        stale: Duration::from_hours(1),
        rate: Rate { burst: 3, refill: Duration::from_secs(30) },
        rest: Duration::from_secs(30),
        capacity: 1_024,
        waiters_of_one: 64,
        waiters: 256,
    };

    fn purpose(&self) -> FetchPurpose {
        self.0
    }

    fn read(&self, _: &str, bytes: Vec<u8>, _: Timestamp) -> Result<ClientKeys, String> {
        let set: Value = serde_json::from_slice(&bytes).map_err(|_| "it is not JSON".to_owned())?;
        let keys = ClientKeys::read(&set).ok_or_else(|| "it is no key set".to_owned())?;
        keys.map_err(|fault| format!("it {fault}"))
    }
}

impl From<MissingDocument> for UnverifiedSignature {
    fn from(missing: MissingDocument) -> Self {
        match missing {
            MissingDocument::Absent => Self::NoKey,
            MissingDocument::Busy => Self::Busy,
        }
    }
}

impl KeySets {
    pub fn new(fetcher: &Arc<Fetcher>, clock: &Arc<dyn Clock>) -> Self {
        let cache = |purpose| DocumentCache::new(KeySet(purpose), fetcher.clone(), clock.clone());
        Self {
            provisioned: cache(FetchPurpose::KeySet),
            self_registered: cache(FetchPurpose::SelfRegisteredKeySet),
        }
    }

    /// Tells whether the holder of the keys at an address has shown this: of those that we know, or of those that are there now.
    pub async fn verify(
        &self,
        address: KeySetAddress<'_>,
        evidence: &ClientEvidence<'_>,
    ) -> Result<(), UnverifiedSignature> {
        let cached = self.newer_than(0, address).await?;
        let verdict = cached.document.verify(evidence);
        if !verdict.is_err_and(|why| evidence.may_be_by_a_newer_key(why)) {
            return verdict;
        }
        match self.newer_than(cached.number, address).await {
            Ok(newer) => newer.document.verify(evidence),
            Err(MissingDocument::Busy) => Err(UnverifiedSignature::Busy),
            Err(MissingDocument::Absent) => verdict,
        }
    }

    async fn newer_than(
        &self,
        number: u64,
        address: KeySetAddress<'_>,
    ) -> Result<CachedDocument<ClientKeys>, MissingDocument> {
        let cache = if address.self_registered { &self.self_registered } else { &self.provisioned };
        cache.newer_than(number, address.uri).await
    }
}
