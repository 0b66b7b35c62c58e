//! Request objects at addresses that their clients registered (RFC 9101 §5.2), under a rate limit.
//!
//! They are fetched each time, for a client may replace what lies there. Any browser can have us do it,
//! so an address is called at `RATE` and no faster.

use super::{FetchFault, FetchPurpose, Fetcher};
use crate::{
    domain::{Clock, Rate, Timestamp},
    two_generation_cache::BoundedCache,
};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// How often one address is called by this node.
const RATE: Rate = Rate { burst: 60, refill: Duration::from_millis(200) };

/// How many addresses are remembered.
const MOST: usize = 2_048;

pub struct RequestObjects {
    fetcher: Arc<Fetcher>,
    clock: Arc<dyn Clock>,
    /// When the whole of `RATE` will have come back for each address.
    full_at: BoundedCache<String, Arc<Mutex<Timestamp>>>,
}

impl RequestObjects {
    pub fn new(fetcher: Arc<Fetcher>, clock: Arc<dyn Clock>) -> Self {
        Self { fetcher, clock, full_at: BoundedCache::new(MOST) }
    }

    /// Returns what lies at an address; a fragment is no part of it.
    pub async fn get(&self, uri: &str, self_registered: bool) -> Result<Vec<u8>, FetchFault> {
        let address = uri.split('#').next().unwrap_or_default();
        let entry = self.full_at.get_or_make(address, Arc::default);
        let now = self.clock.now();
        {
            let mut full_at = entry.lock().unwrap_or_else(PoisonError::into_inner);
            let owed = (*full_at).min(now + RATE.whole());
            *full_at = RATE.take(owed, now).map_err(|_| FetchFault::Busy)?;
        }
        let purpose = if self_registered {
            FetchPurpose::SelfRegisteredRequestObject
        } else {
            FetchPurpose::RequestObject
        };
        self.fetcher.get(purpose, address, now).await
    }
}
