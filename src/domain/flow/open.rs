//! A flow that waits for the person: what it offers, and what each step leads to.

use super::{
    Event, Finished, FinishedSession, Flow, Material, Over, Proved, Refusal, Reply, Role, Rules,
    Seed, SessionChange, Step,
    goal::{Case, Ending, Next, Question, SessionEnding},
};
use crate::domain::{
    Decision, Record, Requirement, Timestamp,
    account::Account,
    assurance::{Evidence, Level, Method},
    authorization::{Choice, ConsentQuestion, Denial, choices},
    grant::Person,
    session::{self, Session},
    token_family::{self, TokenFamily},
};
use serde::{Deserialize, Serialize};

/// How many wrong credentials end a flow.
pub const MOST_ATTEMPTS: u32 = 10;

/// A flow that waits for the person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open {
    pub seed: Seed,
    pub stage: Stage,
    /// Who they say they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identifier: Option<String>,
    #[serde(default)]
    pub attempts: u32,
    /// Who they have proved to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<Person>,
    /// Something was proved in this flow, and not only in the session it began in.
    #[serde(default)]
    pub proved_here: bool,
    /// What the person's account has enrolled beside the first proof.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub second_factors: Vec<Method>,
    /// The slug of the organization they chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    /// What they are asked to consent to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Box<ConsentQuestion>>,
}

/// What a flow waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    Identify,
    Credential,
    /// One factor is not enough for an account that has enrolled a second.
    SecondFactor,
    Organization,
    Consent,
    Confirm,
}

impl Stage {
    /// Returns the `state` of the flow's document.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Identify => "identify",
            Self::Credential => "credential",
            Self::SecondFactor => "second_factor",
            Self::Organization => "organization",
            Self::Consent => "consent",
            Self::Confirm => "confirm",
        }
    }
}

impl Open {
    /// Lists the steps that may be taken now.
    ///
    /// Before the first proof they depend on the rules alone, never on an account.
    pub fn offers(&self, rules: &Rules) -> Vec<&'static str> {
        match self.stage {
            Stage::Identify => vec!["identifier"],
            Stage::Credential => {
                rules.proofs(Role::First).map(|proof| proof.name).chain(["identifier"]).collect()
            }
            Stage::SecondFactor => rules
                .proofs(Role::Second)
                .filter(|proof| self.second_factors.contains(&proof.worth.method))
                .map(|proof| proof.name)
                .collect(),
            Stage::Organization => vec!["organization"],
            Stage::Consent => vec!["consent"],
            Stage::Confirm => vec!["confirm"],
        }
    }

    /// Returns the level that the person must reach.
    pub fn required(&self, rules: &Rules) -> Level {
        let asked = rules.goal(&self.seed.kind).map(|goal| goal.required(&self.seed));
        let enrolled = if self.stage == Stage::SecondFactor { Level::Aal2 } else { Level::Aal1 };
        asked.unwrap_or(Level::Aal1).max(enrolled)
    }

    /// Decides one step.
    pub(super) fn take(&self, step: &Step, rules: &Rules, now: Timestamp) -> Decision<Flow> {
        let offers = self.offers(rules);
        if step.name().is_some_and(|name| !offers.contains(&name)) {
            return Decision::refuse(Refusal::NotNow);
        }
        let mut next = self.clone();
        match step {
            Step::Look => Decision::accept(Vec::new(), Reply::of(next)),
            Step::Identify { identifier } => {
                next.identifier = Some(identifier.clone());
                next.stage = Stage::Credential;
                next.moved()
            }
            Step::Disprove { step, account } => next.disprove(step, account.as_deref()),
            Step::Prove { proved, material } => next.prove(proved, material, rules, now),
            Step::Choose { organization, material } => {
                let memberships = material.facts.as_ref().map(|facts| choices(&facts.memberships));
                let known = |choice: &Choice| choice.slug == *organization;
                if !memberships.is_some_and(|choices| choices.iter().any(known)) {
                    return Decision::refuse(Refusal::NotAChoice);
                }
                next.chosen = Some(organization.clone());
                next.settle(material, rules, false, now)
            }
            Step::Decide { allow: false, .. } => next.fail(Denial::ConsentRefused),
            Step::Decide { allow: true, material, .. } => next.settle(material, rules, true, now),
        }
    }

    fn disprove(mut self, step: &str, account: Option<&str>) -> Decision<Flow> {
        self.attempts += 1;
        let exhausted = self.attempts >= MOST_ATTEMPTS;
        let decision = if exhausted { self.fail(Denial::TooManyAttempts) } else { self.moved() };
        let record = match account {
            Some(account) => Record::new("sign_in.failed").with("account", account),
            // Any caller can invent identifiers without end.
            None => Record::counted("sign_in.failed"),
        };
        decision.recording(record.with("step", step))
    }

    fn prove(
        mut self,
        proved: &Proved,
        material: &Material,
        rules: &Rules,
        now: Timestamp,
    ) -> Decision<Flow> {
        let Some(worth) = rules.worth(proved.step) else {
            return Decision::refuse(Refusal::NotNow);
        };
        let evidence = match &self.person {
            None => Evidence::of(worth.given(now)),
            Some(person) if person.account == proved.account => {
                person.evidence.and(worth.given(now))
            }
            // Two halves of two accounts are no proof of one.
            Some(_) => return Decision::refuse(Refusal::NotNow),
        };
        let single = evidence.level(now) < Some(Level::Aal2);
        self.person = Some(Person { account: proved.account.clone(), evidence });
        // Whom they named is known by now: the name is not kept.
        (self.identifier, self.proved_here) = (None, true);
        self.second_factors.clone_from(&proved.second_factors);
        let decision = if single && !self.second_factors.is_empty() {
            self.stage = Stage::SecondFactor;
            self.moved()
        } else {
            self.settle(material, rules, false, now)
        };
        decision.requiring(proved.requirement())
    }

    fn moved(self) -> Decision<Flow> {
        let reply = Reply::of(self.clone());
        Decision::accept(vec![Event::Moved(Box::new(self))], reply)
    }

    fn fail(self, denial: Denial) -> Decision<Flow> {
        let Self { seed, person, .. } = self;
        let over = Over { seed, person, denial: Some(denial), finished: None };
        Decision::accept(vec![Event::Ended(Box::new(over.clone()))], Reply::over(over))
    }

    /// Goes on until the person must be asked.
    fn settle(
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
        let (session, change) = self.session(material);
        let facts = material.facts.as_ref();
        let case = Case { person: &person, session: &session, facts, allowed, now };
        match goal.next(&self, &case) {
            Next::Fail(denial) => self.fail(denial),
            Next::Ask(question) => {
                (self.stage, self.question) = match question {
                    Question::Organization => (Stage::Organization, None),
                    Question::Consent(asked) => (Stage::Consent, Some(asked)),
                    Question::Confirm => (Stage::Confirm, None),
                };
                self.moved()
            }
            Next::End(ending) => {
                let session = FinishedSession { id: session, change };
                self.end(ending, session, material, now)
            }
        }
    }

    /// Says in which session the flow ends, if it ends signed in.
    fn session(&self, material: &Material) -> (String, SessionChange) {
        let fresh = &material.fresh;
        let present = match &self.seed.signed_in {
            Some(signed_in) => Some(&signed_in.session),
            None => fresh.present.as_ref(),
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
        mut session: FinishedSession,
        material: &Material,
        now: Timestamp,
    ) -> Decision<Flow> {
        let Ending { session: becomes, grant, requirements } = ending;
        let Some(person) = self.person.clone() else { return Decision::refuse(Refusal::NotNow) };
        if becomes == SessionEnding::SignedOut {
            session.change = SessionChange::Ended;
        }
        let touched = becomes != SessionEnding::Untouched;
        let (fresh, request) = (&material.fresh, self.seed.request.clone());
        let over = Over {
            seed: self.seed,
            person: Some(person.clone()),
            denial: None,
            finished: Some(Finished {
                family_id: fresh.family_id.clone(),
                granted: grant.is_some(),
                session: touched.then(|| session.clone()),
            }),
        };
        let reply = Reply { granted: grant.clone(), ..Reply::over(over.clone()) };
        let mut decision = Decision::accept(vec![Event::Ended(Box::new(over))], reply);
        if becomes == SessionEnding::SignedIn {
            decision = sign_in(decision, &person, &session, material, now);
            if self.proved_here {
                decision = decision.recording(signed_in(&person, &session));
            }
        }
        if let (Some(grant), Some(request)) = (grant, request) {
            decision = decision.recording(grant.record("authorization.granted"));
            let begin = token_family::Begin {
                grant: *grant,
                code: fresh.code,
                code_lives: fresh.code_lives,
                redirect_uri: request.redirect_uri,
                challenge: request.challenge,
                nonce: request.nonce,
                requirements: Vec::new(),
            };
            // Its session is being born, or required above.
            decision = decision.requiring(Requirement::live::<Account>(&*person.account));
            decision = decision.bearing(TokenFamily::birth(&*fresh.family_id, begin, now));
        }
        requirements.into_iter().fold(decision, Decision::requiring)
    }
}

/// Begins the session, or requires the one that goes on.
fn sign_in(
    decision: Decision<Flow>,
    person: &Person,
    session: &FinishedSession,
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
    };
    decision.bearing(Session::birth(&*session.id, begin, now))
}

fn signed_in(person: &Person, session: &FinishedSession) -> Record {
    let methods: Vec<&str> = person.evidence.methods().into_iter().map(Method::name).collect();
    Record::new("sign_in.succeeded")
        .with("account", person.account.as_str())
        .with("session", session.id.as_str())
        .with("methods", methods.join(" "))
}
