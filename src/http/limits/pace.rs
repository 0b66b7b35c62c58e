//! The rate limit of an address, how often it may ask by purpose; kept in memory, and never more than so much of it.
//!
//! This keeps one client from costing the others anything. What protects an identifier is its
//! throttle, which is kept in the store and knows no addresses.

use crate::{
    domain::{Rate, Timestamp},
    http::{answer::retry_after::RetryAfter, purpose::Purpose, vitals::Vitals},
    rate_limiter::RateLimiter,
    transport::{AddressRules, machine, networks},
};
use ipnet::IpNet;
use std::{
    net::IpAddr,
    ops::{Index, IndexMut},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// How often one address may ask for each purpose, and one client for approvals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    of_addresses: [Rate; Purpose::ALL.len()],
    pub approvals: ApprovalLimits,
    pub invitations: InvitationLimits,
}

/// How many invitations one organization sends in a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvitationLimits {
    pub per_day: u32,
    pub to_one_address: u32,
}

impl Default for InvitationLimits {
    fn default() -> Self {
        Self { per_day: 500, to_one_address: 3 }
    }
}

/// How much one client asks of one person (adr/0090).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApprovalLimits {
    /// Requests that wait at the same time.
    pub pending: u32,
    pub rate: Rate,
}

impl Default for ApprovalLimits {
    fn default() -> Self {
        Self { pending: 10, rate: Rate { burst: 30, refill: Duration::from_mins(1) } }
    }
}

/// Generous: the people of an office share an address.
impl Default for Rates {
    fn default() -> Self {
        let rate = |burst, millis| Rate { burst, refill: Duration::from_millis(millis) };
        let of_addresses = [
            rate(300, 100),
            rate(120, 250),
            rate(30, 1_000),
            rate(20, 5_000),
            rate(20, 10_000),
            rate(30, 2_000),
        ];
        let (approvals, invitations) = Default::default();
        Self { of_addresses, approvals, invitations }
    }
}

impl Index<Purpose> for Rates {
    type Output = Rate;

    fn index(&self, purpose: Purpose) -> &Rate {
        &self.of_addresses[purpose as usize]
    }
}

impl IndexMut<Purpose> for Rates {
    fn index_mut(&mut self, purpose: Purpose) -> &mut Rate {
        &mut self.of_addresses[purpose as usize]
    }
}

/// The pace of every address.
pub struct Pace {
    /// None switches it off.
    rates: Option<Rates>,
    addresses: Arc<AddressRules>,
    limiters: [Mutex<RateLimiter<IpNet>>; Purpose::ALL.len()],
    vitals: Arc<Vitals>,
}

impl Pace {
    pub fn new(rates: Option<Rates>, addresses: Arc<AddressRules>, vitals: Arc<Vitals>) -> Self {
        Self { rates, addresses, limiters: Default::default(), vitals }
    }

    /// Which addresses are proxies, and which are limited.
    pub fn addresses(&self) -> &AddressRules {
        &self.addresses
    }

    /// Returns the network that an address is counted in, where it is limited.
    pub fn network(&self, address: IpAddr) -> Option<IpNet> {
        self.addresses.is_limited(address).then(|| machine(address))
    }

    /// Lets a client ask once more, or says how long it must wait.
    ///
    /// An IPv6 address asks for all networks it is counted in: a client that changes its /64 keeps
    /// to the pace of its /56 and its /48.
    pub fn take(
        &self,
        purpose: Purpose,
        address: IpAddr,
        now: Timestamp,
    ) -> Result<(), RetryAfter> {
        let Some(rates) = self.rates.filter(|_| self.addresses.is_limited(address)) else {
            return Ok(());
        };
        let rate = rates[purpose];
        let shares = networks(address).map(|(network, share)| {
            let burst = rate.burst.saturating_mul(share);
            (network, Rate { burst, refill: rate.refill / share })
        });
        let limiter = self.limiters[purpose as usize].lock();
        let taken = limiter.unwrap_or_else(PoisonError::into_inner).take_of_each(shares, now);
        taken.map_err(|retry_at| {
            self.vitals.limited(purpose);
            RetryAfter::until(retry_at, now)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn pace_at(issuer: &str, rates: Option<Rates>) -> Pace {
        let addresses = AddressRules::new(issuer, vec!["10.0.0.0/8".parse().unwrap()]);
        Pace::new(rates, Arc::new(addresses), Arc::default())
    }

    fn pace() -> Pace {
        pace_at("https://id.example.com", Some(Rates::default()))
    }

    /// Says how often an address is let through at once.
    fn at_once(pace: &Pace, purpose: Purpose, address: &str, now: Timestamp) -> usize {
        let address = address.parse().unwrap();
        (0..1_000).take_while(|_| pace.take(purpose, address, now).is_ok()).count()
    }

    #[test]
    fn an_address_has_a_burst_for_each_purpose_and_then_a_pace() {
        let pace = pace();
        for (purpose, burst) in Purpose::ALL.into_iter().zip([300, 120, 30, 20, 20, 30]) {
            assert_eq!(at_once(&pace, purpose, "192.0.2.1", NOW), burst);
        }
        let address = "192.0.2.1".parse().unwrap();
        let refused = pace.take(Purpose::Registration, address, NOW).unwrap_err();
        assert_eq!(refused.seconds(), 10);
        let later = NOW + Duration::from_secs(refused.seconds().into());
        assert_eq!(at_once(&pace, Purpose::Registration, "192.0.2.1", later), 1);
        assert_eq!(at_once(&pace, Purpose::Registration, "192.0.2.2", NOW), 20);
        assert_eq!(pace.vitals.limits().collect::<Vec<_>>()[4], ("registration", 4));
    }

    #[test]
    fn a_rate_that_the_operator_set_is_the_one_that_counts() {
        let mut rates = Rates::default();
        rates[Purpose::Flow] = Rate { burst: 2, refill: Duration::from_mins(1) };
        let pace = pace_at("https://id.example.com", Some(rates));
        assert_eq!(at_once(&pace, Purpose::Flow, "192.0.2.1", NOW), 2);
        let refused = pace.take(Purpose::Flow, "192.0.2.1".parse().unwrap(), NOW).unwrap_err();
        assert_eq!(refused.seconds(), 60);
        assert_eq!(at_once(&pace, Purpose::Credential, "192.0.2.1", NOW), 30);
    }

    #[test]
    fn a_neighbourhood_of_ipv6_addresses_is_one_client() {
        let pace = pace();
        assert_eq!(at_once(&pace, Purpose::Credential, "2001:db8:0:1::1", NOW), 30);
        assert_eq!(at_once(&pace, Purpose::Credential, "2001:db8:0:1:ffff::2", NOW), 0);
        assert_eq!(at_once(&pace, Purpose::Credential, "2001:db8:0:2::1", NOW), 30);
        assert_eq!(at_once(&pace, Purpose::Credential, "192.0.2.1", NOW), 30);
        assert_eq!(at_once(&pace, Purpose::Credential, "::ffff:192.0.2.1", NOW), 0);
    }

    #[test]
    fn a_client_that_changes_its_network_keeps_to_the_pace_of_its_customer() {
        let pace = pace();
        let all = |third: u16, fourths: std::ops::Range<u16>| {
            let addresses = fourths.map(|fourth| format!("2001:db8:{third:x}:{fourth:x}::1"));
            addresses.map(|one| at_once(&pace, Purpose::Credential, &one, NOW)).sum::<usize>()
        };
        assert_eq!(all(0, 0..0x100), 60, "a /56 has twice the allowance");
        assert_eq!(all(0, 0x100..0x1000), 60, "a /48 has four times the allowance");
        assert_eq!(all(1, 0..1), 30, "another customer");
        let later = NOW + Duration::from_secs(1);
        let after = at_once(&pace, Purpose::Credential, "2001:db8:0:1fff::1", later);
        assert_eq!(after, 4, "and four times the pace");
    }

    #[test]
    fn trusted_proxies_are_not_limited_and_no_address_is_when_it_is_switched_off() {
        assert_eq!(at_once(&pace(), Purpose::Credential, "10.9.9.9", NOW), 1_000);
        let off = pace_at("https://id.example.com", None);
        assert_eq!(at_once(&off, Purpose::Credential, "192.0.2.1", NOW), 1_000);
    }

    #[test]
    fn loopback_is_limited_unless_the_issuer_is_on_loopback() {
        for address in ["127.0.0.1", "::1"] {
            assert_eq!(at_once(&pace(), Purpose::Credential, address, NOW), 30);
            let here = pace_at("http://localhost:8080", Some(Rates::default()));
            assert_eq!(at_once(&here, Purpose::Credential, address, NOW), 1_000);
        }
    }

    #[test]
    fn a_clock_that_was_set_back_locks_no_client_out() {
        let pace = pace();
        assert_eq!(at_once(&pace, Purpose::Credential, "192.0.2.1", NOW), 30);
        let before = NOW - Duration::from_hours(24);
        assert_eq!(at_once(&pace, Purpose::Credential, "192.0.2.1", before), 0);
        let soon = before + Duration::from_secs(2);
        assert_eq!(at_once(&pace, Purpose::Credential, "192.0.2.1", soon), 2);
    }
}
