//! Room for requests: for those whose body is still on its way, and for those that are worked on.
//!
//! A body may take its time, and whoever sends many slow ones must not keep the others from being
//! served. So a request takes a place among those whose body comes in only while its body comes in, one address
//! may hold only some of those places, and a place to be worked on is taken when all of it is here.

use crate::http::{answer::error::Stopped, extract::address::is_somebody, options::Limits};
use crate::transport::Peer;
use ipnet::IpNet;
use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many body permits each address holds; an address without any is not kept.
type Counted = Mutex<HashMap<IpAddr, usize>>;

/// Where requests are let in.
pub struct RequestPermits {
    arriving: Arc<Semaphore>,
    working: Arc<Semaphore>,
    per_address: usize,
    /// How long a body may take.
    pub timeout: Duration,
    /// Networks of proxies, behind which many people share an address.
    proxies: Vec<IpNet>,
    by_address: Arc<Counted>,
}

/// A place among those whose body is on its way.
pub struct BodyPermit {
    _place: OwnedSemaphorePermit,
    counted: Option<(IpAddr, Arc<Counted>)>,
}

/// A place among those that are worked on.
pub struct WorkPermit {
    _place: OwnedSemaphorePermit,
}

impl RequestPermits {
    pub fn new(limits: &Limits, proxies: Vec<IpNet>) -> Self {
        Self {
            arriving: Arc::new(Semaphore::new(limits.request_permits)),
            working: Arc::new(Semaphore::new(limits.requests)),
            per_address: limits.body_permits_per_address,
            timeout: limits.body,
            proxies,
            by_address: Arc::default(),
        }
    }

    /// Takes a place for a request whose body comes in.
    pub fn arrive(&self, peer: Option<&Peer>) -> Result<BodyPermit, Stopped> {
        let place = self.arriving.clone().try_acquire_owned().map_err(|_| Stopped::Full)?;
        let address = peer.map(|peer| peer.address.ip().to_canonical());
        let Some(address) = address.filter(|address| is_somebody(*address, &self.proxies)) else {
            return Ok(BodyPermit { _place: place, counted: None });
        };
        let mut by_address = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        let held = by_address.entry(address).or_default();
        if *held >= self.per_address {
            return Err(Stopped::FullForOne);
        }
        *held += 1;
        Ok(BodyPermit { _place: place, counted: Some((address, self.by_address.clone())) })
    }

    /// Takes a place for a request that is all here.
    pub fn work(&self) -> Result<WorkPermit, Stopped> {
        self.working
            .clone()
            .try_acquire_owned()
            .map(|place| WorkPermit { _place: place })
            .map_err(|_| Stopped::Full)
    }
}

impl Drop for BodyPermit {
    fn drop(&mut self) {
        let Some((address, by_address)) = &self.counted else { return };
        let mut by_address = by_address.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = by_address.get_mut(address) {
            *held -= 1;
            if *held == 0 {
                by_address.remove(address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(address: &str) -> Peer {
        Peer { address: address.parse().unwrap(), secure: true }
    }

    fn request_permits() -> RequestPermits {
        let limits =
            Limits { request_permits: 5, body_permits_per_address: 2, ..Limits::default() };
        RequestPermits::new(&limits, vec!["10.0.0.0/8".parse().unwrap()])
    }

    #[test]
    fn one_address_holds_only_some_of_the_places() {
        let request_permits = request_permits();
        let stranger = peer("192.0.2.1:1");
        let held: Vec<_> =
            (0..2).map(|_| request_permits.arrive(Some(&stranger)).unwrap()).collect();
        assert_eq!(request_permits.arrive(Some(&stranger)).err(), Some(Stopped::FullForOne));
        assert!(request_permits.arrive(Some(&peer("192.0.2.1:2"))).is_err(), "whatever its port");
        assert!(request_permits.arrive(Some(&peer("192.0.2.2:1"))).is_ok());
        drop(held);
        assert!(request_permits.arrive(Some(&stranger)).is_ok());
        assert!(
            request_permits.by_address.lock().unwrap().is_empty(),
            "nothing is kept of anybody"
        );
    }

    #[test]
    fn proxies_and_this_machine_are_nobody_in_particular_and_full_is_full() {
        let request_permits = request_permits();
        let mut held = Vec::new();
        for who in ["10.1.2.3:1", "10.1.2.3:2", "[::ffff:10.1.2.3]:3", "127.0.0.1:1", "[::1]:1"] {
            held.push(request_permits.arrive(Some(&peer(who))).unwrap());
        }
        assert_eq!(request_permits.arrive(None).err(), Some(Stopped::Full));
    }
}
