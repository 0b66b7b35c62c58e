//! A concurrency limit, how many servers are called at once: one that does not answer holds up neither mails nor others.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// How many calls of each server are under way.
type Counts = Arc<Mutex<HashMap<String, usize>>>;

/// Counts what is under way, by what is called.
pub struct Shares {
    /// Of all together.
    most: usize,
    /// For each.
    most_of_one: usize,
    counts: Counts,
}

/// A call that is under way; it counts until it is dropped.
pub struct Share {
    counts: Counts,
    called: String,
}

impl Shares {
    pub fn new(most: usize, most_of_one: usize) -> Self {
        Self { most, most_of_one, counts: Counts::default() }
    }

    /// Counts a call of a server, unless as many as may be are under way.
    pub fn take(&self, called: &str) -> Option<Share> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = counts.values().sum();
        let its = counts.get(called).copied().unwrap_or(0);
        if all >= self.most || its >= self.most_of_one {
            return None;
        }
        counts.insert(called.to_owned(), its + 1);
        Some(Share { counts: self.counts.clone(), called: called.to_owned() })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        match counts.get_mut(&self.called) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(counts.remove(&self.called)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_server_takes_more_than_its_share_and_all_of_them_leave_some_for_mails() {
        const MOST: usize = 8;
        let shares = Shares::new(MOST, 2);
        let first = [shares.take("slow"), shares.take("slow")];
        assert!(first.iter().all(Option::is_some) && shares.take("slow").is_none());
        let others: Vec<_> = (0..MOST).map(|n| shares.take(&n.to_string())).collect();
        assert_eq!(others.iter().filter(|share| share.is_some()).count(), MOST - 2);
        drop(first);
        assert!(shares.take("slow").is_some());
        drop(others);
        assert!(shares.counts.lock().unwrap().is_empty(), "what has ended is not kept");
    }
}
