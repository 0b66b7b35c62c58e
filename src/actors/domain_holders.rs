//! Says which organization vouches for addresses at a domain (adr/0131).

use super::{HydrateError, hydrate::hydrate, services::Services};
use crate::domain::{
    DomainName, Machine as _, Requirement,
    domain_claim::{DomainClaim, Known, VERIFIED_DOMAINS},
    organization::Organization,
};
use std::sync::Arc;

/// Finds the holders of verified domains; clones are the same.
#[derive(Clone)]
pub struct DomainHolders {
    services: Arc<Services>,
}

/// An organization that has proved a domain, and is enabled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainHolder {
    /// The slug.
    pub organization: String,
    pub domain: DomainName,
    /// The claim by which it holds the domain.
    pub claim: String,
}

impl DomainHolder {
    /// What a commit must require that rests on it: a domain that was lost meanwhile vouches for nothing.
    pub fn requirements(&self) -> [Requirement; 2] {
        [
            Requirement::live::<DomainClaim>(&*self.claim),
            Requirement::live::<Organization>(&*self.organization),
        ]
    }
}

impl DomainHolders {
    pub(crate) fn new(services: Arc<Services>) -> Self {
        Self { services }
    }

    /// Returns the organization that vouches for addresses exactly at this domain, as it is now.
    pub async fn of_domain(
        &self,
        domain: &DomainName,
    ) -> Result<Option<DomainHolder>, HydrateError> {
        let Services { store, clock, .. } = &*self.services;
        let Some((_, id)) = store.find(VERIFIED_DOMAINS, domain.as_str()).await? else {
            return Ok(None);
        };
        let claim = hydrate::<DomainClaim>(store, &id).await?.machine;
        let Some(Known { organization, .. }) = claim.known() else { return Ok(None) };
        let rests_on =
            [(DomainClaim::KIND, id.as_str()), (Organization::KIND, organization.as_str())];
        let (standing, now) = (store.liveness(&rests_on).await?, clock.now());
        if !standing.iter().all(|one| one.is_some_and(|one| one.is_live(now))) {
            return Ok(None);
        }
        let organization = organization.clone();
        Ok(Some(DomainHolder { organization, domain: domain.clone(), claim: id }))
    }

    /// The same for the domain of an e-mail address.
    pub async fn of_address(&self, address: &str) -> Result<Option<DomainHolder>, HydrateError> {
        if let Some(domain) = DomainName::of_address(address) {
            return self.of_domain(&domain).await;
        }
        // What is no address costs as much: no answer tells the two apart by its time.
        let _none = self.services.store.find(VERIFIED_DOMAINS, "").await?;
        Ok(None)
    }
}
