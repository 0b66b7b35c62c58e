//! Domains: those that are not there yet are added, and the rest stays as it is.

use super::Planner;
use crate::{
    crypto::{draw_text, draw_uuid},
    domain::{
        Provisioned,
        domain_claim::{
            Add, CLAIMED_DOMAINS, Command, DOMAINS, DomainClaim, MOST_DOMAINS, Order, TOKEN_BYTES,
            claimed_name,
        },
    },
    provisioning::{
        apply::ApplyError,
        domains::{DOMAIN, DomainEntry},
        lines::Declaration,
        lists::Entries,
        plan::Step,
    },
};
use std::collections::BTreeSet;

impl Planner<'_, '_> {
    pub(super) async fn domain(
        &mut self,
        Declaration { draft, lines }: &Declaration<DomainEntry>,
    ) -> Result<(), ApplyError> {
        let DomainEntry { organization, domain } = draft;
        let claimed = claimed_name(organization, domain);
        if self.workbench.store().find(CLAIMED_DOMAINS, &claimed).await?.is_some() {
            self.note_domain(draft, Provisioned::Unchanged);
            return Ok(());
        }
        // What is wrong with the organization has been said.
        let Some(home) = self.organization_as_left(organization).await? else { return Ok(()) };
        let complain = |text: String| vec![(lines.of_field("domain"), text)];
        let Some(place) = self.free_place(organization).await? else {
            let text = format!("an organization has {MOST_DOMAINS} domains at most");
            self.complain::<DomainClaim>(domain.as_str(), complain(text));
            return Ok(());
        };
        let id = draw_uuid(self.workbench.dice());
        let token = draw_text(self.workbench.dice(), TOKEN_BYTES);
        let add = Add { id: id.clone(), domain: domain.clone(), place, token };
        let command = Command::order(Order::Add(add), &home);
        match self.multi_commit.decide::<DomainClaim>(&id, &command).await? {
            Ok(()) => self.note_domain(draft, Provisioned::Created),
            Err(refusal) => {
                self.complain::<DomainClaim>(domain.as_str(), complain(refusal.to_string()));
            }
        }
        Ok(())
    }

    fn note_domain(&mut self, entry: &DomainEntry, outcome: Provisioned) {
        self.steps.push(Step { kind: DOMAIN, id: entry.domain.to_string(), outcome });
    }

    /// Finds a place that no domain of the organization has, be it one of this file.
    async fn free_place(&mut self, organization: &str) -> Result<Option<u8>, ApplyError> {
        if !self.places.contains_key(organization) {
            let mut taken = BTreeSet::new();
            let mut claims = Entries::<DomainClaim>::of(self.workbench, DOMAINS, organization);
            while let Some((_, claim)) = claims.next().await? {
                taken.extend(claim.known().map(|known| known.place));
            }
            self.places.insert(organization.to_owned(), taken);
        }
        let taken = self.places.entry(organization.to_owned()).or_default();
        let place = (0..MOST_DOMAINS).find(|place| !taken.contains(place));
        taken.extend(place);
        Ok(place)
    }
}
