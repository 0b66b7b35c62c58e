//! Reads that look at everything an organization has: one at a time for each, and few at once.

use crate::http::answer::error::Problem;
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

/// How many run at once, of all organizations.
const AT_ONCE: usize = 4;

/// Which organizations are being looked through.
#[derive(Clone, Default)]
pub struct Scans(Arc<Mutex<HashSet<String>>>);

/// The permit of one; it ends with it.
pub struct Scan {
    scans: Scans,
    organization: String,
}

impl Scans {
    /// Permits one, or refuses for now.
    pub fn begin(&self, organization: &str) -> Result<Scan, Problem> {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if running.len() >= AT_ONCE || !running.insert(organization.to_owned()) {
            return Err(Problem::TOO_MANY_REQUESTS);
        }
        Ok(Scan { scans: self.clone(), organization: organization.to_owned() })
    }
}

impl Drop for Scan {
    fn drop(&mut self) {
        let mut running = self.scans.0.lock().unwrap_or_else(PoisonError::into_inner);
        running.remove(&self.organization);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_organization_has_one_at_a_time_and_all_together_a_few() {
        let scans = Scans::default();
        let first = scans.begin("a").unwrap();
        assert!(scans.begin("a").is_err());
        drop(first);
        let held: Vec<_> = ["a", "b", "c", "d"].map(|slug| scans.begin(slug).unwrap()).into();
        assert!(scans.begin("e").is_err());
        drop(held);
        assert!(scans.begin("e").is_ok());
    }
}
