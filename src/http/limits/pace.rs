//! How often one address may ask, by what for; kept in memory, and never more than so much of it.
//!
//! This keeps one client from costing the others anything. What protects an identifier is its
//! throttle, which is kept in the store and knows no addresses.

use super::purpose::Purpose;
use crate::domain::Timestamp;
use crate::http::{answer::retry_after::RetryAfter, extract::address::is_somebody, vitals::Vitals};
use ipnet::IpNet;
use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, PoisonError},
};

/// How many addresses are remembered for a purpose: a few megabytes at the very most.
const MOST: usize = 65_536;

/// When the allowance of each address will be whole again; nobody needs to be kept for whom it is.
type Book = HashMap<IpAddr, Timestamp>;

/// The pace of every address.
pub struct Pace {
    enabled: bool,
    proxies: Vec<IpNet>,
    books: [Mutex<Book>; Purpose::ALL.len()],
    vitals: Arc<Vitals>,
}

impl Pace {
    pub fn new(enabled: bool, proxies: Vec<IpNet>, vitals: Arc<Vitals>) -> Self {
        Self { enabled, proxies, books: Default::default(), vitals }
    }

    /// Networks of proxies, which are believed and not counted.
    pub fn proxies(&self) -> &[IpNet] {
        &self.proxies
    }

    /// Lets a client ask once more, or says how long it must wait.
    pub fn take(
        &self,
        purpose: Purpose,
        address: IpAddr,
        now: Timestamp,
    ) -> Result<(), RetryAfter> {
        if !self.enabled || !is_somebody(address, &self.proxies) {
            return Ok(());
        }
        let (rate, client) = (purpose.rate(), client(address));
        let book = &self.books[purpose as usize];
        let mut book = book.lock().unwrap_or_else(PoisonError::into_inner);
        let held = book.get(&client).copied();
        if held.is_none() && book.len() >= MOST {
            make_room(&mut book, now);
        }
        // No more is owed than the whole: a clock that was set back locks nobody out.
        let full_at = held.unwrap_or(now).min(now + rate.whole());
        let taken = rate.take(full_at, now);
        book.insert(client, taken.unwrap_or(full_at));
        drop(book);
        taken.map(drop).map_err(|retry_at| {
            self.vitals.limited(purpose);
            RetryAfter::until(retry_at, now)
        })
    }
}

/// Whoever has an IPv6 address has all of its /64.
fn client(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into()
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// Forgets those who owe nothing, and if that is not half of them, those who owe the least.
fn make_room(book: &mut Book, now: Timestamp) {
    book.retain(|_, full_at| *full_at > now);
    if book.len() > MOST / 2 {
        let mut owed: Vec<Timestamp> = book.values().copied().collect();
        let middle = owed.len() / 2;
        let (_, middle, _) = owed.select_nth_unstable(middle);
        book.retain(|_, full_at| *full_at > *middle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{net::Ipv4Addr, time::Duration};

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn pace() -> Pace {
        Pace::new(true, vec!["10.0.0.0/8".parse().unwrap()], Arc::default())
    }

    /// Says how often an address is let through at once.
    fn at_once(pace: &Pace, purpose: Purpose, address: &str, now: Timestamp) -> usize {
        let address = address.parse().unwrap();
        (0..1_000).take_while(|_| pace.take(purpose, address, now).is_ok()).count()
    }

    fn stranger(number: usize) -> IpAddr {
        Ipv4Addr::from_bits(0x2000_0000 + u32::try_from(number).unwrap()).into()
    }

    #[test]
    fn an_address_has_a_burst_for_each_purpose_and_then_a_pace() {
        let pace = pace();
        for (purpose, burst) in Purpose::ALL.into_iter().zip([120, 30, 20, 20]) {
            assert_eq!(at_once(&pace, purpose, "192.0.2.1", NOW), burst);
        }
        let address = "192.0.2.1".parse().unwrap();
        let refused = pace.take(Purpose::Registration, address, NOW).unwrap_err();
        assert_eq!(refused.seconds(), 10);
        let later = NOW + Duration::from_secs(refused.seconds().into());
        assert_eq!(at_once(&pace, Purpose::Registration, "192.0.2.1", later), 1);
        assert_eq!(at_once(&pace, Purpose::Registration, "192.0.2.2", NOW), 20);
        assert_eq!(pace.vitals.limits().collect::<Vec<_>>()[3], ("registration", 4));
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
    fn proxies_and_this_machine_are_not_limited_and_nobody_is_when_it_is_switched_off() {
        for address in ["127.0.0.1", "::1", "10.9.9.9"] {
            assert_eq!(at_once(&pace(), Purpose::Credential, address, NOW), 1_000);
        }
        let off = Pace::new(false, Vec::new(), Arc::default());
        assert_eq!(at_once(&off, Purpose::Credential, "192.0.2.1", NOW), 1_000);
    }

    #[test]
    fn a_clock_that_was_set_back_locks_nobody_out() {
        let pace = pace();
        assert_eq!(at_once(&pace, Purpose::Credential, "192.0.2.1", NOW), 30);
        let before = NOW - Duration::from_hours(24);
        assert_eq!(at_once(&pace, Purpose::Credential, "192.0.2.1", before), 0);
        let soon = before + Duration::from_secs(2);
        assert_eq!(at_once(&pace, Purpose::Credential, "192.0.2.1", soon), 2);
    }

    #[test]
    fn strangers_without_number_take_no_more_room_and_free_nobody() {
        let pace = pace();
        assert_eq!(at_once(&pace, Purpose::Credential, "192.0.2.1", NOW), 30);
        for number in 0..3 * MOST {
            assert!(pace.take(Purpose::Credential, stranger(number), NOW).is_ok());
        }
        assert!(pace.books[Purpose::Credential as usize].lock().unwrap().len() <= MOST);
        assert_eq!(at_once(&pace, Purpose::Credential, "192.0.2.1", NOW), 0, "who owes most stays");
    }

    #[test]
    fn whoever_owes_nothing_is_forgotten_first() {
        let pace = pace();
        for number in 0..MOST {
            pace.take(Purpose::Flow, stranger(number), NOW).unwrap();
        }
        let later = NOW + Duration::from_secs(1);
        pace.take(Purpose::Flow, stranger(MOST), later).unwrap();
        assert_eq!(pace.books[Purpose::Flow as usize].lock().unwrap().len(), 1);
    }
}
