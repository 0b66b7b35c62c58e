//! Reads that look at everything an organization has: one at a time for each, and few at once.

use crate::http::answer::error::Problem;
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// How many run at once, of all organizations.
const AT_ONCE: usize = 4;

/// How long one that waits for its permit waits before it asks again.
const PAUSE: Duration = Duration::from_millis(50);

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

    /// Waits until one is permitted.
    pub async fn wait(&self, organization: &str) -> Scan {
        loop {
            if let Ok(scan) = self.begin(organization) {
                return scan;
            }
            tokio::time::sleep(PAUSE).await;
        }
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

    #[tokio::test]
    async fn one_that_waits_is_permitted_when_another_ends() {
        let scans = Scans::default();
        let first = scans.begin("a").unwrap();
        let mut second = std::pin::pin!(scans.wait("a"));
        assert!(tokio::time::timeout(PAUSE * 3, &mut second).await.is_err());
        drop(first);
        assert!(tokio::time::timeout(PAUSE * 200, second).await.is_ok());
    }
}
