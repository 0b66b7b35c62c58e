//! Documents of clients: fetched where they have registered them, and nothing inside our network.

use crate::{
    client_documents::{Fetcher, KeySets, Logos, MetadataDocuments, RequestObjects},
    system::System,
};
use std::sync::Arc;

pub(in crate::http) struct Documents {
    pub fetcher: Arc<Fetcher>,
    /// The keys of clients that have a `jwks_uri`.
    pub key_sets: KeySets,
    /// At the `logo_uri`s of clients.
    pub logos: Logos,
    /// At the addresses by which some clients are known.
    pub metadata: MetadataDocuments,
    /// At the `request_uris` of clients.
    pub request_objects: RequestObjects,
}

impl Documents {
    pub(super) fn new(system: &System, fetcher: Fetcher) -> Self {
        let (fetcher, clock) = (Arc::new(fetcher), system.clock());
        Self {
            key_sets: KeySets::new(&fetcher, &clock),
            logos: Logos::new(fetcher.clone(), clock.clone()),
            metadata: MetadataDocuments::new(fetcher.clone(), clock.clone(), system.dice()),
            request_objects: RequestObjects::new(fetcher.clone(), clock),
            fetcher,
        }
    }
}
