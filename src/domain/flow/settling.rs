//! What follows from all that is known: a question, or the end.

use super::{
    AccountSeen, Event, Finished, FinishedSession, Flow, Material, Moment, Notice, NoticeMessage,
    Open, Over, Refusal, Reply, Rules, SessionChange, Stage, StepUpRequest, commands,
    goal::{Case, Ending, InSession, Next, Question, SessionEnding},
};
use crate::domain::{
    Decision, Fingerprint, Record, Requirement, SubCommand, Timestamp,
    account::{self, Account, Known},
    account_alerts,
    assurance::{AuthenticatorId, amr},
    authorization::Denial,
    grant::Grant,
    installation::SignOuts,
    person::Person,
    pushed_request::PushedRequest,
    session::{self, Session, SessionClients},
    token_family::{self, TokenFamily},
};

impl AccountSeen {
    /// What a flow looks at of an account that was read at this version, after these sign-outs.
    pub fn of(known: Option<&Known>, version: i64, sign_outs: SignOuts) -> Self {
        Self {
            version,
            // One that is not made yet begins in the epoch of everyone.
            epoch: known.map_or(sign_outs.everyone, |known| known.person_epoch(sign_outs)),
            sign_outs: sign_outs.last,
            deleting: known.is_some_and(|known| known.erase_at.is_some()),
            authenticators: known.map(Known::authenticators).unwrap_or_default(),
        }
    }

    /// Tells whether what was sent to this address or number has reached its person. An account that is not
    /// made yet has none.
    pub(super) fn is_reached_at(&self, sent_to: Option<AuthenticatorId>) -> bool {
        self.version == 0 || sent_to.is_none_or(|id| self.authenticators.contains(id))
    }
}

impl Open {
    /// Tells whether everything that was proved is still worth what it was: in the same epoch of the account,
    /// by authenticators that it still has.
    pub fn still_rests_on(&self, account: &AccountSeen) -> bool {
        let Some(person) = &self.person else { return true };
        let epoch = if self.seed.signed_in.is_none() { self.epoch } else { person.epoch };
        // It is made at the end of this very flow.
        let is_made_here = account.version == 0 && self.applicant.is_some();
        let rests_on = |account: &AccountSeen| person.evidence.rests_on(&account.authenticators);
        epoch == account.epoch && (is_made_here || rests_on(account))
    }

    /// Fails: what was proved is worth nothing any more, and no later step can mend it.
    pub(super) fn supersede(self) -> Decision<Flow> {
        let record = Record::new("sign_in.superseded").with("flow", self.seed.kind.as_str());
        let record = match &self.person {
            Some(person) => record.with("account", person.account.as_str()),
            None => record,
        };
        self.fail(Denial::Superseded).recording(record).refusing(Refusal::Superseded)
    }

    /// Goes on until the person must be asked.
    pub(super) fn settle(
        mut self,
        material: &Material,
        rules: &Rules,
        allowed: bool,
        now: Timestamp,
    ) -> Decision<Flow> {
        let (Some(person), Some(goal)) = (self.person.clone(), rules.goal(&self.seed.kind)) else {
            return Decision::refuse(Refusal::NotNow);
        };
        if self.seed.request.is_some() && material.facts.is_none() {
            return Decision::refuse(Refusal::NotNow);
        }
        if !self.still_rests_on(&material.account) {
            return self.supersede();
        }
        if self.keeps_codes {
            self.stage = Stage::Enrol;
            return self.moved();
        }
        if let Some(said) = self.approval.as_mut().filter(|_| allowed) {
            said.agreed = true;
        }
        let (session, change) = self.session(material);
        let facts = material.facts.as_ref();
        // A person who was signed in when the flow began may have given no proof here.
        if self.methods.is_empty() {
            self.methods.clone_from(&material.methods);
        }
        let served = rules.served(&self.methods);
        let offers_passkey = material.fresh.offers_passkey && rules.serves("passkey/create");
        let case = Case {
            person: &person,
            session: &session,
            facts,
            approval: material.approval.as_deref(),
            served: &served,
            allowed,
            offers_passkey,
            now,
        };
        match goal.next(&self, &case) {
            Next::Fail(denial) => self.fail(denial),
            Next::Ask(question) => {
                if let Question::More(acr) = question {
                    self.required = Some(acr);
                }
                // What the person said yes to is shown until they have proved enough for it.
                let agreed = self.approval.as_ref().is_some_and(|said| said.agreed);
                let kept = self.question.take().filter(|_| agreed);
                (self.stage, self.question) = match question {
                    Question::More(acr) => {
                        let present = InSession { person: &person, methods: &self.methods, now };
                        (StepUpRequest { acr, since: None }.asks(&present), kept)
                    }
                    Question::SignOn(slug) => {
                        self.sign_on = Some(slug);
                        (Stage::Credential, kept)
                    }
                    Question::Credential => (Stage::Credential, kept),
                    Question::Again(counts) => {
                        // What was proved before the sign-out is no part of what this flow ends in.
                        self.person = Some(Person { evidence: *counts, ..person.clone() });
                        (Stage::Credential, kept)
                    }
                    Question::SecondFactor => (Stage::SecondFactor, None),
                    Question::Proof => (Stage::Proof, None),
                    Question::Enrol => (Stage::Enrol, None),
                    Question::Organization => (Stage::Organization, None),
                    Question::Consent(asked) => (Stage::Consent, Some(asked)),
                    Question::Confirm(asked) => (Stage::Confirm, asked),
                };
                if let (Stage::Confirm, Some(asked), Some(question)) =
                    (self.stage, &material.approval, &self.question)
                {
                    self.approval = Some(Box::new(asked.shown(question)));
                    // A ceremony that was begun before is not about this.
                    self.held.clear();
                }
                self.moved()
            }
            Next::End(ending) => {
                let session = FinishedSession { id: session, change };
                let consents = allowed && self.stage == Stage::Consent;
                self.end(ending, (session, consents), material, now)
            }
        }
    }

    /// Says in which session the flow ends, if it ends signed in.
    fn session(&self, material: &Material) -> (String, SessionChange) {
        let fresh = &material.fresh;
        let present = match &self.seed.signed_in {
            Some(signed_in) => Some(&signed_in.session),
            None => self.session.as_ref().or(fresh.present.as_ref()),
        };
        match present {
            None => (fresh.session_id.clone(), SessionChange::Begun),
            Some(id) if self.proved_here => (id.clone(), SessionChange::Renewed),
            Some(id) => (id.clone(), SessionChange::Kept),
        }
    }

    fn end(
        self,
        ending: Ending,
        (mut session, consents): (FinishedSession, bool),
        material: &Material,
        now: Timestamp,
    ) -> Decision<Flow> {
        let Ending { session: becomes, grant, requirements, changes, accepts, links } = ending;
        let Some(person) = self.person.clone() else { return Decision::refuse(Refusal::NotNow) };
        if becomes == SessionEnding::SignedOut {
            session.change = SessionChange::Ended;
        }
        let touched = becomes != SessionEnding::Untouched;
        let (fresh, request) = (&material.fresh, self.seed.request.clone());
        let over = Over {
            seed: self.seed.clone(),
            person: Some(person.clone()),
            denial: None,
            finished: Some(Finished {
                family_id: fresh.family_id.clone(),
                granted: grant.is_some(),
                proved_own: self.proved_own,
                session: touched.then(|| session.clone()),
            }),
        };
        let account = &*person.account;
        // A person who signs in again wants to keep the account.
        let signs_in = becomes == SessionEnding::SignedIn && !person.evidence.is_only_scoped();
        let keeps = material.account.deleting && signs_in;
        let kept = keeps.then_some(account::Command::KeepAccount);
        let hears = material.facts.as_ref().is_some_and(|facts| facts.hears_of_logout);
        let told = grant.as_ref().filter(|_| hears).map(|grant| grant.client_id.clone());
        let reply = Reply::over(over.clone());
        let mut decision = Decision::accept(vec![Event::Ended(Box::new(over))], reply);
        for command in changes.into_iter().chain(kept) {
            decision = commands::change(account, command).fold(decision, Decision::commanding);
        }
        if let Some(invitation) = accepts {
            let applicant = self.applicant.as_ref().map(|applicant| applicant.email.clone());
            let joining = match &material.joining {
                Some(Ok(joining)) => joining,
                Some(Err(refusal)) => return Decision::refuse(*refusal),
                None => return Decision::refuse(Refusal::InvitationOver),
            };
            let Some(email) = joining.email.clone().or(applicant) else {
                return Decision::refuse(Refusal::InvitationOver);
            };
            decision = commands::join(decision, &invitation, account, (email, joining));
        }
        if let Some(link) = links {
            decision = link.link(decision, account, now);
        }
        let approved = grant.as_ref().and_then(|grant| self.approves(grant));
        let is_approved = approved.is_some();
        decision = approved.into_iter().fold(decision, Decision::commanding);
        if touched {
            decision = go_on(decision, &person, &session, (fresh.session_token, told.clone()));
        }
        let remembers = material.facts.as_ref().and_then(|facts| facts.remembers);
        if let (Some(grant), Some(redirects)) = (&grant, remembers.filter(|_| consents)) {
            let consent = commands::consent(grant, redirects);
            decision = consent.into_iter().fold(decision, Decision::commanding);
        }
        if becomes == SessionEnding::SignedIn {
            let told = told.map(|client_id| SessionClients::first(&*session.id, client_id));
            let signing_in = SigningIn { person: &person, session: &session, told };
            decision = sign_in(decision, signing_in, material, now);
            if self.proved_here {
                decision = decision.recording(signed_in(&person, &session));
                // Where an organization's provider says that a person is says nothing of the account's own devices.
                let watched = material.sign_in.as_deref().filter(|_| self.proved_own);
                let watched = watched.map(commands::watch);
                decision = watched.into_iter().fold(decision, Decision::commanding);
            }
        }
        if (self.device.is_some() || self.approval.is_some()) && grant.is_some() {
            decision = decision.requiring(Requirement::live::<Account>(&*person.account));
        }
        if let (Some(grant), Some(request)) = (grant, request) {
            decision = decision.recording(grant.record("authorization.granted"));
            let begin = token_family::Begin {
                grant: *grant,
                code: fresh.code,
                lives: fresh.lives,
                redirect_uri: request.reply_to.redirect_uri,
                challenge: request.challenge,
                key: request.key,
                nonce: request.nonce,
                pushed: request.pushed.clone(),
                noted_in: None,
                requirements: Vec::new(),
            };
            // Its session is being born, or required above. An account that this very flow has made
            // may be made in this very commit.
            if self.applicant.is_none() {
                decision = decision.requiring(Requirement::live::<Account>(&*person.account));
            }
            decision = decision.bearing(TokenFamily::birth(&*fresh.family_id, begin, now));
            if let Some(pushed) = &request.pushed {
                decision = decision.bearing(PushedRequest::used(pushed));
            }
        }
        // What is committed meanwhile, such as another password or a recovery, was not seen here.
        if material.account.version > 0 {
            let version = material.account.version;
            let account = Requirement::unchanged::<Account>(&*person.account, version);
            decision = decision.requiring(account);
        }
        let decision = material.tell(Moment::Ended, decision);
        let allows = consents || is_approved;
        let decision = if allows { material.tell(Moment::Allowed, decision) } else { decision };
        requirements.into_iter().fold(decision, Decision::requiring)
    }

    /// Approves the request of a device or of a back channel, where the flow is about one.
    fn approves(&self, grant: &Grant) -> Option<SubCommand<Flow>> {
        let device = self.device.as_ref().map(|device| device.approved(Box::new(grant.clone())));
        device.or_else(|| {
            let said = self.approval.as_ref()?;
            Some(said.approved(Box::new(grant.clone())))
        })
    }
}

impl Material {
    /// Leaves the messages that belong to this moment.
    pub(super) fn tell(&self, when: Moment, decision: Decision<Flow>) -> Decision<Flow> {
        let due = self.notices.iter().filter(|notice| notice.when == when);
        due.fold(decision, |decision, Notice { message, .. }| match message {
            NoticeMessage::Dispatch(message) => decision.dispatching(message.clone()),
            NoticeMessage::Folded { account, mail } => {
                decision.commanding(account_alerts::tell(account, mail))
            }
        })
    }
}

/// Has the session that the flow ends in renewed, ended, or tell the client of its end.
fn go_on(
    decision: Decision<Flow>,
    person: &Person,
    session: &FinishedSession,
    (token, told): (Fingerprint, Option<String>),
) -> Decision<Flow> {
    let id = &*session.id;
    let change = match session.change {
        SessionChange::Renewed => Some(commands::renew(id, person, token)),
        SessionChange::Ended => Some(commands::end_session(id)),
        SessionChange::Begun | SessionChange::Kept => None,
    };
    let told = told.filter(|_| session.change != SessionChange::Begun);
    let note = told.map(|client_id| commands::sign_into(id, client_id));
    change.into_iter().chain(note).fold(decision, Decision::commanding)
}

/// Who signs in where.
struct SigningIn<'a> {
    person: &'a Person,
    session: &'a FinishedSession,
    /// Noted in a session that begins.
    told: Option<SessionClients>,
}

/// Begins the session, or requires the one that goes on.
fn sign_in(
    decision: Decision<Flow>,
    SigningIn { person, session, told }: SigningIn<'_>,
    material: &Material,
    now: Timestamp,
) -> Decision<Flow> {
    if session.change != SessionChange::Begun {
        return decision.requiring(Requirement::live::<Session>(&*session.id));
    }
    let fresh = &material.fresh;
    let begin = session::Begin {
        person: person.clone(),
        token: fresh.session_token,
        idle: fresh.session_idle,
        ceiling: fresh.session_ceiling,
        device: fresh.device.clone(),
        told,
    };
    decision.bearing(Session::birth(&*session.id, begin, now))
}

fn signed_in(person: &Person, session: &FinishedSession) -> Record {
    let methods = amr(&person.evidence.methods());
    Record::new("sign_in.succeeded")
        .with("account", person.account.as_str())
        .with("session", session.id.as_str())
        .with("methods", methods.join(" "))
}
