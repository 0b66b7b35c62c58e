//! Fetches one document: small, soon, and not too many at once or from one host.

use super::purpose::FetchPurpose;
use crate::outbound::{
    Outbound, OutboundError, Policy, Request, Resolver, Share, Shares, SystemResolver, TrustError,
};
use hyper::{
    StatusCode,
    header::{self, HeaderValue},
};
use std::{sync::Arc, time::Duration};
use url::Url;

/// How long a caller waits for a document at most.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// Bytes: twenty keys with their certificates, and then some.
const SIZE_LIMIT: usize = 64 * 1024;

/// Fetches documents of clients.
pub struct Fetcher {
    outbound: Outbound,
    /// How many are fetched at once for each purpose.
    slots: [Shares; FetchPurpose::ALL.len()],
}

/// A fetch that may be made.
pub struct AdmittedFetch {
    url: Url,
    purpose: FetchPurpose,
    _slot: Share,
}

/// Why there is no document.
#[derive(Debug, thiserror::Error)]
pub enum FetchFault {
    #[error("too many documents are being fetched")]
    Busy,
    #[error("the address is no url")]
    NoUrl,
    #[error("it could not be fetched")]
    Unreachable(#[from] OutboundError),
    #[error("the answer has the status {0}")]
    Status(StatusCode),
}

impl FetchFault {
    /// Says why for the log, and nothing of what came.
    pub(super) fn in_full(&self) -> String {
        let cause = std::error::Error::source(self).map(ToString::to_string);
        cause.map_or(self.to_string(), |cause| format!("{self}: {cause}"))
    }
}

impl Fetcher {
    /// Fetches what `policy` allows; its limits of time and size are replaced by ours.
    pub fn new(policy: Policy, resolver: Arc<dyn Resolver>) -> Result<Self, TrustError> {
        Self::within(TIME_LIMIT, policy, resolver)
    }

    /// Fetches within another time than ours.
    pub fn within(
        time_limit: Duration,
        policy: Policy,
        resolver: Arc<dyn Resolver>,
    ) -> Result<Self, TrustError> {
        let policy = Policy { time_limit, size_limit: SIZE_LIMIT, ..policy };
        let outbound = Outbound::new(policy, resolver)?;
        let slots = FetchPurpose::ALL.map(|purpose| {
            let slots = purpose.slots();
            Shares::new(slots, slots / FetchPurpose::HOSTS)
        });
        Ok(Self { outbound, slots })
    }

    /// Takes a slot for a fetch, where its purpose and its host have one left.
    pub fn admit(&self, purpose: FetchPurpose, uri: &str) -> Result<AdmittedFetch, FetchFault> {
        let url = Url::parse(uri).map_err(|_| FetchFault::NoUrl)?;
        let host = url.host_str().ok_or(FetchFault::NoUrl)?;
        let slot = self.slots[purpose as usize].take(host).ok_or(FetchFault::Busy)?;
        Ok(AdmittedFetch { url, purpose, _slot: slot })
    }

    /// Returns the document at an https address; a redirect is not followed.
    pub async fn fetch(&self, admitted: AdmittedFetch) -> Result<Vec<u8>, FetchFault> {
        let AdmittedFetch { url, purpose, _slot } = admitted;
        let accept = HeaderValue::from_static(purpose.accept());
        let request = Request::get(url).header(header::ACCEPT, accept);
        let answer = self.outbound.send(request).await?;
        if answer.status != StatusCode::OK {
            return Err(FetchFault::Status(answer.status));
        }
        Ok(answer.body)
    }

    /// Fetches for a caller that waits, where a slot is left.
    pub async fn get(&self, purpose: FetchPurpose, uri: &str) -> Result<Vec<u8>, FetchFault> {
        self.fetch(self.admit(purpose, uri)?).await
    }
}

impl Default for Fetcher {
    fn default() -> Self {
        Self::new(Policy::default(), Arc::new(SystemResolver))
            .expect("without added authorities there is none that could be wrong")
    }
}
