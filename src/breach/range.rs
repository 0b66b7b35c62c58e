//! A server that lists the leaked passwords of a range: k-anonymity.
//!
//! It is told the first five digits of a hash and lists the rest of every hash that begins so. It is
//! asked to pad its answer, so that its length does not tell an observer which range it was.

use super::digest::{DIGITS, Digest, Line, PREFIX};
use crate::outbound::{OutboundClient, OutboundError, Policy, Request, Resolver, TrustError};
use hyper::{
    StatusCode,
    header::{HeaderName, HeaderValue},
};
use std::{sync::Arc, time::Duration};
use url::Url;

/// How long a person waits for the answer at most.
const TIME_LIMIT: Duration = Duration::from_secs(3);

/// A range has about a thousand lines of 40 bytes, and as many again for padding.
const SIZE_LIMIT: usize = 512 * 1024;

/// A server that was named by the operator.
pub struct RangeServer {
    base: Url,
    outbound: OutboundClient,
}

/// Why a server did not say whether a password has leaked.
#[derive(Debug, thiserror::Error)]
pub enum RangeFault {
    #[error("it could not be asked")]
    Unreachable(#[from] OutboundError),
    #[error("it answered with status {0}")]
    Status(StatusCode),
    #[error("its answer is no list of hashes")]
    Malformed,
}

impl RangeServer {
    /// Prepares to ask below `base`, such as `https://leaks.example/range/`.
    pub fn new(base: Url, policy: Policy, resolver: Arc<dyn Resolver>) -> Result<Self, TrustError> {
        Self::within(TIME_LIMIT, base, policy, resolver)
    }

    pub(super) fn within(
        time_limit: Duration,
        mut base: Url,
        policy: Policy,
        resolver: Arc<dyn Resolver>,
    ) -> Result<Self, TrustError> {
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        let policy = Policy { time_limit, size_limit: SIZE_LIMIT, ..policy };
        Ok(Self { base, outbound: OutboundClient::new(policy, resolver)? })
    }

    pub(super) async fn has(&self, digest: &Digest) -> Result<bool, RangeFault> {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{}", url.path(), digest.prefix()));
        let padded = HeaderName::from_static("add-padding");
        let mut request = Request::get(url).header(padded, HeaderValue::from_static("true"));
        if self.base.scheme() == "http" {
            // `serve` refuses it anywhere but on loopback.
            request = request.allow_plain_http();
        }
        let answer = self.outbound.send(request).await?;
        if answer.status != StatusCode::OK {
            return Err(RangeFault::Status(answer.status));
        }
        lists(&answer.body, digest.suffix())
    }
}

/// Tells whether an answer lists a suffix; all of it must be a list, or none of it is believed.
fn lists(answer: &[u8], suffix: &[u8]) -> Result<bool, RangeFault> {
    let mut found = false;
    for text in answer.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end) {
        if text.is_empty() {
            continue;
        }
        let line = Line::<{ DIGITS - PREFIX }>::parse(text).ok_or(RangeFault::Malformed)?;
        found |= line.leaked && line.digits == suffix;
    }
    Ok(found)
}
