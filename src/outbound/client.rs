//! The client: checks the destination, connects, sends one request.

use super::{
    DnsResolver, OutboundError, Request, Resolver, Response, TrustError,
    address::{Reach, reach},
    destination::Destination,
    exchange::{Reading, exchange},
    tls,
};
use hyper::StatusCode;
use std::{io, net::IpAddr, sync::Arc, time::Duration};
use tokio::{net::TcpStream, time};
use tokio_rustls::TlsConnector;
use url::Host;

/// How many addresses of one name are tried.
const ATTEMPTS: usize = 4;

/// Whether an address may be connected to once more.
pub type MayConnect<'a> = dyn Fn(IpAddr) -> bool + Send + Sync + 'a;

/// Limits of every request.
pub struct Policy {
    /// Lets requests reach this machine and its own networks. Link-local addresses stay closed:
    /// that is where clouds hand out credentials.
    pub allow_private_networks: bool,
    /// Trust anchors beside the public ones, as PEM.
    pub extra_ca: Option<Vec<u8>>,
    /// From the question to the resolver until the last byte of the answer.
    pub time_limit: Duration,
    /// The most bytes a body may have; a longer one is an error and never cut.
    pub size_limit: usize,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            allow_private_networks: false,
            extra_ca: None,
            time_limit: Duration::from_secs(10),
            size_limit: 1024 * 1024,
        }
    }
}

/// Calls servers on the internet, and none inside our own network.
pub struct OutboundClient {
    allow_private_networks: bool,
    time_limit: Duration,
    size_limit: usize,
    tls: TlsConnector,
    resolver: Arc<dyn Resolver>,
}

impl OutboundClient {
    pub fn new(policy: Policy, resolver: Arc<dyn Resolver>) -> Result<Self, TrustError> {
        let Policy { allow_private_networks, extra_ca, time_limit, size_limit } = policy;
        let tls = tls::connector(extra_ca.as_deref())?;
        Ok(Self { allow_private_networks, time_limit, size_limit, tls, resolver })
    }

    /// Calls as the default policy has it.
    pub fn usual() -> Self {
        Self::new(Policy::default(), Arc::new(DnsResolver::of_system()))
            .expect("only trust anchors that are added can be unreadable")
    }

    /// Returns the whole answer, whatever its status, or why there is none.
    pub async fn send(&self, request: Request) -> Result<Response, OutboundError> {
        self.send_where(request, &|_| true).await
    }

    /// The same, where an address is connected to only if `may_connect` says so.
    pub async fn send_where(
        &self,
        request: Request,
        may_connect: &MayConnect<'_>,
    ) -> Result<Response, OutboundError> {
        let reading = Reading::Whole { size_limit: self.size_limit };
        let conversation = self.converse(request, reading, may_connect);
        let limited = time::timeout(self.time_limit, conversation);
        limited.await.unwrap_or(Err(OutboundError::TimedOut))
    }

    /// Returns the status of the answer, of which nothing else is read, or why there is none.
    pub async fn send_for_status(&self, request: Request) -> Result<StatusCode, OutboundError> {
        let limited =
            time::timeout(self.time_limit, self.converse(request, Reading::Head, &|_| true));
        let answer = limited.await.unwrap_or(Err(OutboundError::TimedOut));
        answer.map(|answer| answer.status)
    }

    async fn converse(
        &self,
        request: Request,
        reading: Reading,
        may_connect: &MayConnect<'_>,
    ) -> Result<Response, OutboundError> {
        let destination = Destination::of(&request.url, request.plain_http)?;
        let message = request.into_message(&destination);
        let addresses = self.addresses_of(&destination.host).await?;
        let stream = self.connect(&addresses, destination.port, may_connect).await?;
        if !destination.secure {
            return exchange(stream, message, reading).await;
        }
        let name = destination.certificate_name()?;
        let stream = self.tls.connect(name, stream).await.map_err(OutboundError::Tls)?;
        exchange(stream, message, reading).await
    }

    /// Resolves once and checks every address; the connection goes to one of those returned.
    ///
    /// A name with a public and a private address is refused, not filtered: such an answer is an
    /// attack or a mistake, and neither deserves a request.
    async fn addresses_of(&self, host: &Host<String>) -> Result<Vec<IpAddr>, OutboundError> {
        let addresses = match host {
            Host::Ipv4(address) => vec![IpAddr::from(*address)],
            Host::Ipv6(address) => vec![IpAddr::from(*address)],
            Host::Domain(name) => {
                self.resolver.addresses_of(name).await.map_err(OutboundError::Unresolved)?
            }
        };
        if addresses.is_empty() {
            return Err(OutboundError::Unresolved(io::ErrorKind::NotFound.into()));
        }
        if !addresses.iter().all(|address| self.admits(*address)) {
            return Err(OutboundError::Forbidden);
        }
        Ok(addresses)
    }

    fn admits(&self, address: IpAddr) -> bool {
        match reach(address) {
            Reach::Public => true,
            Reach::Private => self.allow_private_networks,
            Reach::Never => false,
        }
    }

    /// Connects to the first address that answers; none may use up the time of the others.
    async fn connect(
        &self,
        addresses: &[IpAddr],
        port: u16,
        may_connect: &MayConnect<'_>,
    ) -> Result<TcpStream, OutboundError> {
        let candidates = &addresses[..addresses.len().min(ATTEMPTS)];
        let timeout = self.time_limit / u32::try_from(candidates.len()).unwrap_or(1);
        let mut failure: Option<io::Error> = None;
        for address in candidates {
            if !may_connect(*address) {
                continue;
            }
            match time::timeout(timeout, TcpStream::connect((*address, port))).await {
                Ok(Ok(stream)) => {
                    stream.set_nodelay(true).map_err(OutboundError::Unreachable)?;
                    return Ok(stream);
                }
                Ok(Err(error)) => failure = Some(error),
                Err(_) => failure = Some(io::ErrorKind::TimedOut.into()),
            }
        }
        Err(failure.map_or(OutboundError::RateLimited, OutboundError::Unreachable))
    }
}
