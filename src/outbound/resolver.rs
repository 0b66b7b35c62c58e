//! Turns a name into addresses, with a cache and without a thread that waits for it: the system's `getaddrinfo`
//! blocks one for as long as a name server is silent (adr/0115).

use super::txt;
use hickory_resolver::{
    Hosts, TokioResolver,
    config::{ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts},
    net::runtime::TokioRuntimeProvider,
    proto::{
        op::Query,
        rr::{Name, RecordType},
    },
    system_conf::read_system_conf,
};
use std::{
    fs,
    future::Future,
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::Path,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};
use tokio::time::timeout;

/// The addresses of a name, once they are known.
pub type Addresses<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Finds the addresses of a name; asked once a request, and its answer is what is connected to.
pub trait Resolver: Send + Sync {
    fn addresses_of<'a>(&'a self, host: &'a str) -> Addresses<'a>;
}

/// How long a name may take, all servers and tries together.
pub(super) const DEADLINE: Duration = Duration::from_secs(4);

/// How long one try of one server may take.
const ONE_TRY: Duration = Duration::from_millis(1_500);

/// For how long an answer is used at most, and that there is none.
const LONGEST_USE: Duration = Duration::from_mins(5);
const LONGEST_ABSENCE: Duration = Duration::from_secs(30);

/// How many answers are cached.
const ANSWERS: u64 = 1_024;

/// How many questions one connection to a server carries at once: more than are ever asked.
const QUESTIONS: usize = 1_024;

const HOSTS: &str = "/etc/hosts";
const RESOLV_CONF: &str = "/etc/resolv.conf";

/// Asks name servers: those of the system, or those that the operator names. What `/etc/hosts` says of a
/// name comes first.
pub struct DnsResolver {
    /// Those of the system where there is none.
    servers: Vec<SocketAddr>,
    current: Mutex<Option<CachedNames>>,
}

/// What was made of the system's files, and when they had been written.
struct CachedNames {
    written: [Option<SystemTime>; 2],
    names: Arc<Names>,
}

pub(super) struct Names {
    hosts: Hosts,
    resolver: TokioResolver,
    /// For TXT records, without a cache.
    pub(super) txt: TokioResolver,
}

impl DnsResolver {
    /// Asks the servers that the system names, also after they have changed.
    pub fn of_system() -> Self {
        Self::asking(Vec::new())
    }

    /// Asks these servers, or those of the system where there is none.
    pub fn asking(servers: Vec<SocketAddr>) -> Self {
        Self { servers, current: Mutex::new(None) }
    }

    /// Returns what the system's files say now; they are read again where they have changed.
    pub(super) fn names(&self) -> io::Result<Arc<Names>> {
        let written = [HOSTS, RESOLV_CONF].map(written_at);
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(current) = current.as_ref().filter(|current| current.written == written) {
            return Ok(current.names.clone());
        }
        let names = Arc::new(Names::new(&self.servers)?);
        *current = Some(CachedNames { written, names: names.clone() });
        Ok(names)
    }
}

fn written_at(path: impl AsRef<Path>) -> Option<SystemTime> {
    fs::metadata(path).and_then(|file| file.modified()).ok()
}

impl Resolver for DnsResolver {
    fn addresses_of<'a>(&'a self, host: &'a str) -> Addresses<'a> {
        Box::pin(async move {
            let names = self.names()?;
            let found = timeout(DEADLINE, names.addresses_of(host)).await;
            found.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        })
    }
}

impl Names {
    fn new(servers: &[SocketAddr]) -> io::Result<Self> {
        let (config, options) = match servers {
            [] => of_system(),
            _ => (asking(servers), ResolverOpts::default()),
        };
        let options = bounded(options);
        let txt = txt::without_cache(config.clone(), options.clone())?;
        let provider = TokioRuntimeProvider::default();
        let mut builder = TokioResolver::builder_with_config(config, provider);
        *builder.options_mut() = options;
        let resolver = builder.build().map_err(io::Error::other)?;
        // A file that cannot be read names no host.
        Ok(Self { hosts: Hosts::from_system().unwrap_or_default(), resolver, txt })
    }

    async fn addresses_of(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let name = Name::from_utf8(host).map_err(io::Error::other)?;
        let listed = self.listed(&name);
        if !listed.is_empty() {
            return Ok(listed);
        }
        let found = self.resolver.lookup_ip(name).await.map_err(io::Error::other)?;
        Ok(by_turns(found.iter().collect()))
    }

    /// What the system's file says of a name: it is asked for nothing else then.
    fn listed(&self, name: &Name) -> Vec<IpAddr> {
        let of_type = |kind| self.hosts.lookup_static_host(&Query::query(name.clone(), kind));
        let found = [RecordType::A, RecordType::AAAA].into_iter().filter_map(of_type);
        found
            .flat_map(|lookup| {
                lookup
                    .answers()
                    .iter()
                    .filter_map(|record| record.data.ip_addr())
                    .collect::<Vec<_>>()
            })
            .collect()
    }
}

/// What the system says; as for its own resolver, a server on this machine where it says nothing.
fn of_system() -> (ResolverConfig, ResolverOpts) {
    read_system_conf().unwrap_or_else(|error| {
        tracing::warn!(%error, "the system names no name server: one on this machine is asked");
        (asking(&[SocketAddr::from((Ipv4Addr::LOCALHOST, 53))]), ResolverOpts::default())
    })
}

fn asking(servers: &[SocketAddr]) -> ResolverConfig {
    let at = |address: &SocketAddr| {
        let mut connections = vec![ConnectionConfig::udp(), ConnectionConfig::tcp()];
        for connection in &mut connections {
            connection.port = address.port();
        }
        NameServerConfig::new(address.ip(), true, connections)
    };
    ResolverConfig::from_parts(None, Vec::new(), servers.iter().map(at).collect())
}

fn bounded(mut options: ResolverOpts) -> ResolverOpts {
    options.timeout = options.timeout.min(ONE_TRY);
    options.attempts = options.attempts.min(2);
    options.cache_size = ANSWERS;
    options.positive_max_ttl = Some(LONGEST_USE);
    options.negative_max_ttl = Some(LONGEST_ABSENCE);
    options.max_active_requests = QUESTIONS;
    // It was looked at before.
    options.use_hosts_file = ResolveHosts::Never;
    options
}

/// Puts addresses of both kinds by turns, so that a network which has one kind alone soon meets it
/// (RFC 8305 §4).
fn by_turns(addresses: Vec<IpAddr>) -> Vec<IpAddr> {
    let (six, four): (Vec<IpAddr>, Vec<IpAddr>) = addresses.into_iter().partition(IpAddr::is_ipv6);
    let longest = six.len().max(four.len());
    (0..longest).flat_map(|at| [six.get(at), four.get(at)]).flatten().copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_both_kinds_are_tried_by_turns() {
        let ips = |texts: &[&str]| texts.iter().map(|ip| ip.parse().unwrap()).collect::<Vec<_>>();
        let given = ips(&["1.1.1.1", "1.1.1.2", "1.1.1.3", "::1"]);
        assert_eq!(by_turns(given), ips(&["::1", "1.1.1.1", "1.1.1.2", "1.1.1.3"]));
        assert_eq!(by_turns(Vec::new()), Vec::<IpAddr>::new());
    }

    #[test]
    fn what_a_system_says_is_bounded() {
        let mut patient = ResolverOpts::default();
        (patient.timeout, patient.attempts) = (Duration::from_secs(30), 9);
        let bounded = bounded(patient);
        assert_eq!((bounded.timeout, bounded.attempts), (ONE_TRY, 2));
    }
}
