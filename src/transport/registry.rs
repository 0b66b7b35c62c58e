//! The connections that are open: how many an address has, and which of them are closed when there
//! are too many, or when they owe too much.

use super::{
    addresses::{AddressCounts, AddressRules, machine},
    connection_state::ConnectionState,
};
use ipnet::IpNet;
use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// When no permit is left, one connection in so many is closed at once, so that looking through all
/// of them is not done for every newcomer.
const SHARE_CLOSED: usize = 100;

pub(super) struct Registry {
    rules: Arc<AddressRules>,
    open: Mutex<OpenConnections>,
}

struct OpenConnections {
    counts: AddressCounts,
    /// By the machine at the other end; those that are not limited are together.
    connections: HashMap<Option<IpNet>, Vec<Arc<ConnectionState>>>,
}

impl Registry {
    pub(super) fn new(rules: Arc<AddressRules>, per_address: usize) -> Self {
        let counts = AddressCounts::new(per_address);
        Self { rules, open: Mutex::new(OpenConnections { counts, connections: HashMap::new() }) }
    }

    fn open(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a new connection of an address; false if the address has too many, and all of them
    /// are in use. One that is idle makes way.
    pub(super) fn count(&self, address: IpAddr) -> bool {
        if !self.rules.is_limited(address) {
            return true;
        }
        let mut open = self.open();
        if open.counts.take(address) {
            return true;
        }
        let made_way = open.close_idle(Some(machine(address)));
        if made_way {
            open.counts.add(address);
        }
        made_way
    }

    pub(super) fn uncount(&self, address: IpAddr) {
        if self.rules.is_limited(address) {
            self.open().counts.give_back(address);
        }
    }

    pub(super) fn enter(&self, address: IpAddr, connection: Arc<ConnectionState>) {
        self.open().connections.entry(self.key(address)).or_default().push(connection);
    }

    pub(super) fn leave(&self, address: IpAddr, connection: &Arc<ConnectionState>) {
        self.open().remove(self.key(address), connection);
    }

    fn key(&self, address: IpAddr) -> Option<IpNet> {
        self.rules.is_limited(address).then(|| machine(address))
    }

    /// Closes those connections that have waited the longest without a request under way.
    pub(super) fn close_longest_idle(&self) {
        let open = self.open();
        let mut idle: Vec<_> = open.all().filter(|one| one.is_idle()).collect();
        let many = (open.connections.values().map(Vec::len).sum::<usize>() / SHARE_CLOSED).max(1);
        if idle.len() > many {
            idle.select_nth_unstable_by_key(many, |one| one.last_used());
            idle.truncate(many);
        }
        for connection in idle {
            connection.close_if_idle();
        }
    }

    /// Closes connections until the others owe no more than `most`: first those that owe much and
    /// have asked for nothing for long.
    ///
    /// `begun` is how many requests have begun so far, which is what serves as the time here.
    pub(super) fn cut_debtors(&self, most: usize, begun: u64) {
        let open = self.open();
        let mut debtors: Vec<_> = open.all().filter(|one| one.owes() > 0).collect();
        let mut owed: usize = debtors.iter().map(|one| one.owes()).sum();
        debtors.sort_by_cached_key(|one| {
            let (last_request, _) = one.last_used();
            let age = u128::from(begun.saturating_sub(last_request)) + 1;
            std::cmp::Reverse(age.saturating_mul(one.owes() as u128))
        });
        for connection in debtors {
            if owed <= most {
                return;
            }
            owed = owed.saturating_sub(connection.owes());
            connection.cut_off();
        }
    }
}

impl OpenConnections {
    /// Every connection that has not been told to close at once.
    fn all(&self) -> impl Iterator<Item = &Arc<ConnectionState>> {
        self.connections.values().flatten().filter(|one| !one.is_cut_off())
    }

    /// Closes the connection of one machine that has been idle the longest, if there is one.
    fn close_idle(&self, key: Option<IpNet>) -> bool {
        let Some(connections) = self.connections.get(&key) else { return false };
        let idle = connections.iter().filter(|one| one.is_idle());
        let Some(longest) = idle.min_by_key(|one| one.last_used()) else { return false };
        longest.close_if_idle();
        true
    }

    fn remove(&mut self, key: Option<IpNet>, connection: &Arc<ConnectionState>) {
        let Some(connections) = self.connections.get_mut(&key) else { return };
        if let Some(at) = connections.iter().position(|one| Arc::ptr_eq(one, connection)) {
            connections.swap_remove(at);
        }
        if connections.is_empty() {
            self.connections.remove(&key);
        }
    }
}
