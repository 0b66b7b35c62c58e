//! What a family issues under its grant, and what it records of it.

use super::{End, Event, Issue, Issuing, Malformed, Narrowing, Refusal, Reply, TokenFamily};
use crate::domain::{
    Decision, Record, Requirement,
    authority::GrantedAuthority,
    delegation::{Delegation, Root},
    dpop::ProofUse,
    grant::Grant,
};

impl Grant {
    pub(in crate::domain) fn record(&self, event: &'static str) -> Record {
        let mut record = Record::new(event).with("client_id", self.client_id.as_str());
        if let Some(account) = &self.account {
            record = record.with("account", account.as_str());
        }
        if let Some(Delegation { act, root, .. }) = self.delegation.as_deref() {
            record = record.with("act", act.parties().collect::<Vec<_>>().join(" "));
            if let Root::ApiKey { id, .. } = root {
                record = record.with("api_key", id.as_str());
            }
        }
        let kinds = self.details.kinds().join(" ");
        let record =
            if kinds.is_empty() { record } else { record.with("authorization_details", kinds) };
        match self.organization() {
            Some(slug) => record.in_organization(slug),
            None => record,
        }
    }

    /// Issues what is asked of it, with these events; without any it was issued before.
    pub(super) fn issue(&self, issuing: &Issuing, events: Vec<Event>) -> Decision<TokenFamily> {
        let granted = match self.pass_on(issuing) {
            Ok(granted) => granted,
            // A family that is refused so ends: the requirement may be lifted later (contract §7).
            Err(Refusal::Ended) if !self.came_as_required(&issuing.limits) => {
                return self.end(End::Over, Refusal::Ended);
            }
            Err(why) => return Decision::refuse(why),
        };
        let is_new = !events.is_empty();
        let issue = Issue { grant: self.clone(), granted };
        let decision = Decision::accept(events, Reply::Issue(Box::new(issue)));
        if !is_new {
            return decision;
        }
        // A proof leads to one token.
        let proof = issuing.possession.proof.iter().map(ProofUse::birth);
        self.require(proof.fold(decision, Decision::bearing), &issuing.requirements)
    }

    /// Grants what is asked of it, if that is a part of it and still covered.
    pub(super) fn pass_on(&self, issuing: &Issuing) -> Result<GrantedAuthority, Refusal> {
        let Narrowing { scopes, details, audience, organization, malformed } = &issuing.narrowing;
        match malformed {
            Some(Malformed::Scope) => return Err(Refusal::MalformedScope),
            Some(Malformed::Target) => return Err(Refusal::OtherAudience),
            Some(Malformed::Details) => return Err(Refusal::MalformedDetails),
            None => {}
        }
        if audience.as_ref().is_some_and(|audience| *audience != self.audience) {
            return Err(Refusal::OtherAudience);
        }
        if organization.is_some() && organization.as_deref() != self.organization() {
            return Err(Refusal::OtherOrganization);
        }
        if issuing.limits.over {
            return Err(Refusal::Ended);
        }
        // The organization may require more by now than when this was granted (adr/0060).
        if !self.is_sure_enough(&issuing.limits) {
            return Err(Refusal::NotSureEnough);
        }
        if !self.came_as_required(&issuing.limits) {
            return Err(Refusal::Ended);
        }
        Ok(self.narrow(scopes.as_ref(), details.as_ref(), &issuing.limits)?)
    }

    pub(super) fn end(&self, why: End, refusal: Refusal) -> Decision<TokenFamily> {
        let event = match why {
            End::Replayed => "authorization_code.replayed",
            End::Reused => "refresh_token.reused",
            End::Revoked => "token_family.revoked",
            End::Over => "token_family.ended",
        };
        Decision::refuse_and_record(vec![Event::Ended { why }], refusal)
            .recording(self.record(event))
    }

    pub(super) fn require(
        &self,
        decision: Decision<TokenFamily>,
        facts: &[Requirement],
    ) -> Decision<TokenFamily> {
        self.requirements(facts).fold(decision, Decision::requiring)
    }

    /// What a commit that issues under it must require.
    pub(super) fn requirements(&self, facts: &[Requirement]) -> impl Iterator<Item = Requirement> {
        self.ancestors().into_iter().chain(facts.iter().cloned())
    }
}
