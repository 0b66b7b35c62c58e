//! Fetches one document: small, soon, not too many at once, and under a rate limit for one host.
//!
//! A caller without credentials can name a host, as the address of a client's document or in the
//! metadata of a client that it registers. So each purpose has slots of its own, one host has a share of
//! them, and what strangers named is fetched at a rate for each host and for each address of a host: a
//! name can be had for any number of hosts at one address (adr/0114).

use super::purpose::FetchPurpose;
use crate::{
    domain::{Rate, Timestamp},
    outbound::{
        DnsResolver, OutboundClient, OutboundError, Policy, Request, Resolver, Share, Shares,
        TrustError,
    },
    rate_limiter::RateLimiter,
};
use hyper::{
    StatusCode,
    header::{self, HeaderValue},
};
use ipnet::{IpNet, Ipv6Net};
use std::{
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use url::Url;

/// How long a caller waits for a document at most.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// Bytes: twenty keys with their certificates, and then some.
const SIZE_LIMIT: usize = 64 * 1024;

/// How often one host is called for one purpose that strangers cause.
const HOST_RATE: Rate = Rate { burst: 60, refill: Duration::from_secs(1) };

/// How often one address is connected to for all of them: several hosts may share it.
const ADDRESS_RATE: Rate = Rate { burst: 120, refill: Duration::from_millis(500) };

/// Fetches documents of clients.
pub struct Fetcher {
    outbound: OutboundClient,
    /// How many are fetched at once for each purpose.
    slots: [Shares; FetchPurpose::ALL.len()],
    hosts: Mutex<RateLimiter<(FetchPurpose, String)>>,
    addresses: Mutex<RateLimiter<IpNet>>,
}

/// A fetch that may be made.
pub struct AdmittedFetch {
    url: Url,
    purpose: FetchPurpose,
    at: Timestamp,
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
    Unreachable(#[source] OutboundError),
    #[error("the answer has the status {0}")]
    Status(StatusCode),
}

impl From<OutboundError> for FetchFault {
    fn from(error: OutboundError) -> Self {
        match error {
            OutboundError::RateLimited => Self::Busy,
            other => Self::Unreachable(other),
        }
    }
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
        Self::limited(Policy { time_limit, size_limit: SIZE_LIMIT, ..policy }, resolver)
    }

    /// Fetches within the limits that `policy` has.
    pub fn limited(policy: Policy, resolver: Arc<dyn Resolver>) -> Result<Self, TrustError> {
        let outbound = OutboundClient::new(policy, resolver)?;
        let slots = FetchPurpose::ALL.map(|purpose| {
            let slots = purpose.slots();
            Shares::new(slots, slots / FetchPurpose::HOSTS)
        });
        Ok(Self { outbound, slots, hosts: Mutex::default(), addresses: Mutex::default() })
    }

    /// Takes a slot for a fetch and one of the rate of its host, where both are left.
    pub fn admit(
        &self,
        purpose: FetchPurpose,
        uri: &str,
        now: Timestamp,
    ) -> Result<AdmittedFetch, FetchFault> {
        let url = Url::parse(uri).map_err(|_| FetchFault::NoUrl)?;
        let host = url.host_str().ok_or(FetchFault::NoUrl)?;
        let slot = self.slots[purpose as usize].take(host).ok_or(FetchFault::Busy)?;
        if purpose.is_strangers() {
            let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
            let taken = hosts.take((purpose, host.to_owned()), HOST_RATE, now);
            taken.map_err(|_retry_at| FetchFault::Busy)?;
        }
        Ok(AdmittedFetch { url, purpose, at: now, _slot: slot })
    }

    /// Returns the document at an https address; a redirect is not followed.
    pub async fn fetch(&self, admitted: AdmittedFetch) -> Result<Vec<u8>, FetchFault> {
        let AdmittedFetch { url, purpose, at, _slot } = admitted;
        let accept = HeaderValue::from_static(purpose.accept());
        let mut request = Request::get(url).header(header::ACCEPT, accept);
        if purpose.is_provider() {
            request = request.allow_plain_http();
        }
        let may_connect = |address| !purpose.is_strangers() || self.may_connect(address, at);
        let answer = self.outbound.send_where(request, &may_connect).await?;
        if answer.status != StatusCode::OK {
            return Err(FetchFault::Status(answer.status));
        }
        Ok(answer.body)
    }

    /// Fetches for a caller that waits.
    pub async fn get(
        &self,
        purpose: FetchPurpose,
        uri: &str,
        now: Timestamp,
    ) -> Result<Vec<u8>, FetchFault> {
        self.fetch(self.admit(purpose, uri, now)?).await
    }

    fn may_connect(&self, address: IpAddr, now: Timestamp) -> bool {
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        addresses.take(machine(address), ADDRESS_RATE, now).is_ok()
    }
}

/// The network that one machine has: an IPv4 address, or a /64.
fn machine(address: IpAddr) -> IpNet {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::from(address).into(),
        IpAddr::V6(address) => Ipv6Net::new_assert(address, 64).trunc().into(),
    }
}

impl Default for Fetcher {
    fn default() -> Self {
        Self::new(Policy::default(), Arc::new(DnsResolver::of_system()))
            .expect("without added authorities there is none that could be wrong")
    }
}
