//! Permits for requests: for those whose body is on its way, and for those that are worked on.
//!
//! A body may take its time, and a client that sends many slow ones must not keep the others from
//! being served. So a request holds a body permit only while its body comes in. One address holds
//! only some of those permits, and the last of them go to addresses that hold none. A work permit is
//! taken when the whole body is here, and kept until the answer is given; what an answer costs until
//! it has been sent is counted by the transport.

use crate::{
    http::{answer::error::Stopped, options::Limits},
    transport::{AddressCounts, AddressRules, machine},
};
use std::{
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// One permit in so many is kept for addresses that hold none.
const RESERVED_SHARE: usize = 4;

/// Where requests take their permits.
pub struct RequestPermits {
    arriving: Arc<Semaphore>,
    working: Arc<Semaphore>,
    reserved: usize,
    /// How long a body may take.
    pub timeout: Duration,
    pub addresses: Arc<AddressRules>,
    by_address: Arc<Mutex<AddressCounts>>,
}

/// Held by a request whose body is on its way.
pub struct BodyPermit {
    _permit: OwnedSemaphorePermit,
    counted: Option<(IpAddr, Arc<Mutex<AddressCounts>>)>,
}

/// Held by a request that is worked on.
pub struct WorkPermit {
    _permit: OwnedSemaphorePermit,
}

impl RequestPermits {
    pub fn new(limits: &Limits, addresses: Arc<AddressRules>) -> Self {
        Self {
            arriving: Arc::new(Semaphore::new(limits.request_permits)),
            working: Arc::new(Semaphore::new(limits.requests)),
            reserved: limits.request_permits / RESERVED_SHARE,
            timeout: limits.body,
            addresses,
            by_address: Arc::new(Mutex::new(AddressCounts::new(limits.body_permits_per_address))),
        }
    }

    /// Takes a permit for a request of a client, whose body comes in.
    pub fn arrive(&self, client: IpAddr) -> Result<BodyPermit, Stopped> {
        let permit = self.arriving.clone().try_acquire_owned().map_err(|_| Stopped::Full)?;
        if !self.addresses.is_limited(client) {
            return Ok(BodyPermit { _permit: permit, counted: None });
        }
        let mut by_address = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        let is_scarce = self.arriving.available_permits() < self.reserved;
        if is_scarce && by_address.held(machine(client)) > 0 || !by_address.take(client) {
            return Err(Stopped::FullForOne);
        }
        Ok(BodyPermit { _permit: permit, counted: Some((client, self.by_address.clone())) })
    }

    /// Takes a permit for a request that is all here.
    pub fn work(&self) -> Result<WorkPermit, Stopped> {
        self.working
            .clone()
            .try_acquire_owned()
            .map(|permit| WorkPermit { _permit: permit })
            .map_err(|_| Stopped::Full)
    }
}

impl Drop for BodyPermit {
    fn drop(&mut self) {
        if let Some((client, by_address)) = &self.counted {
            by_address.lock().unwrap_or_else(PoisonError::into_inner).give_back(*client);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(address: &str) -> IpAddr {
        address.parse().unwrap()
    }

    fn request_permits(issuer: &str, request_permits: usize) -> RequestPermits {
        let limits = Limits { request_permits, body_permits_per_address: 2, ..Limits::default() };
        let addresses = AddressRules::new(issuer, vec!["10.0.0.0/8".parse().unwrap()]);
        RequestPermits::new(&limits, Arc::new(addresses))
    }

    #[test]
    fn one_address_holds_only_some_of_the_permits() {
        let request_permits = request_permits("https://id.example.com", 5);
        let client = ip("192.0.2.1");
        let held: Vec<_> = (0..2).map(|_| request_permits.arrive(client).unwrap()).collect();
        assert_eq!(request_permits.arrive(client).err(), Some(Stopped::FullForOne));
        assert!(request_permits.arrive(ip("192.0.2.2")).is_ok());
        drop(held);
        assert!(request_permits.arrive(client).is_ok());
        let by_address = request_permits.by_address.lock().unwrap();
        assert!(by_address.is_empty(), "nothing is kept of an address that holds nothing");
    }

    #[test]
    fn one_network_of_ipv6_does_not_hold_every_body_permit() {
        let request_permits = request_permits("https://id.example.com", 64);
        let mut held = Vec::new();
        for number in 0..64 {
            held.extend(request_permits.arrive(ip(&format!("2001:db8::{number:x}"))));
        }
        assert_eq!(held.len(), 2, "all addresses of a /64 are one client");
        for number in 1..64 {
            held.extend(request_permits.arrive(ip(&format!("2001:db8:0:{number:x}::1"))));
        }
        assert_eq!(held.len(), 4, "a /56 is one customer");
        for number in 1..=255 {
            held.extend(request_permits.arrive(ip(&format!("2001:db8:0:{number:x}00::1"))));
        }
        assert_eq!(held.len(), 8, "and so is a /48");
        assert!(request_permits.arrive(ip("2001:db8:1::1")).is_ok());
        assert!(request_permits.arrive(ip("192.0.2.1")).is_ok());
    }

    #[test]
    fn the_last_permits_are_for_addresses_that_hold_none() {
        let request_permits = request_permits("https://id.example.com", 8);
        let arrive = |number: u8| request_permits.arrive(ip(&format!("192.0.2.{number}")));
        let mut held: Vec<_> = (0..6).map(|number| arrive(number).unwrap()).collect();
        assert_eq!(arrive(0).err(), Some(Stopped::FullForOne), "it holds one");
        held.extend([arrive(6).unwrap(), arrive(7).unwrap()]);
        assert_eq!(arrive(8).err(), Some(Stopped::Full));
        held.truncate(4);
        assert!(arrive(0).is_ok());
    }

    #[test]
    fn proxies_and_loopback_under_a_loopback_issuer_are_not_counted_and_full_is_full() {
        let request_permits = request_permits("http://localhost:8080", 5);
        let mut held = Vec::new();
        for who in ["10.1.2.3", "10.1.2.3", "::ffff:10.1.2.3", "127.0.0.1", "::1"] {
            held.push(request_permits.arrive(ip(who)).unwrap());
        }
        assert_eq!(request_permits.arrive(ip("127.0.0.1")).err(), Some(Stopped::Full));
    }
}
