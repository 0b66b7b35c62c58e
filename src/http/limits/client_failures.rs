//! A rate limit: how often clients may fail to prove who they are.
//!
//! A proof is always judged before its failure is counted, so a right one is accepted whatever others
//! have tried: a limit that refused it would let anyone lock a client out. Only wrong ones are told to
//! wait. What keeps secrets from being guessed is their length (adr/0045).

use crate::{
    domain::{Rate, Timestamp},
    http::{answer::retry_after::RetryAfter, vitals::Vitals},
    rate_limiter::RateLimiter,
    transport::machine,
};
use ipnet::IpNet;
use std::{
    hash::{BuildHasher as _, RandomState},
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// Of one client, by one address.
const BY_ADDRESS: Rate = Rate { burst: 100, refill: Duration::from_secs(6) };

/// Of one client, by all addresses together.
const BY_ALL: Rate = Rate { burst: 200, refill: Duration::from_secs(1) };

/// What a client failed to prove itself by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Proof {
    Secret,
    /// RFC 7592 §3.
    RegistrationToken,
}

/// Counts failures, of clients that exist and of those that do not.
pub struct ClientFailures {
    enabled: bool,
    /// Client ids are kept as keyed hashes, so that long ones take no more memory.
    hasher: RandomState,
    limiter: Mutex<RateLimiter<Key>>,
    vitals: Arc<Vitals>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    proof: Proof,
    client: u64,
    /// None for all addresses together.
    network: Option<IpNet>,
}

impl ClientFailures {
    pub fn new(enabled: bool, vitals: Arc<Vitals>) -> Self {
        Self { enabled, hasher: RandomState::new(), limiter: Mutex::default(), vitals }
    }

    /// Counts a failure, and says how long its caller should wait where there were too many.
    pub fn count(
        &self,
        proof: Proof,
        client_id: &str,
        address: IpAddr,
        now: Timestamp,
    ) -> Result<(), RetryAfter> {
        if !self.enabled {
            return Ok(());
        }
        let key = |network| Key { proof, client: self.hasher.hash_one(client_id), network };
        let mut limiter = self.limiter.lock().unwrap_or_else(PoisonError::into_inner);
        // The address first: one that has used up its own takes nothing more from the others.
        let taken = limiter
            .take(key(Some(machine(address))), BY_ADDRESS, now)
            .and_then(|()| limiter.take(key(None), BY_ALL, now));
        drop(limiter);
        taken.map_err(|retry_at| {
            self.vitals.limited_client();
            RetryAfter::until(retry_at, now)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    /// Says how many failures are told apart from too many.
    fn at_once(failures: &ClientFailures, client_id: &str, address: &str) -> usize {
        let address = address.parse().unwrap();
        let fails = |_: &usize| failures.count(Proof::Secret, client_id, address, NOW).is_ok();
        (0..1_000).take_while(fails).count()
    }

    #[test]
    fn failures_are_counted_by_client_and_address_and_by_client() {
        let failures = ClientFailures::new(true, Arc::default());
        assert_eq!(at_once(&failures, "billing", "2001:db8::1"), 100);
        assert_eq!(at_once(&failures, "billing", "2001:db8::ffff:2"), 0, "its whole /64");
        assert_eq!(at_once(&failures, "other", "2001:db8::1"), 100, "another client");
        assert_eq!(at_once(&failures, "billing", "192.0.2.1"), 100);
        assert_eq!(at_once(&failures, "billing", "192.0.2.2"), 0, "all addresses together");
        let address = "192.0.2.1".parse().unwrap();
        assert!(failures.count(Proof::RegistrationToken, "billing", address, NOW).is_ok());
        let refused = failures.count(Proof::Secret, "billing", address, NOW).unwrap_err();
        let later = NOW + Duration::from_secs(refused.seconds().into());
        assert!(failures.count(Proof::Secret, "billing", address, later).is_ok());
        let limits: Vec<_> = failures.vitals.limits().collect();
        assert_eq!(limits.last(), Some(&("client", 6)));
    }

    #[test]
    fn nothing_is_counted_where_limits_are_off() {
        let off = ClientFailures::new(false, Arc::default());
        assert_eq!(at_once(&off, "billing", "192.0.2.1"), 1_000);
    }
}
