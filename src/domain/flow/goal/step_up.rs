//! `step_up`: a person who is signed in proves more, or proves again, who they are.
//!
//! It ends in the same session under a new token, once what is wanted was proved, and in no other way.

use super::{Case, Ending, Goal, InSession, Next, Question, SessionEnding, sign_in::SignIn};
use crate::domain::{
    Timestamp,
    assurance::{Acr, Evidence, Factor, Level, Method},
    authorization::Denial,
    flow::{Open, Seed, Stage},
};
use serde::{Deserialize, Serialize};

/// The name of the kind.
pub const STEP_UP: &str = "step_up";

pub struct StepUp;

/// What a step-up is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepUpRequest {
    #[serde(rename = "a")]
    pub acr: Acr,
    /// What was proved before this time does not count.
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

impl Default for StepUpRequest {
    fn default() -> Self {
        Self { acr: Acr::Aal2, since: None }
    }
}

impl StepUpRequest {
    /// Returns what counts of the evidence.
    fn counted(&self, evidence: &Evidence) -> Evidence {
        match self.since {
            None => evidence.clone(),
            Some(since) => evidence.since(since),
        }
    }

    fn is_met_by(&self, evidence: &Evidence, now: Timestamp) -> bool {
        self.acr.is_met_by(&self.counted(evidence), now)
    }

    /// Says what the person is asked for: the second factor alone, where what they know counts; else
    /// whatever their account has.
    pub fn asks(&self, present: &InSession<'_>) -> Stage {
        let counted = self.counted(&present.person.evidence);
        let knows = self.acr == Acr::Aal2 && counted.proves(Factor::Knowledge, present.now);
        if knows && present.methods.contains(&Method::Totp) {
            Stage::SecondFactor
        } else {
            Stage::Credential
        }
    }
}

impl Goal for StepUp {
    fn kind(&self) -> &'static str {
        STEP_UP
    }

    fn is_in_session(&self) -> bool {
        true
    }

    fn first_in_session(&self, present: &InSession<'_>) -> Stage {
        StepUpRequest::default().asks(present)
    }

    /// What is missing is said by [`StepUpRequest::asks`]: a code may come first, and the password after it.
    fn asks_second_factor(&self) -> bool {
        false
    }

    /// Where the organization of a client's request requires it, and not before.
    fn takes_sign_on(&self) -> bool {
        true
    }

    fn required(&self, seed: &Seed) -> Level {
        seed.wanted().unwrap_or_default().acr.level()
    }

    fn next(&self, open: &Open, case: &Case<'_>) -> Next {
        let wanted = open.seed.wanted().unwrap_or_default();
        if !open.proved_here || !wanted.is_met_by(&case.person.evidence, case.now) {
            // A factor may have been removed since the flow began.
            if !wanted.acr.is_reachable_by(case.served) {
                return Next::Fail(Denial::NotSureEnough);
            }
            let (person, methods, now) = (case.person, &*open.methods, case.now);
            return Next::Ask(match wanted.asks(&InSession { person, methods, now }) {
                Stage::SecondFactor => Question::SecondFactor,
                _ => Question::Credential,
            });
        }
        if open.seed.request.is_some() {
            return SignIn.next(open, case);
        }
        Next::End(Ending::of(SessionEnding::SignedIn))
    }
}
