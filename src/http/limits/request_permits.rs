//! Permits for requests, a concurrency limit: for those whose body is on its way, and for those that are worked on.
//!
//! A body may take its time, and a client that sends many slow ones must not keep the others from
//! being served. So a request holds a body permit only while its body comes in. A work permit is taken
//! when the whole body is here, and kept until the answer is given; what an answer costs until it has
//! been sent is counted by the transport. One address holds only some of the permits of either kind,
//! and the last of them go to addresses that hold none.

use super::scim_bounds::ScimBounds;
use crate::{
    http::answer::error::RequestFailure,
    transport::{AddressCounts, AddressRules, machine},
};
use std::{
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How much is taken at once, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Requests that are worked on.
    pub requests: usize,
    /// How many of those one address may have.
    pub work_permits_per_address: usize,
    /// Requests whose body is on its way.
    pub request_permits: usize,
    /// How many of those one address may have.
    pub body_permits_per_address: usize,
    /// Clients that registered themselves and that no person has used.
    pub unused_clients: usize,
    /// How long a body may take.
    pub body: Duration,
    /// How long all of a request may take once its head is here.
    pub deadline: Duration,
    /// How much one request of SCIM looks at and shows.
    pub scim: ScimBounds,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            requests: 2_048,
            work_permits_per_address: 256,
            request_permits: 2_048,
            body_permits_per_address: 128,
            unused_clients: 10_000,
            body: Duration::from_secs(10),
            deadline: Duration::from_secs(30),
            scim: ScimBounds::default(),
        }
    }
}

/// One permit in so many is kept for addresses that hold none.
const RESERVED_SHARE: usize = 4;

/// Where requests take their permits.
pub struct RequestPermits {
    arriving: Permits,
    working: Permits,
    /// How long a body may take.
    pub timeout: Duration,
    pub addresses: Arc<AddressRules>,
}

/// The permits of one kind.
struct Permits {
    free: Arc<Semaphore>,
    reserved: usize,
    by_address: Arc<Mutex<AddressCounts>>,
}

/// Held by a request whose body is on its way, or that is worked on.
pub struct RequestPermit {
    _permit: OwnedSemaphorePermit,
    counted: Option<(IpAddr, Arc<Mutex<AddressCounts>>)>,
}

/// Held by a request that is worked on.
pub type WorkPermit = RequestPermit;

impl RequestPermits {
    pub fn new(limits: &Limits, addresses: Arc<AddressRules>) -> Self {
        Self {
            arriving: Permits::new(limits.request_permits, limits.body_permits_per_address),
            working: Permits::new(limits.requests, limits.work_permits_per_address),
            timeout: limits.body,
            addresses,
        }
    }

    /// Takes a permit for a request of a client, whose body comes in.
    pub fn arrive(&self, client: IpAddr) -> Result<RequestPermit, RequestFailure> {
        self.arriving.take(client, self.addresses.is_limited(client))
    }

    /// Takes a permit for a request of a client that is all here.
    pub fn work(&self, client: IpAddr) -> Result<WorkPermit, RequestFailure> {
        self.working.take(client, self.addresses.is_limited(client))
    }
}

impl Permits {
    fn new(permits: usize, per_address: usize) -> Self {
        Self {
            free: Arc::new(Semaphore::new(permits)),
            reserved: permits / RESERVED_SHARE,
            by_address: Arc::new(Mutex::new(AddressCounts::new(per_address))),
        }
    }

    fn take(&self, client: IpAddr, is_limited: bool) -> Result<RequestPermit, RequestFailure> {
        let permit = self.free.clone().try_acquire_owned().map_err(|_| RequestFailure::Full)?;
        if !is_limited {
            return Ok(RequestPermit { _permit: permit, counted: None });
        }
        let mut by_address = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        let is_scarce = self.free.available_permits() < self.reserved;
        if is_scarce && by_address.held(machine(client)) > 0 || !by_address.take(client) {
            return Err(RequestFailure::FullForOne);
        }
        Ok(RequestPermit { _permit: permit, counted: Some((client, self.by_address.clone())) })
    }
}

impl Drop for RequestPermit {
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
        assert_eq!(request_permits.arrive(client).err(), Some(RequestFailure::FullForOne));
        assert!(request_permits.arrive(ip("192.0.2.2")).is_ok());
        drop(held);
        assert!(request_permits.arrive(client).is_ok());
        let by_address = request_permits.arriving.by_address.lock().unwrap();
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
        assert_eq!(arrive(0).err(), Some(RequestFailure::FullForOne), "it holds one");
        held.extend([arrive(6).unwrap(), arrive(7).unwrap()]);
        assert_eq!(arrive(8).err(), Some(RequestFailure::Full));
        held.truncate(4);
        assert!(arrive(0).is_ok());
    }

    #[test]
    fn one_address_holds_only_some_of_the_permits_to_work() {
        let limits = Limits { requests: 8, work_permits_per_address: 3, ..Limits::default() };
        let addresses = AddressRules::new("https://id.example.com", Vec::new());
        let permits = RequestPermits::new(&limits, Arc::new(addresses));
        let held: Vec<_> = (0..8).filter_map(|_| permits.work(ip("2001:db8::1")).ok()).collect();
        assert_eq!(held.len(), 3);
        let same = permits.work(ip("2001:db8::ffff:1"));
        assert_eq!(same.err(), Some(RequestFailure::FullForOne), "its whole /64");
        let others: Vec<_> =
            (0..5).map(|n| permits.work(ip(&format!("192.0.2.{n}"))).unwrap()).collect();
        assert_eq!(permits.work(ip("192.0.2.9")).err(), Some(RequestFailure::Full));
        drop((held, others));
        assert!(permits.work(ip("2001:db8::1")).is_ok());
    }

    #[test]
    fn proxies_and_loopback_under_a_loopback_issuer_are_not_counted_and_full_is_full() {
        let request_permits = request_permits("http://localhost:8080", 5);
        let mut held = Vec::new();
        for who in ["10.1.2.3", "10.1.2.3", "::ffff:10.1.2.3", "127.0.0.1", "::1"] {
            held.push(request_permits.arrive(ip(who)).unwrap());
        }
        assert_eq!(request_permits.arrive(ip("127.0.0.1")).err(), Some(RequestFailure::Full));
    }
}
