//! Where a person signed in, as they are shown it: enough to recognise a device, and no more.
//!
//! It is kept with the session alone, and goes with it.

mod kind;

pub use kind::{Browser, DeviceKind, System};

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use serde::{Deserialize, Serialize};

/// What a session keeps of the browser or program that it began in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// What it calls itself: bounded, printable, and without an e-mail address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
    /// The network that it asked from: /24 of IPv4, /48 of IPv6. The whole address could name a
    /// person, and is only in the security log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
}

impl Device {
    /// `user_agent` is what a context keeps of it.
    pub(super) fn of(address: Option<IpAddr>, user_agent: Option<String>) -> Self {
        Self { user_agent, network: address.map(network) }
    }
}

/// Returns the network of an address.
fn network(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            format!("{}/24", Ipv4Addr::new(a, b, c, 0))
        }
        IpAddr::V6(address) => {
            let [a, b, c, ..] = address.segments();
            format!("{}/48", Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_kept_as_its_network() {
        for (address, kept) in [
            ("203.0.113.9", "203.0.113.0/24"),
            ("::ffff:203.0.113.9", "203.0.113.0/24"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"),
            ("::1", "::/48"),
        ] {
            let device = Device::of(Some(address.parse().unwrap()), None);
            assert_eq!(device.network.as_deref(), Some(kept), "{address}");
            assert_eq!(device.user_agent, None);
        }
        assert_eq!(Device::of(None, None), Device::default());
    }
}
