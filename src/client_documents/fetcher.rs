//! Gets one document: small, soon, and not too many at once.

use crate::outbound::{
    Outbound, OutboundError, Policy, Request, Resolver, SystemResolver, TrustError,
};
use hyper::{
    StatusCode,
    header::{self, HeaderValue},
};
use std::{sync::Arc, time::Duration};
use tokio::sync::Semaphore;
use url::Url;

/// How long a caller waits for a document at most.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// Bytes: twenty keys with their certificates, and then some.
const SIZE_LIMIT: usize = 64 * 1024;

/// How many documents are fetched at once.
const AT_ONCE: usize = 256;

/// Fetches documents of clients.
pub struct Fetcher {
    outbound: Outbound,
    slots: Semaphore,
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
        Ok(Self { outbound: Outbound::new(policy, resolver)?, slots: Semaphore::new(AT_ONCE) })
    }

    /// Returns the document at an https address; a redirect is not followed.
    pub async fn get(&self, uri: &str, accept: &'static str) -> Result<Vec<u8>, FetchFault> {
        let _slot = self.slots.try_acquire().map_err(|_| FetchFault::Busy)?;
        let url = Url::parse(uri).map_err(|_| FetchFault::NoUrl)?;
        let request = Request::get(url).header(header::ACCEPT, HeaderValue::from_static(accept));
        let answer = self.outbound.send(request).await?;
        if answer.status != StatusCode::OK {
            return Err(FetchFault::Status(answer.status));
        }
        Ok(answer.body)
    }
}

impl Default for Fetcher {
    fn default() -> Self {
        Self::new(Policy::default(), Arc::new(SystemResolver))
            .expect("without added authorities there is none that could be wrong")
    }
}
