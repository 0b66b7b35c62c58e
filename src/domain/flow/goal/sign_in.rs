//! `sign_in`: a person signs in, and the client that asked gets a code.

use super::{Case, Ending, Goal, Next, Question, SessionEnding};
use crate::domain::{
    assurance::Level,
    authorization::{Allowed, Said, Settled, Subject},
    flow::{Open, Seed},
};

pub struct SignIn;

impl Goal for SignIn {
    fn kind(&self) -> &'static str {
        "sign_in"
    }

    fn required(&self, seed: &Seed) -> Level {
        seed.request.as_ref().and_then(|request| request.level).unwrap_or(Level::Aal1)
    }

    fn next(&self, open: &Open, case: &Case<'_>) -> Next {
        let session = SessionEnding::SignedIn;
        let (Some(request), Some(facts)) = (&open.seed.request, case.facts) else {
            return Next::End(Ending { session, grant: None, requirements: Vec::new() });
        };
        let asked_for = open.consent_for.as_ref().map(|choice| choice.slug.as_str());
        let allowed = if case.allowed { Allowed::For(asked_for) } else { Allowed::Nothing };
        let subject = Subject { person: case.person, session: case.session, now: case.now };
        let said = Said { organization: open.chosen.as_deref(), allowed };
        match request.settle(subject, facts, said) {
            Settled::Granted { grant, requirements } => {
                Next::End(Ending { session, grant: Some(grant), requirements })
            }
            Settled::Denied(denial) => Next::Fail(denial),
            Settled::ChooseOrganization(_) => Next::Ask(Question::Organization),
            Settled::AskConsent(choice) => Next::Ask(Question::Consent(choice)),
        }
    }
}
