//! Proofs, right and wrong, and credentials that are enrolled.

use super::{
    AccountProof, Flow, Goal, MOST_WRONG, Material, Moment, Open, PendingProofContent, Refusal,
    Rules, SignOnProof, Stage, commands,
};
use crate::domain::{
    Decision, Fingerprint, Record, Timestamp,
    account::Command,
    assurance::{Evidence, Level, Method},
    authorization::Denial,
    person::Person,
    upstream_session::UpstreamSession,
};

/// How many wrong credentials end a flow.
pub const MOST_ATTEMPTS: u32 = 10;

impl Open {
    /// Takes what the flow held for a step; it is good for once.
    pub(super) fn spend(
        &mut self,
        step: &str,
        spends: Option<Fingerprint>,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let held = self.held_for(step, now).map(super::PendingProof::mark);
        if held != spends {
            return Err(Refusal::NotNow);
        }
        self.held.retain(|held| held.step != step);
        Ok(())
    }

    /// Compares a code that was sent with the one that comes back.
    pub(super) fn present(
        mut self,
        step: &str,
        code: Fingerprint,
        proved: Option<(&AccountProof, &Material)>,
        (rules, now): (&Rules, Timestamp),
    ) -> Decision<Flow> {
        let held = self.held.iter_mut().find(|held| held.is_for(step, now));
        let account = proved.map(|(proved, _)| proved.account.clone());
        let sent_to = held.as_ref().and_then(|held| held.sent_to);
        let right = match &held {
            Some(held) => {
                held.content == PendingProofContent::Code(code) && held.account == account
            }
            None => false,
        };
        // A code that went to a former address proves nothing of the person who has the account now.
        let reaches = |material: &Material| material.account.is_reached_at(sent_to);
        let right = right && proved.is_none_or(|(_, material)| reaches(material));
        let Some((proved, material)) = proved.filter(|_| right) else {
            if let Some(held) = held {
                held.wrong += 1;
            }
            self.held.retain(|held| held.wrong < MOST_WRONG);
            return self.disprove(step, account.as_deref()).refusing(Refusal::Wrong);
        };
        self.held.retain(|held| held.step != step);
        let proved = AccountProof { spends: None, by: sent_to, ..proved.clone() };
        self.prove(&proved, material, rules, now)
    }

    /// Counts a wrong proof; a ceremony that was answered wrongly is over.
    pub(super) fn disprove(mut self, step: &str, account: Option<&str>) -> Decision<Flow> {
        self.attempts += 1;
        // A new credential that does not work proves nothing of one that the account has.
        let enrols = self.stage == Stage::Enrol && step != "recovery_code";
        let ceremony = |content: &PendingProofContent| {
            matches!(content, PendingProofContent::Ceremony(_) | PendingProofContent::SignOn(_))
        };
        self.held.retain(|held| held.step != step || !ceremony(&held.content));
        let exhausted = self.attempts >= MOST_ATTEMPTS;
        let decision = if exhausted { self.fail(Denial::TooManyAttempts) } else { self.moved() };
        let record = match account {
            Some(account) if enrols => Record::new("enrolment.failed").with("account", account),
            Some(account) => Record::new("sign_in.failed").with("account", account),
            // Any caller can invent identifiers without end.
            None => Record::counted("sign_in.failed"),
        };
        decision.recording(record.with("step", step))
    }

    /// Counts a wrong code of a device.
    pub(super) fn enter_wrong(mut self) -> Decision<Flow> {
        self.attempts += 1;
        let account = self.person.as_ref().map_or("", |person| &person.account).to_owned();
        let exhausted = self.attempts >= MOST_ATTEMPTS;
        let decision = if exhausted { self.fail(Denial::TooManyAttempts) } else { self.moved() };
        let record = Record::new("device.user_code_wrong").with("account", account);
        decision.recording(record).refusing(Refusal::WrongUserCode)
    }

    pub(super) fn prove(
        mut self,
        proved: &AccountProof,
        material: &Material,
        rules: &Rules,
        now: Timestamp,
    ) -> Decision<Flow> {
        let Some(worth) = proved.worth.or_else(|| rules.worth(proved.step)) else {
            return Decision::refuse(Refusal::NotNow);
        };
        if let Err(refusal) = self.spend(proved.step, proved.spends, now) {
            return Decision::refuse(refusal);
        }
        let by = proved.by.or_else(|| material.account.authenticators.of(worth.method));
        if by.is_none() && material.account.version > 0 && proved.sign_on.is_none() {
            return Decision::refuse(Refusal::NotNow);
        }
        let proof = worth.given(now).by(by).after(material.account.sign_outs);
        let proof = match &proved.sign_on {
            Some(by) => proof.through(by.sign_on.clone()).proved_there_at(by.auth_time),
            None => proof,
        };
        let former = match &self.person {
            None => Evidence::default(),
            Some(person) if person.account == proved.account => person.evidence.clone(),
            // Two halves of two accounts are no proof of one.
            Some(_) => return Decision::refuse(Refusal::NotNow),
        };
        let is_own = former.placed(proof.clone()).only_for().is_none();
        let evidence = former.and(proof);
        let (is_first, kind) = (self.person.is_none(), self.seed.kind.clone());
        let shown = (!self.proved_here && self.applicant.is_none())
            .then(|| Record::new("credential.proved").with("account", proved.account.as_str()))
            .map(|record| record.with("step", proved.step).with("flow", kind.as_str()));
        if is_first {
            self.epoch = material.account.epoch;
        }
        let was_second = self.stage == Stage::SecondFactor;
        let single = evidence.level_of_last(now) < Some(Level::Aal2);
        let epoch = self.person.as_ref().map_or(material.account.epoch, |person| person.epoch);
        self.person = Some(Person { account: proved.account.clone(), epoch, evidence });
        // Whom they named is known by now: the name is not kept.
        (self.identifier, self.proved_here) = (None, true);
        self.proved_own |= is_own;
        if proved.sign_on.is_some() {
            self.sign_on = None;
        }
        // The challenge of the passkey held what the person had said yes to.
        if let Some(said) = self.approval.as_mut().filter(|said| said.agreed) {
            said.asserted |= proved.step == "passkey";
        }
        self.methods.clone_from(&proved.methods);
        // A browser may stand in for the question; for a factor it does not, nor mail with it.
        let remembered = material.fresh.remembered && !worth.factors.is_empty();
        let decision = if single && !was_second && self.asks_second_factor(rules, remembered) {
            self.stage = Stage::SecondFactor;
            self.moved()
        } else {
            self.settle(material, rules, false, now)
        };
        let decision = if is_first && decision.outcome.is_ok() {
            let decision = material.tell(Moment::Proved, decision);
            if rules.goal(&kind).is_some_and(Goal::can_be_stopped) {
                let account = proved.account.as_str();
                decision.recording(Record::new("recovery.started").with("account", account))
            } else {
                decision
            }
        } else {
            decision
        };
        // A flow may wait for long, or come to nothing: the person sees the proof all the same. Of a sign-in
        // that is over by it another record is written.
        let says_so =
            |record: &Record| ["sign_in.succeeded", "recovery.started"].contains(&record.event);
        let said = decision.outcome.is_err() || decision.effects.records.iter().any(says_so);
        let decision = shown.filter(|_| !said).into_iter().fold(decision, Decision::recording);
        let decision = match &proved.sign_on {
            Some(by) => by.bear(decision),
            None => decision,
        };
        let uses = proved.uses.clone().map(|command| commands::spend(&proved.account, command));
        let decision = uses.into_iter().flatten().fold(decision, Decision::commanding);
        proved.requirement().into_iter().fold(decision, Decision::requiring)
    }

    /// Tells whether a single factor is followed by another: always where an authenticator
    /// application is enrolled, and where two factors are wanted and the account has them.
    fn asks_second_factor(&self, rules: &Rules, remembered: bool) -> bool {
        let Some(goal) = rules.goal(&self.seed.kind) else { return false };
        let skipped = remembered && goal.trusts_remembered_devices();
        let enrolled = self.methods.contains(&Method::Totp) && !skipped;
        let wanted = goal.required(&self.seed) >= Level::Aal2;
        goal.asks_second_factor()
            && (enrolled || wanted)
            && self.second_factors(rules).next().is_some()
    }

    /// Enrols a credential, and goes on.
    pub(super) fn enrol(
        mut self,
        changes: &[Command],
        material: &Material,
        rules: &Rules,
        now: Timestamp,
    ) -> Decision<Flow> {
        let (Some(person), Some(goal)) = (self.person.clone(), rules.goal(&self.seed.kind)) else {
            return Decision::refuse(Refusal::NotNow);
        };
        // What comes after that is only that they have kept their recovery codes.
        let changes =
            if self.enrolled { Vec::new() } else { goal.enrolled(&self, changes.to_vec()) };
        // It is the account's from its first commit on, and never another account's.
        let makes_account = |change: &Command| matches!(change, Command::Create(_));
        let link = self.link.clone().filter(|_| changes.iter().any(makes_account));
        let replaces = !self.enrolled && goal.replaces_credentials(&self);
        let replaced = material.identities.iter().filter(|_| replaces);
        self.enrolled = true;
        let makes_codes = |change: &Command| matches!(change, Command::IssueRecoveryCodes(_));
        self.keeps_codes = self.seed.request.is_some() && changes.iter().any(makes_codes);
        let recovers = changes.iter().any(|change| matches!(change, Command::Recover { .. }));
        let mut decision = self.settle(material, rules, false, now);
        // An account that is made here is made before anything else is asked of it.
        let change = |command| commands::change(&person.account, command);
        decision.commands.splice(0..0, changes.into_iter().flat_map(change));
        // Another person may have linked them.
        decision.commands.extend(replaced.map(|id| commands::unlink(id)));
        // A device of the former holder of the account is none of the person's.
        if recovers {
            decision = decision.commanding(commands::forget_devices(&person.account));
        }
        match link {
            Some(link) if decision.outcome.is_ok() => link.link(decision, &person.account, now),
            _ => decision,
        }
    }
}

impl SignOnProof {
    /// Keeps what the provider has said in the same commit, which requires that it still stands.
    fn bear(&self, decision: Decision<Flow>) -> Decision<Flow> {
        if decision.outcome.is_err() {
            return decision;
        }
        let born = UpstreamSession::birth(&*self.sign_on.session, self.session.clone());
        self.requirements.iter().cloned().fold(decision.bearing(born), Decision::requiring)
    }
}
