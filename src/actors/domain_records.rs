//! Asks DNS for the records of domains that are to be proved (adr/0131).

use crate::{
    domain::domain_claim::{Finding, Known},
    outbound::{Shares, TxtAnswer, TxtResolver},
};
use std::sync::Arc;

/// For so many callers DNS is asked at once, and for so many of one organization.
const CALLERS: usize = 32;
const OF_ONE_ORGANIZATION: usize = 4;

/// Finds records; clones are the same.
#[derive(Clone)]
pub struct DomainRecords {
    resolver: Arc<dyn TxtResolver>,
    callers: Arc<Shares>,
}

impl DomainRecords {
    pub fn new(resolver: Arc<dyn TxtResolver>) -> Self {
        Self { resolver, callers: Arc::new(Shares::new(CALLERS, OF_ONE_ORGANIZATION)) }
    }

    /// Tells whether the record of a claim is there.
    pub async fn find(&self, claim: &Known) -> Finding {
        match self.resolver.txt_of(&claim.domain.challenge()).await {
            TxtAnswer::Unanswered => Finding::Unanswered,
            TxtAnswer::Records(records)
                if claim.is_proved_by(records.iter().map(Vec::as_slice)) =>
            {
                Finding::Found
            }
            TxtAnswer::Records(_) => Finding::Missing,
        }
    }

    /// The same for a caller who waits, unless DNS is being asked for as many as may be.
    pub async fn find_for_caller(&self, claim: &Known) -> Option<Finding> {
        let _share = self.callers.take(&claim.organization)?;
        Some(self.find(claim).await)
    }
}
