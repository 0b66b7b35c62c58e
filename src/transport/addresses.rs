//! Which addresses are limited, and which of them are counted together.

use ipnet::{IpNet, Ipv6Net};
use std::{collections::HashMap, net::IpAddr};
use url::{Host, Url};

/// Whose connections and requests are limited by their address.
#[derive(Clone, Debug, Default)]
pub struct AddressRules {
    proxies: Vec<IpNet>,
    exempts_loopback: bool,
}

impl AddressRules {
    /// Exempts the networks of trusted proxies, behind which many callers share an address; and
    /// loopback where the issuer itself is on loopback.
    ///
    /// Under any other issuer a caller on loopback is a proxy that the operator did not name, or a
    /// program like any other.
    pub fn new(issuer: &str, proxies: Vec<IpNet>) -> Self {
        Self { proxies, exempts_loopback: is_on_loopback(issuer) }
    }

    /// Tells whether forwarded headers from this address are believed.
    pub fn is_proxy(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.proxies.iter().any(|network| network.contains(&address))
    }

    /// Tells whether limits apply to this address.
    pub fn is_limited(&self, address: IpAddr) -> bool {
        let exempt = self.exempts_loopback && address.to_canonical().is_loopback();
        !exempt && !self.is_proxy(address)
    }
}

/// Tells whether a URL names a host that only this machine can reach.
pub fn is_on_loopback(url: &str) -> bool {
    match Url::parse(url).ok().as_ref().and_then(Url::host) {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// The prefixes of IPv6 that are counted, and how many times the share of one address each has.
///
/// One machine has a /64; one customer of a provider has a /56, or a /48.
const IPV6_PREFIXES: [(u8, u32); 3] = [(64, 1), (56, 2), (48, 4)];

/// Returns the networks in which an address is counted, the narrowest first, and how many times
/// the share of one address each of them has.
pub fn networks(address: IpAddr) -> impl Iterator<Item = (IpNet, u32)> + Clone {
    let address = address.to_canonical();
    let prefixes = match address {
        IpAddr::V4(_) => &[(32, 1)][..],
        IpAddr::V6(_) => &IPV6_PREFIXES,
    };
    prefixes.iter().map(move |(prefix, share)| (network(address, *prefix), *share))
}

/// Returns the narrowest network in which an address is counted: all of it is one machine's.
pub fn machine(address: IpAddr) -> IpNet {
    let address = address.to_canonical();
    match address {
        IpAddr::V4(_) => address.into(),
        IpAddr::V6(_) => network(address, IPV6_PREFIXES[0].0),
    }
}

/// Returns the network of an IPv6 address, of so many bits; an IPv4 address is a network by itself.
pub fn network(address: IpAddr, prefix: u8) -> IpNet {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::from(address).into(),
        IpAddr::V6(address) => {
            Ipv6Net::new(address, prefix).expect("our prefixes are below 128").trunc().into()
        }
    }
}

/// How much of something each network holds; a network that holds nothing is not kept.
#[derive(Debug)]
pub struct AddressCounts {
    per_address: usize,
    held: HashMap<IpNet, usize>,
}

impl AddressCounts {
    pub fn new(per_address: usize) -> Self {
        Self { per_address, held: HashMap::new() }
    }

    /// Counts one more, unless one of the networks of this address holds its share already.
    pub fn take(&mut self, address: IpAddr) -> bool {
        let is_full = |(network, share): (IpNet, u32)| {
            let share = usize::try_from(share).unwrap_or(usize::MAX);
            self.held(network) >= self.per_address.saturating_mul(share)
        };
        if networks(address).any(is_full) {
            return false;
        }
        self.add(address);
        true
    }

    /// Counts one more, whatever is held already.
    pub fn add(&mut self, address: IpAddr) {
        for (network, _) in networks(address) {
            *self.held.entry(network).or_default() += 1;
        }
    }

    pub fn give_back(&mut self, address: IpAddr) {
        for (network, _) in networks(address) {
            if let Some(held) = self.held.get_mut(&network) {
                *held -= 1;
                if *held == 0 {
                    self.held.remove(&network);
                }
            }
        }
    }

    pub fn held(&self, network: IpNet) -> usize {
        self.held.get(&network).copied().unwrap_or_default()
    }

    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn loopback_is_exempt_only_where_the_issuer_is_on_loopback() {
        for (issuer, is_limited) in [
            ("http://localhost:8080", false),
            ("http://127.0.0.1", false),
            ("https://[::1]:8443", false),
            ("https://id.example.com", true),
            ("https://localhost.example.com", true),
            ("no url", true),
        ] {
            let rules = AddressRules::new(issuer, Vec::new());
            for address in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
                assert_eq!(rules.is_limited(ip(address)), is_limited, "{issuer} {address}");
            }
            assert!(rules.is_limited(ip("192.0.2.1")), "{issuer}");
        }
    }

    #[test]
    fn trusted_proxies_are_exempt_by_any_spelling() {
        let proxies = vec!["10.0.0.0/8".parse().unwrap()];
        let rules = AddressRules::new("https://id.example.com", proxies);
        for address in ["10.1.2.3", "::ffff:10.1.2.3"] {
            assert!(rules.is_proxy(ip(address)) && !rules.is_limited(ip(address)), "{address}");
        }
        assert!(rules.is_limited(ip("11.0.0.1")));
    }

    #[test]
    fn ipv6_is_counted_by_machine_and_by_customer() {
        let mut counts = AddressCounts::new(3);
        let machine = |number: u16| ip(&format!("2001:db8:0:{number:x}::{number:x}"));
        assert_eq!((0..9).filter(|_| counts.take(machine(1))).count(), 3);
        assert!(!counts.take(ip("2001:db8:0:1:ffff::2")), "the same /64");
        assert_eq!((2..99).filter(|number| counts.take(machine(*number))).count(), 3, "one /56");
        let elsewhere = (0x100..0x2000).filter(|number| counts.take(machine(*number)));
        assert_eq!(elsewhere.count(), 6, "one /48");
        assert!(counts.take(ip("2001:db8:1::1")), "another customer");
        assert_eq!((0..9).filter(|_| counts.take(ip("192.0.2.1"))).count(), 3);
        assert!(!counts.take(ip("::ffff:192.0.2.1")));
        assert!(counts.take(ip("192.0.2.2")));
    }

    #[test]
    fn nothing_is_kept_of_an_address_that_holds_nothing() {
        let mut counts = AddressCounts::new(2);
        for address in ["2001:db8::1", "192.0.2.1", "192.0.2.1"] {
            assert!(counts.take(ip(address)));
        }
        for address in ["2001:db8::2", "192.0.2.1", "192.0.2.1"] {
            counts.give_back(ip(address));
        }
        assert!(counts.is_empty());
    }
}
