//! The documents that clients are known by, at addresses that are their ids (adr/0092).
//!
//! | what is kept | what is asked for | what happens |
//! |---|---|---|
//! | nothing | a client | fetched, unless the address failed within `REST` |
//! | a client younger than `FRESH` | a client | that one |
//! | an older one | a client | fetched; where that fails, that one, until it is `STALE` |
//!
//! Any caller can have us call an address, so each is called by one fetch at a time and no more often than
//! every `REST`.

use super::Fetcher;
use crate::{
    crypto::{Dice, draw_text},
    domain::{Clock, Fingerprint, Timestamp, client::KnownClient},
    generations::Bounded,
};
use std::{sync::Arc, time::Duration};
use tokio::sync::Mutex;

/// For how long a document is believed without looking again.
const FRESH: Duration = Duration::from_mins(5);

/// For how long it is believed where its address does not answer.
const STALE: Duration = Duration::from_hours(1);

/// For how long an address is not called again.
const REST: Duration = Duration::from_secs(30);

/// How many addresses are remembered; with documents of eight kilobytes, sixteen megabytes.
const MOST: usize = 2_048;

/// Clients by the address of their document.
pub struct MetadataDocuments {
    fetcher: Arc<Fetcher>,
    clock: Arc<dyn Clock>,
    dice: Arc<dyn Dice>,
    entries: Bounded<String, Arc<Mutex<Kept>>>,
}

#[derive(Default)]
struct Kept {
    client: Option<(Arc<KnownClient>, Timestamp)>,
    called_at: Option<Timestamp>,
}

impl Kept {
    fn younger(&self, age: Duration, now: Timestamp) -> Option<Arc<KnownClient>> {
        let (client, at) = self.client.as_ref()?;
        (now.since(*at) < age).then(|| client.clone())
    }
}

impl MetadataDocuments {
    pub fn new(fetcher: Arc<Fetcher>, clock: Arc<dyn Clock>, dice: Arc<dyn Dice>) -> Self {
        Self { fetcher, clock, dice, entries: Bounded::new(MOST) }
    }

    /// Returns the client whose document lies at an address, if there is one.
    pub async fn get(&self, address: &str) -> Option<Arc<KnownClient>> {
        let entry = self.entries.get_or_make(address, Arc::default);
        // Others who ask for the same wait for the one fetch.
        let mut kept = entry.lock().await;
        let now = self.clock.now();
        if let Some(client) = kept.younger(FRESH, now) {
            return Some(client);
        }
        let rests = kept.called_at.is_some_and(|at| now.since(at) < REST);
        if !rests {
            kept.called_at = Some(now);
            match self.fetch(address, now).await {
                Ok(client) => kept.client = Some((Arc::new(client), now)),
                Err(why) => {
                    tracing::info!(address, why, "the document of a client cannot be used");
                }
            }
        }
        kept.younger(STALE, now)
    }

    /// Says for the log why there is no client, and nothing of what came.
    async fn fetch(&self, address: &str, now: Timestamp) -> Result<KnownClient, String> {
        let bytes = self.fetcher.get(address, "application/json").await;
        let bytes = bytes.map_err(|fault| fault.in_full())?;
        let document = serde_json::from_slice(&bytes).map_err(|_| "it is no JSON".to_owned())?;
        // No token manages it: what is drawn here is told to no caller.
        let token = Fingerprint::of(draw_text(&*self.dice, 32).as_bytes());
        KnownClient::from_document(address, &document, token, now).map_err(|why| why.to_string())
    }
}
