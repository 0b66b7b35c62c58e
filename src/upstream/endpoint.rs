//! One call of a provider: at most so many at once, within limits of time and size.

use super::error::{Cause, Part, ProviderFailure};
use crate::outbound::{OutboundClient, Request, Response, Shares};
use hyper::header::HeaderValue;
use url::Url;

/// How many calls are made at once, and of one provider.
const AT_ONCE: usize = 256;
const AT_ONCE_OF_ONE: usize = 64;

/// Calls providers, beyond their documents.
pub(super) struct Endpoints {
    outbound: OutboundClient,
    shares: Shares,
}

impl Endpoints {
    pub(super) fn new(outbound: OutboundClient) -> Self {
        Self { outbound, shares: Shares::new(AT_ONCE, AT_ONCE_OF_ONE) }
    }

    /// Sends a request to an address that a provider named, or that is its own.
    pub(super) async fn call(
        &self,
        part: Part,
        url: &Url,
        request: Request,
    ) -> Result<Response, ProviderFailure> {
        let host = url.host_str().unwrap_or_default();
        let busy = ProviderFailure { part, cause: Cause::Busy };
        let _share = self.shares.take(host).ok_or(busy)?;
        // Plain http is read from metadata on loopback alone.
        let answer = self.outbound.send(request.allow_plain_http()).await;
        answer.map_err(|error| ProviderFailure { part, cause: Cause::from(&error) })
    }
}

/// A header that appears in no log of headers.
pub(super) fn secret_header(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}
