//! A person chooses one of the accounts that are signed in where the flow is taken (adr/0087).

use super::{Flow, Material, Open, Rules, Selected, Stage, StepUpRequest, goal::InSession};
use crate::domain::{Decision, Timestamp};

impl Open {
    /// Goes on in the session of the account, as far as what was proved in it counts.
    pub(super) fn select(
        mut self,
        selected: &Selected,
        material: &Material,
        rules: &Rules,
        now: Timestamp,
    ) -> Decision<Flow> {
        // What was made for another name is void.
        self.held.clear();
        let Selected { person, session, identifier } = selected;
        let wanted = self.seed.request.as_ref().map(|request| &request.wanted);
        if wanted.is_some_and(|wanted| wanted.wants_proof_again(person, now)) {
            self.identifier = Some(identifier.clone());
            self.stage = Stage::Credential;
            return self.moved();
        }
        let served = rules.served(&material.methods);
        let more = wanted.and_then(|wanted| wanted.step_up(person, &served, now));
        (self.identifier, self.session) = (None, Some(session.clone()));
        (self.person, self.epoch) = (Some(person.clone()), person.epoch);
        self.methods.clone_from(&material.methods);
        let Some(acr) = more else { return self.settle(material, rules, false, now) };
        self.required = Some(acr);
        let present = InSession { person, methods: &self.methods, now };
        self.stage = StepUpRequest { acr, since: None }.asks(&present);
        self.moved()
    }
}
