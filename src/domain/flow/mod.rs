//! A flow: one interaction with a person, from its start to its result.
//!
//! | stage | step | next | refused when |
//! |---|---|---|---|
//! | identify, credential | identify | credential | |
//! | credential, second factor | disprove (wrong) | the same; after ten, failed | |
//! | credential | prove (right) | second factor, where one is enrolled; else whatever comes next | |
//! | second factor | confirm (right) | whatever comes next | |
//! | organization | choose | whatever comes next | it is not among the choices |
//! | consent | decide | whatever comes next, or failed | |
//! | done, failed | anything | | always |
//!
//! What comes next is for [`Request::settle`](super::authorization::Request::settle) to say: the
//! person chooses an organization, consents, or the flow is over. A flow that is done has borne a
//! session, unless it went on from one, and the token family whose code its client gets, in the same
//! commit.
//!
//! A flow begins as a [`Seed`] that is written nowhere but, sealed, into its own id: looking at a
//! sign-in page costs no row. The first step writes it down. A seed is good until it expires and a row
//! is kept at least that long, so no flow can begin twice.

mod seed;
mod step;

pub use seed::{Channel, Kind, Seed, SignedIn};
pub use step::{Command, Finished, Fresh, Reply, Step};

use super::{
    CLOCK_SKEW, Decision, Machine, Record, Requirement, Timestamp,
    account::Account,
    authorization::{Allowed, AuthorizationFacts, Choice, Denial, Said, Settled, choices},
    grant::Person,
    session::{self, Session},
    token_family::{self, TokenFamily},
};
use serde::{Deserialize, Serialize};

/// How many wrong credentials end a flow.
pub const MOST_ATTEMPTS: u32 = 10;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Flow {
    /// Nothing was done in it yet; its seed is with whoever began it.
    #[default]
    Unborn,
    Open(Box<Open>),
    Over(Box<Over>),
}

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
    /// The slug of the organization they chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    /// The organization for which they are asked to consent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consent_for: Option<Choice>,
}

/// What a flow waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    Identify,
    Credential,
    /// One proof is not enough for an account that has enrolled a second factor.
    SecondFactor,
    Organization,
    Consent,
}

/// A flow whose result is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Over {
    pub seed: Seed,
    pub person: Option<Person>,
    /// Why it failed, if it did.
    pub denial: Option<Denial>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Moved(Box<Open>),
    Ended(Box<Over>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the flow has expired")]
    Expired,
    #[error("the flow is over")]
    Over,
    #[error("the flow does not wait for this step")]
    NotNow,
    #[error("there is no such organization to choose")]
    NotAChoice,
}

impl Flow {
    /// Returns the flow as it stands, be it only a seed.
    pub fn stands(&self, seed: &Seed) -> Self {
        match self {
            Self::Unborn => Self::Open(Box::new(seed.clone().open())),
            known => known.clone(),
        }
    }
}

impl Open {
    /// Decides one step.
    fn step(&self, step: &Step, now: Timestamp) -> Decision<Flow> {
        let mut next = self.clone();
        match (step, self.stage) {
            (Step::Look, _) => Decision::accept(Vec::new(), Reply::standing(self.clone())),
            (Step::Identify { identifier }, Stage::Identify | Stage::Credential) => {
                next.identifier = Some(identifier.clone());
                next.stage = Stage::Credential;
                next.moved()
            }
            (Step::Disprove { account }, Stage::Credential | Stage::SecondFactor) => {
                next.attempts += 1;
                let mut record = Record::new("sign_in.failed");
                if let Some(account) = account {
                    record = record.with("account", account.as_str());
                }
                let exhausted = next.attempts >= MOST_ATTEMPTS;
                let decision =
                    if exhausted { next.fail(Denial::TooManyAttempts) } else { next.moved() };
                decision.recording(record)
            }
            (Step::Prove { person, second_factor: true, .. }, Stage::Credential) => {
                (next.person, next.identifier) = (Some(person.clone()), None);
                next.stage = Stage::SecondFactor;
                next.moved()
            }
            (Step::Prove { person, facts, fresh, .. }, Stage::Credential) => {
                // Who they said they are is known by now, and nobody's business to keep.
                (next.person, next.identifier) = (Some(person.clone()), None);
                next.settle(facts.as_deref(), fresh, false, now)
            }
            (Step::Confirm { method, facts, fresh }, Stage::SecondFactor) => {
                let Some(person) = &mut next.person else {
                    return Decision::refuse(Refusal::NotNow);
                };
                person.evidence = person.evidence.and(*method, now);
                next.settle(facts.as_deref(), fresh, false, now)
            }
            (Step::Choose { organization, facts, fresh }, Stage::Organization) => {
                if !choices(&facts.memberships).iter().any(|choice| choice.slug == *organization) {
                    return Decision::refuse(Refusal::NotAChoice);
                }
                next.chosen = Some(organization.clone());
                next.settle(Some(facts), fresh, false, now)
            }
            (Step::Decide { allow: false, .. }, Stage::Consent) => {
                next.fail(Denial::ConsentRefused)
            }
            (Step::Decide { allow: true, facts, fresh }, Stage::Consent) => {
                next.settle(Some(facts), fresh, true, now)
            }
            _ => Decision::refuse(Refusal::NotNow),
        }
    }

    fn moved(self) -> Decision<Flow> {
        let reply = Reply::standing(self.clone());
        Decision::accept(vec![Event::Moved(Box::new(self))], reply)
    }

    fn fail(self, denial: Denial) -> Decision<Flow> {
        let Self { seed, person, .. } = self;
        let over = Over { seed, person, denial: Some(denial) };
        let reply = Reply { flow: Flow::Over(Box::new(over.clone())), finished: None };
        Decision::accept(vec![Event::Ended(Box::new(over))], reply)
    }

    /// Goes as far as nobody must be asked.
    fn settle(
        mut self,
        facts: Option<&AuthorizationFacts>,
        fresh: &Fresh,
        allowed: bool,
        now: Timestamp,
    ) -> Decision<Flow> {
        let Some(person) = self.person.clone() else { return Decision::refuse(Refusal::NotNow) };
        let proved_here = self.seed.signed_in.is_none();
        let session = match &self.seed.signed_in {
            Some(signed_in) => Some(signed_in.session.clone()),
            None => fresh.present.clone(),
        };
        let session_id = session.clone().unwrap_or_else(|| fresh.session_id.clone());
        let (grant, requirements) = match (&self.seed.request, facts) {
            (None, _) => (None, Vec::new()),
            (Some(_), None) => return Decision::refuse(Refusal::NotNow),
            (Some(request), Some(facts)) => {
                let asked_for = self.consent_for.as_ref().map(|choice| choice.slug.as_str());
                let allowed = if allowed { Allowed::For(asked_for) } else { Allowed::Nothing };
                let said = Said { organization: self.chosen.as_deref(), allowed };
                match request.settle(&person, &session_id, facts, said) {
                    Settled::Granted { grant, requirements } => (Some(grant), requirements),
                    Settled::Denied(denial) => return self.fail(denial),
                    Settled::ChooseOrganization(_) => {
                        self.stage = Stage::Organization;
                        return self.moved();
                    }
                    Settled::AskConsent(question) => {
                        (self.stage, self.consent_for) = (Stage::Consent, question.organization);
                        return self.moved();
                    }
                }
            }
        };
        let finished = Finished {
            session: session_id.clone(),
            new_session: session.is_none(),
            proved_here,
            consented: allowed,
            granted: grant.clone(),
        };
        let over = Over { seed: self.seed, person: Some(person.clone()), denial: None };
        let flow = Flow::Over(Box::new(over.clone()));
        let reply = Reply { flow, finished: Some(finished) };
        let mut decision = Decision::accept(vec![Event::Ended(Box::new(over.clone()))], reply);
        decision = if let Some(id) = session {
            decision.requiring(Requirement::live::<Session>(id))
        } else {
            let begin = session::Begin {
                person: person.clone(),
                token: fresh.session_token,
                idle: fresh.session_idle,
                ceiling: fresh.session_ceiling,
            };
            decision.bearing(Session::birth(&*fresh.session_id, begin, now))
        };
        if proved_here {
            let methods: Vec<&str> =
                person.evidence.methods().into_iter().map(super::assurance::Method::name).collect();
            let record = Record::new("sign_in.succeeded")
                .with("account", person.account.as_str())
                .with("session", session_id.as_str())
                .with("methods", methods.join(" "));
            decision = decision.recording(record);
        }
        if let (Some(grant), Some(request)) = (grant, over.seed.request) {
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

impl Machine for Flow {
    const KIND: &'static str = "flow";
    type Command = Command;
    type Event = Event;
    type Reply = Reply;
    type Refusal = Refusal;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        // Before anything else: the row of an expired flow may be gone, and its seed must not stand
        // in for it.
        if now >= command.seed.expires_at {
            return Decision::refuse(Refusal::Expired);
        }
        match (self.stands(&command.seed), &command.step) {
            (Self::Open(open), step) => open.step(step, now),
            (over, Step::Look) => {
                Decision::accept(Vec::new(), Reply { flow: over, finished: None })
            }
            (Self::Over(_) | Self::Unborn, _) => Decision::refuse(Refusal::Over),
        }
    }

    fn apply(&mut self, event: &Event) {
        *self = match event {
            Event::Moved(open) => Self::Open(open.clone()),
            Event::Ended(over) => Self::Over(over.clone()),
        };
    }

    fn live_until(&self) -> Timestamp {
        self.expires_at().unwrap_or(Timestamp::NEVER)
    }

    fn forget_at(&self) -> Option<Timestamp> {
        self.expires_at().map(|at| at + CLOCK_SKEW)
    }
}

impl Flow {
    fn expires_at(&self) -> Option<Timestamp> {
        match self {
            Self::Unborn => None,
            Self::Open(open) => Some(open.seed.expires_at),
            Self::Over(over) => Some(over.seed.expires_at),
        }
    }
}

#[cfg(test)]
mod tests;
