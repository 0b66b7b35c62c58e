//! The network that an address belongs to.

use std::net::{IpAddr, Ipv6Addr};

/// Returns the network of an IPv6 address, of so many bits; an IPv4 address stands for itself.
pub fn network(address: IpAddr, bits: u32) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_address_is_cut_and_an_ipv4_address_is_not() {
        let cut = |address: &str, bits| network(address.parse().unwrap(), bits).to_string();
        assert_eq!(cut("2001:db8:1:2345:6::7", 64), "2001:db8:1:2345::");
        assert_eq!(cut("2001:db8:1:2345:6::7", 56), "2001:db8:1:2300::");
        assert_eq!(cut("2001:db8:1:2345:6::7", 48), "2001:db8:1::");
        assert_eq!(cut("2001:db8::1", 128), "2001:db8::1");
        assert_eq!(cut("2001:db8::1", 0), "::");
        assert_eq!(cut("::ffff:192.0.2.1", 48), "192.0.2.1");
    }
}
