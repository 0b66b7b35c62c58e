//! The rate limit of registrations, how many clients may register themselves: by network and day, and in all.
//!
//! Registration writes a row for a caller that has shown nothing, so what it can add up to is bounded.
//! The networks are counted in memory, on each node; the clients that no person has used yet are
//! counted in the store. A client that a person has used does not count any more.

use crate::{
    domain::{
        Rate, Timestamp,
        client::{KEPT_UNUSED, KEPT_UNUSED_AMONG_MANY, UNUSED_CLIENTS},
    },
    http::answer::retry_after::RetryAfter,
    rate_limiter::RateLimiter,
    store::views::{FreshReads, ReadError},
    transport::network,
};
use ipnet::IpNet;
use std::{
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// What a network of so many bits may register, by the day; the first holds for IPv4 addresses too.
const BY_NETWORK: [(u8, Rate); 3] = [
    (64, Rate { burst: 200, refill: Duration::from_mins(5) }),
    (56, Rate { burst: 300, refill: Duration::from_mins(4) }),
    (48, Rate { burst: 600, refill: Duration::from_mins(2) }),
];

/// For how long a count of the store is used.
const COUNTED_FOR: Duration = Duration::from_secs(1);

/// How long to wait where there are too many: some are forgotten every day.
const WAIT: Duration = Duration::from_hours(1);

/// Bounds what registration adds up to.
pub struct Registrations {
    enabled: bool,
    most_unused: usize,
    networks: Mutex<RateLimiter<IpNet>>,
    counted: Mutex<UnusedCount>,
}

/// How many unused clients there were at a time, and have registered here since.
#[derive(Clone, Copy, Default)]
struct UnusedCount {
    at: Timestamp,
    unused: usize,
}

/// Why a client may not register now.
#[derive(Debug)]
pub enum RegistrationRefusal {
    /// There are too many unused clients.
    Full(RetryAfter),
    Unavailable(ReadError),
}

impl Registrations {
    pub fn new(enabled: bool, most_unused: usize) -> Self {
        Self { enabled, most_unused, networks: Mutex::default(), counted: Mutex::default() }
    }

    /// Lets an address register one more client, or says how long it must wait.
    pub fn take(&self, address: IpAddr, now: Timestamp) -> Result<(), RetryAfter> {
        if !self.enabled {
            return Ok(());
        }
        let is_v4 = address.to_canonical().is_ipv4();
        let levels = &BY_NETWORK[..if is_v4 { 1 } else { BY_NETWORK.len() }];
        let mut networks = self.networks.lock().unwrap_or_else(PoisonError::into_inner);
        // The narrowest first: one that has used up its own takes nothing more from the others.
        for (bits, rate) in levels {
            let key = network(address, *bits);
            networks.take(key, *rate, now).map_err(|retry_at| RetryAfter::until(retry_at, now))?;
        }
        Ok(())
    }

    /// Counts one more client, and says for how long it is kept while no person uses it.
    pub async fn add(
        &self,
        reads: &FreshReads,
        now: Timestamp,
    ) -> Result<Duration, RegistrationRefusal> {
        if !self.enabled {
            return Ok(KEPT_UNUSED);
        }
        if self.is_due(now) {
            let most = u32::try_from(self.most_unused).unwrap_or(u32::MAX);
            let unused = reads
                .count(UNUSED_CLIENTS, "", most)
                .await
                .map_err(RegistrationRefusal::Unavailable)?;
            self.lock().unused = unused;
        }
        let kept_for = self.kept_unused();
        let mut counted = self.lock();
        if counted.unused >= self.most_unused {
            return Err(RegistrationRefusal::Full(RetryAfter::until(now + WAIT, now)));
        }
        counted.unused += 1;
        Ok(kept_for)
    }

    /// Says for how long a client is kept that no person uses: not long while there are many.
    pub fn kept_unused(&self) -> Duration {
        let many = self.enabled && self.lock().unused >= self.most_unused / 2;
        if many { KEPT_UNUSED_AMONG_MANY } else { KEPT_UNUSED }
    }

    /// Tells one caller, and no others for a while, that it is time to count.
    fn is_due(&self, now: Timestamp) -> bool {
        let mut counted = self.lock();
        let due = now.since(counted.at).max(counted.at.since(now)) >= COUNTED_FOR;
        if due {
            counted.at = now;
        }
        due
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, UnusedCount> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn at_once(registrations: &Registrations, address: &str) -> usize {
        let address = address.parse().unwrap();
        (0..1_000).take_while(|_| registrations.take(address, NOW).is_ok()).count()
    }

    #[test]
    fn a_network_registers_so_many_a_day_however_it_changes_its_address() {
        let registrations = Registrations::new(true, 10_000);
        assert_eq!(at_once(&registrations, "192.0.2.1"), 200);
        assert_eq!(at_once(&registrations, "192.0.2.2"), 200);
        assert_eq!(at_once(&registrations, "2001:db8:0:1::1"), 200);
        assert_eq!(at_once(&registrations, "2001:db8:0:1:ffff::1"), 0, "the same /64");
        assert_eq!(at_once(&registrations, "2001:db8:0:2::1"), 100, "the rest of its /56");
        assert_eq!(at_once(&registrations, "2001:db8:0:3::1"), 0);
        let others = (1..=0xff).map(|n| format!("2001:db8:0:{n:x}00::1"));
        let others: usize = others.map(|address| at_once(&registrations, &address)).sum();
        assert_eq!(others, 300, "the rest of its /48");
        assert_eq!(at_once(&registrations, "2001:db8:1:1::1"), 200, "another /48");
        let wait = registrations.take("192.0.2.1".parse().unwrap(), NOW).unwrap_err();
        assert_eq!(wait.seconds(), 300);
        assert_eq!(at_once(&Registrations::new(false, 1), "192.0.2.1"), 1_000);
    }
}
