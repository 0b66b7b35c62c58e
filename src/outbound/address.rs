//! Which addresses may be called: the public internet, and nothing that is only reachable from the
//! network of this server.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How far away an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// On the public internet.
    Public,
    /// This machine or its own network; only where the operator allows it.
    Private,
    /// Never called: metadata services, multicast, tunnels, reserved and unassigned numbers.
    Never,
}

#[derive(Clone, Copy)]
enum Rule {
    Is(Reach),
    /// The last 32 bits are an IPv4 address, which is the one that is really called.
    Inner,
}

const PUBLIC: Rule = Rule::Is(Reach::Public);
const PRIVATE: Rule = Rule::Is(Reach::Private);
const NEVER: Rule = Rule::Is(Reach::Never);

/// The exceptions to "public", after the IANA registry of special-purpose addresses.
const V4: &[([u8; 4], u32, Rule)] = &[
    ([0, 0, 0, 0], 8, NEVER),        // this network
    ([10, 0, 0, 0], 8, PRIVATE),     // RFC 1918
    ([100, 64, 0, 0], 10, PRIVATE),  // carrier-grade NAT, also overlay networks
    ([127, 0, 0, 0], 8, PRIVATE),    // loopback
    ([169, 254, 0, 0], 16, NEVER),   // link-local: where clouds keep their metadata service
    ([172, 16, 0, 0], 12, PRIVATE),  // RFC 1918
    ([192, 0, 0, 0], 24, NEVER),     // protocol assignments
    ([192, 0, 2, 0], 24, NEVER),     // documentation
    ([192, 88, 99, 0], 24, NEVER),   // 6to4 relays
    ([192, 168, 0, 0], 16, PRIVATE), // RFC 1918
    ([198, 18, 0, 0], 15, NEVER),    // benchmarks
    ([198, 51, 100, 0], 24, NEVER),  // documentation
    ([203, 0, 113, 0], 24, NEVER),   // documentation
    ([224, 0, 0, 0], 4, NEVER),      // multicast
    ([240, 0, 0, 0], 4, NEVER),      // reserved, and broadcast
];

/// The first row that holds decides; what no row names is refused.
const V6: &[([u16; 8], u32, Rule)] = &[
    ([0, 0, 0, 0, 0, 0, 0, 1], 128, PRIVATE),         // loopback
    ([0, 0, 0, 0, 0, 0xffff, 0, 0], 96, Rule::Inner), // IPv4-mapped
    // NAT64 (RFC 6052): what a network without IPv4 calls every IPv4 server by. Its local-use
    // sister 64:ff9b:1::/48 hides the inner address at a place we cannot know: refused.
    ([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96, Rule::Inner),
    ([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7, PRIVATE), // unique local
    // Teredo, benchmarks, ORCHID and other protocol assignments; no server lives there.
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, NEVER),
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, NEVER), // documentation
    ([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, NEVER),     // 6to4: a tunnel to any IPv4 address
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, NEVER),     // documentation
    ([0x2000, 0, 0, 0, 0, 0, 0, 0], 3, PUBLIC),     // global unicast
];

/// Tells whether `address` belongs to the public internet; in doubt it does not.
pub fn is_public(address: IpAddr) -> bool {
    reach(address) == Reach::Public
}

pub(super) fn reach(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(address) => reach_of_v4(address),
        IpAddr::V6(address) => reach_of_v6(address),
    }
}

fn reach_of_v4(address: Ipv4Addr) -> Reach {
    let bits = address.to_bits();
    let rule = V4.iter().find(|(network, length, _)| {
        (bits ^ Ipv4Addr::from(*network).to_bits()) >> (32 - length) == 0
    });
    match rule {
        Some((_, _, Rule::Is(reach))) => *reach,
        Some((_, _, Rule::Inner)) | None => Reach::Public,
    }
}

fn reach_of_v6(address: Ipv6Addr) -> Reach {
    let bits = address.to_bits();
    let rule = V6.iter().find(|(network, length, _)| {
        (bits ^ Ipv6Addr::from(*network).to_bits()) >> (128 - length) == 0
    });
    match rule {
        Some((_, _, Rule::Is(reach))) => *reach,
        Some((_, _, Rule::Inner)) => {
            let [.., a, b, c, d] = address.octets();
            reach_of_v4(Ipv4Addr::new(a, b, c, d))
        }
        None => Reach::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each range by its first and last address, with the neighbours that are outside of it.
    const EDGES: &[(&str, Reach)] = &[
        ("0.0.0.0", Reach::Never),
        ("0.255.255.255", Reach::Never),
        ("1.0.0.0", Reach::Public),
        ("9.255.255.255", Reach::Public),
        ("10.0.0.0", Reach::Private),
        ("10.255.255.255", Reach::Private),
        ("11.0.0.0", Reach::Public),
        ("100.63.255.255", Reach::Public),
        ("100.64.0.0", Reach::Private),
        ("100.127.255.255", Reach::Private),
        ("100.128.0.0", Reach::Public),
        ("126.255.255.255", Reach::Public),
        ("127.0.0.0", Reach::Private),
        ("127.0.0.1", Reach::Private),
        ("127.255.255.255", Reach::Private),
        ("128.0.0.0", Reach::Public),
        ("169.253.255.255", Reach::Public),
        ("169.254.0.0", Reach::Never),
        ("169.254.169.254", Reach::Never),
        ("169.254.255.255", Reach::Never),
        ("169.255.0.0", Reach::Public),
        ("172.15.255.255", Reach::Public),
        ("172.16.0.0", Reach::Private),
        ("172.31.255.255", Reach::Private),
        ("172.32.0.0", Reach::Public),
        ("191.255.255.255", Reach::Public),
        ("192.0.0.0", Reach::Never),
        ("192.0.0.255", Reach::Never),
        ("192.0.1.0", Reach::Public),
        ("192.0.1.255", Reach::Public),
        ("192.0.2.0", Reach::Never),
        ("192.0.2.255", Reach::Never),
        ("192.0.3.0", Reach::Public),
        ("192.88.98.255", Reach::Public),
        ("192.88.99.0", Reach::Never),
        ("192.88.99.255", Reach::Never),
        ("192.88.100.0", Reach::Public),
        ("192.167.255.255", Reach::Public),
        ("192.168.0.0", Reach::Private),
        ("192.168.255.255", Reach::Private),
        ("192.169.0.0", Reach::Public),
        ("198.17.255.255", Reach::Public),
        ("198.18.0.0", Reach::Never),
        ("198.19.255.255", Reach::Never),
        ("198.20.0.0", Reach::Public),
        ("198.51.99.255", Reach::Public),
        ("198.51.100.0", Reach::Never),
        ("198.51.100.255", Reach::Never),
        ("198.51.101.0", Reach::Public),
        ("203.0.112.255", Reach::Public),
        ("203.0.113.0", Reach::Never),
        ("203.0.113.255", Reach::Never),
        ("203.0.114.0", Reach::Public),
        ("223.255.255.255", Reach::Public),
        ("224.0.0.0", Reach::Never),
        ("239.255.255.255", Reach::Never),
        ("240.0.0.0", Reach::Never),
        ("255.255.255.254", Reach::Never),
        ("255.255.255.255", Reach::Never),
        ("::", Reach::Never),
        ("::1", Reach::Private),
        ("::2", Reach::Never),
        ("::7f00:1", Reach::Never),
        ("::8.8.8.8", Reach::Never),
        ("::fffe:8.8.8.8", Reach::Never),
        ("::ffff:0.0.0.0", Reach::Never),
        ("::ffff:8.8.8.8", Reach::Public),
        ("::ffff:127.0.0.1", Reach::Private),
        ("::ffff:169.254.169.254", Reach::Never),
        ("::ffff:255.255.255.255", Reach::Never),
        ("::ffff:0:8.8.8.8", Reach::Never),
        ("64:ff9a:ffff:ffff:ffff:ffff:ffff:ffff", Reach::Never),
        ("64:ff9b::8.8.8.8", Reach::Public),
        ("64:ff9b::10.0.0.1", Reach::Private),
        ("64:ff9b::169.254.169.254", Reach::Never),
        ("64:ff9b::1:0:0", Reach::Never),
        ("64:ff9b:1::8.8.8.8", Reach::Never),
        ("64:ff9b:1:ffff:ffff:ffff:ffff:ffff", Reach::Never),
        ("100::", Reach::Never),
        ("100::ffff:ffff:ffff:ffff", Reach::Never),
        ("1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Reach::Never),
        ("2000::", Reach::Public),
        ("2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Reach::Public),
        ("2001::", Reach::Never),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", Reach::Never),
        ("2001:2::", Reach::Never),
        ("2001:10::", Reach::Never),
        ("2001:20::", Reach::Never),
        ("2001:2f:ffff:ffff:ffff:ffff:ffff:ffff", Reach::Never),
        ("2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", Reach::Never),
        ("2001:200::", Reach::Public),
        ("2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", Reach::Public),
        ("2001:db8::", Reach::Never),
        ("2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", Reach::Never),
        ("2001:db9::", Reach::Public),
        ("2001:4860:4860::8888", Reach::Public),
        ("2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Reach::Public),
        ("2002::", Reach::Never),
        ("2002:7f00:1::", Reach::Never),
        ("2002:808:808::", Reach::Never),
        ("2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Reach::Never),
        ("2003::", Reach::Public),
        ("3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Reach::Public),
        ("3fff::", Reach::Never),
        ("3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", Reach::Never),
        ("3fff:1000::", Reach::Public),
        ("3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Reach::Public),
        ("4000::", Reach::Never),
        ("5f00::", Reach::Never),
        ("fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Reach::Never),
        ("fc00::", Reach::Private),
        ("fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Reach::Private),
        ("fe00::", Reach::Never),
        ("fe80::", Reach::Never),
        ("fe80::1", Reach::Never),
        ("febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Reach::Never),
        ("fec0::", Reach::Never),
        ("feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Reach::Never),
        ("ff00::", Reach::Never),
        ("ff02::1", Reach::Never),
        ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Reach::Never),
    ];

    #[test]
    fn every_range_begins_and_ends_where_its_registry_says() {
        for (text, expected) in EDGES {
            let address: IpAddr = text.parse().unwrap();
            assert_eq!(reach(address), *expected, "{text}");
            assert_eq!(is_public(address), *expected == Reach::Public, "{text}");
        }
    }

    #[test]
    fn an_ipv4_address_is_never_more_public_inside_an_ipv6_one() {
        for (text, expected) in EDGES {
            let Ok(inner) = text.parse::<Ipv4Addr>() else { continue };
            let [a, b, c, d] = inner.octets().map(u16::from);
            let (high, low) = (a << 8 | b, c << 8 | d);
            for wrapped in [
                inner.to_ipv6_mapped(),
                Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
                Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, !high, !low),
                Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, high, low),
            ] {
                let same = reach(wrapped.into()) == *expected;
                assert!(same || reach(wrapped.into()) == Reach::Never, "{wrapped}");
            }
        }
    }
}
