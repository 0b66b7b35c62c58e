//! How many clients are told at once: a client that does not answer holds up neither mails nor others.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// Half of what the outbox carries at once.
const MOST: usize = 8;

/// For each client.
const MOST_OF_ONE: usize = 2;

/// Counts what is under way, by client.
#[derive(Default)]
pub(super) struct Shares(Mutex<HashMap<String, usize>>);

/// A delivery that is under way; it counts until it is dropped.
pub(super) struct Share<'a> {
    shares: &'a Shares,
    client_id: String,
}

impl Shares {
    /// Counts a delivery to a client, unless as many as may be are under way.
    pub(super) fn take(&self, client_id: &str) -> Option<Share<'_>> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = counts.values().sum();
        let its = counts.get(client_id).copied().unwrap_or(0);
        if all >= MOST || its >= MOST_OF_ONE {
            return None;
        }
        counts.insert(client_id.to_owned(), its + 1);
        Some(Share { shares: self, client_id: client_id.to_owned() })
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let mut counts = self.shares.0.lock().unwrap_or_else(PoisonError::into_inner);
        match counts.get_mut(&self.client_id) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(counts.remove(&self.client_id)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_client_takes_more_than_its_share_and_all_of_them_leave_some_for_mails() {
        let shares = Shares::default();
        let first = [shares.take("slow"), shares.take("slow")];
        assert!(first.iter().all(Option::is_some) && shares.take("slow").is_none());
        let others: Vec<_> = (0..MOST).map(|n| shares.take(&n.to_string())).collect();
        assert_eq!(others.iter().filter(|share| share.is_some()).count(), MOST - 2);
        drop(first);
        assert!(shares.take("slow").is_some());
        drop(others);
        assert!(shares.0.lock().unwrap().is_empty(), "what has ended is not kept");
    }
}
