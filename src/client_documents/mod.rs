//! A cache of what clients keep at addresses of their own: what they are, key sets, request objects and logos.
//!
//! Anyone may register such an address, and anyone may have us look there by naming the client. So
//! every call goes through the outbound guard, is small and short, and is made no faster than a rate
//! that callers cannot change (adr/0062). What is used again is in one kind of cache.

mod cache;
mod fetcher;
mod key_sets;
mod logos;
mod metadata;
mod purpose;
mod request_objects;

pub use cache::{
    CacheRules, CachedDocument, DocumentCache, DocumentKind, Failure, MissingDocument,
};
pub use fetcher::{FetchFault, Fetcher};
pub use key_sets::{KeySetAddress, KeySets};
pub use logos::Logos;
pub use metadata::MetadataDocuments;
pub use purpose::FetchPurpose;
pub use request_objects::RequestObjects;
