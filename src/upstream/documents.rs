//! The caches of what providers publish: metadata and key sets.

use super::{
    error::{Cause, Part, ProviderFailure, Refusal, TokenFault, UpstreamError},
    transcript::{Message, MessageKind, Transcript, shown_start},
};
use crate::{
    client_documents::{
        CacheRules, CachedDocument, DocumentCache, DocumentKind, Failure, FetchPurpose, Fetcher,
    },
    crypto::{ClientEvidence, ClientKeys, Jws},
    domain::{
        Clock, Rate, Timestamp, strict_json,
        upstream::{Issuer, Metadata, MetadataFault},
    },
};
use serde_json::Value;
use std::{fmt, sync::Arc, time::Duration};

/// For how long documents are used where their provider does not answer.
const STALE: Duration = Duration::from_hours(1);

/// A document can be asked for so often at once, and then twice in a minute: a provider may rotate its keys in the
/// middle of a sign-in, and any caller can name a key that it never had.
const RATE: Rate = Rate { burst: 3, refill: Duration::from_secs(30) };

/// For how long a provider that failed is left alone.
const REST: Duration = Duration::from_secs(5);

const CAPACITY: usize = 1_024;
const WAITERS_OF_ONE: usize = 64;
const WAITERS: usize = 256;

/// Metadata and keys of providers, by where they lie.
pub(super) struct Documents {
    metadata: DocumentCache<ProviderMetadata>,
    key_sets: DocumentCache<ProviderKeySet>,
}

struct ProviderMetadata;
struct ProviderKeySet;

/// A document, and how it begins, for transcripts.
pub(super) struct QuotedDocument<D> {
    document: D,
    text: String,
}

impl DocumentKind for ProviderMetadata {
    type Document = QuotedDocument<Metadata>;
    type Fault = MetadataFault;

    const RULES: CacheRules = CacheRules {
        fresh: Duration::from_mins(10),
        stale: STALE,
        rate: RATE,
        rest: REST,
        capacity: CAPACITY,
        waiters_of_one: WAITERS_OF_ONE,
        waiters: WAITERS,
    };

    fn purpose(&self) -> FetchPurpose {
        FetchPurpose::ProviderMetadata
    }

    /// An issuer and the same with a slash at its end have their metadata at one address: it is read as that of the
    /// one that it names, and compared with the one that was meant where it is used.
    fn read(
        &self,
        address: &str,
        bytes: Vec<u8>,
        _: Timestamp,
    ) -> Result<QuotedDocument<Metadata>, MetadataFault> {
        let bare = address.trim_end_matches("/.well-known/openid-configuration");
        let issuers = [bare.to_owned(), format!("{bare}/")];
        for issuer in issuers.iter().filter_map(|text| Issuer::parse(text).ok()) {
            match Metadata::read(&issuer, &bytes) {
                Err(MetadataFault::OtherIssuer) => {}
                read => {
                    return read
                        .map(|document| QuotedDocument { document, text: shown_start(&bytes) });
                }
            }
        }
        Err(MetadataFault::OtherIssuer)
    }
}

/// Why a key set cannot be used; its owner hears it in the log.
pub(super) struct KeySetFault(&'static str, Cause);

impl fmt::Display for KeySetFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl DocumentKind for ProviderKeySet {
    type Document = QuotedDocument<ClientKeys>;
    type Fault = KeySetFault;

    /// A key that its provider took away verifies nothing once its set is no longer fresh.
    const RULES: CacheRules =
        CacheRules { fresh: Duration::from_mins(5), ..ProviderMetadata::RULES };

    fn purpose(&self) -> FetchPurpose {
        FetchPurpose::ProviderKeySet
    }

    fn read(
        &self,
        _: &str,
        bytes: Vec<u8>,
        _: Timestamp,
    ) -> Result<QuotedDocument<ClientKeys>, KeySetFault> {
        let set = strict_json::object(&bytes)
            .map_err(|_| KeySetFault("it is not JSON, or has a member twice", Cause::NotJson))?;
        let keys = ClientKeys::read(&Value::Object(set)).and_then(Result::ok);
        let none =
            KeySetFault("it is no key set, or one with a weak or private key", Cause::NoKeySet);
        Ok(QuotedDocument { document: keys.ok_or(none)?, text: shown_start(&bytes) })
    }
}

impl Documents {
    pub(super) fn new(fetcher: &Arc<Fetcher>, clock: &Arc<dyn Clock>) -> Self {
        Self {
            metadata: DocumentCache::new(ProviderMetadata, fetcher.clone(), clock.clone()),
            key_sets: DocumentCache::new(ProviderKeySet, fetcher.clone(), clock.clone()),
        }
    }

    /// Returns the metadata of an issuer, which names that issuer exactly.
    pub(super) async fn metadata(
        &self,
        issuer: &Issuer,
        transcript: &Transcript,
        now: Timestamp,
    ) -> Result<Metadata, UpstreamError> {
        let address = issuer.metadata_url();
        let message = || Message::get(MessageKind::Metadata, &address, now);
        let Ok(cached) = self.metadata.newer_than(0, &address).await else {
            let error = match self.metadata.failure(&address).as_deref() {
                Some(Failure::Read(MetadataFault::Json(_))) => {
                    unavailable(Part::Metadata, Cause::NotJson)
                }
                Some(Failure::Read(fault)) => Refusal::from(*fault).into(),
                Some(Failure::Fetch(fault)) => unavailable(Part::Metadata, fault.into()),
                // Nothing has failed: it was asked for too often.
                None => unavailable(Part::Metadata, Cause::Busy),
            };
            transcript.note(|| message().failed(&error));
            return Err(error);
        };
        transcript.note(|| message().answered_by_document(&cached.document.text));
        let metadata = cached.document.document.clone();
        if metadata.issuer != *issuer {
            return Err(Refusal::from(MetadataFault::OtherIssuer).into());
        }
        Ok(metadata)
    }

    /// Tells whether a provider has signed this: by the keys that we know, or by those that it has now.
    pub(super) async fn verify(
        &self,
        metadata: &Metadata,
        jws: &Jws<'_>,
        transcript: &Transcript,
        now: Timestamp,
    ) -> Result<Result<(), TokenFault>, UpstreamError> {
        // RFC 8725 §3.1: by an algorithm that the provider says it uses.
        if !metadata.id_token_algorithms.contains(&jws.algorithm) {
            return Ok(Err(TokenFault::Algorithm));
        }
        let evidence = ClientEvidence::Signature(jws);
        let address = metadata.jwks_uri.as_str();
        let known = self.keys(address, 0, transcript, now).await?;
        let verdict = known.document.document.verify(&evidence);
        if !verdict.is_err_and(|why| evidence.may_be_by_a_newer_key(why)) {
            return Ok(verdict.map_err(TokenFault::Signature));
        }
        let verdict = match self.keys(address, known.number, transcript, now).await {
            Ok(newer) => newer.document.document.verify(&evidence),
            // The keys that we know are good: the provider has no others, or is not asked again so soon.
            Err(_) => verdict,
        };
        Ok(verdict.map_err(TokenFault::Signature))
    }

    async fn keys(
        &self,
        address: &str,
        number: u64,
        transcript: &Transcript,
        now: Timestamp,
    ) -> Result<CachedDocument<QuotedDocument<ClientKeys>>, UpstreamError> {
        let message = || Message::get(MessageKind::KeySet, address, now);
        let Ok(cached) = self.key_sets.newer_than(number, address).await else {
            let cause = match self.key_sets.failure(address).as_deref() {
                Some(Failure::Read(KeySetFault(_, cause))) => *cause,
                Some(Failure::Fetch(fault)) => fault.into(),
                None => Cause::Busy,
            };
            let error = unavailable(Part::KeySet, cause);
            transcript.note(|| message().failed(&error));
            return Err(error);
        };
        transcript.note(|| message().answered_by_document(&cached.document.text));
        Ok(cached)
    }
}

fn unavailable(part: Part, cause: Cause) -> UpstreamError {
    ProviderFailure { part, cause }.into()
}
