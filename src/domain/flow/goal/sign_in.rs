//! `sign_in`: a person signs in, and the client that asked gets a code.

use super::{Case, Ending, Goal, Next, Question, SessionEnding};
use crate::domain::{
    assurance::Level,
    authorization::{Allowed, Denial, Said, Settled, Subject},
    flow::{Open, Seed},
};

/// The name of this kind.
pub const SIGN_IN: &str = "sign_in";

pub struct SignIn;

impl Goal for SignIn {
    fn kind(&self) -> &'static str {
        SIGN_IN
    }

    fn trusts_remembered_devices(&self) -> bool {
        true
    }

    fn required(&self, seed: &Seed) -> Level {
        seed.request.as_ref().map_or(Level::Aal1, |request| request.wanted.level())
    }

    fn next(&self, open: &Open, case: &Case<'_>) -> Next {
        let session = SessionEnding::SignedIn;
        let (Some(request), Some(facts)) = (&open.seed.request, case.facts) else {
            return Next::End(Ending::of(session));
        };
        let subject = Subject { person: case.person, session: case.session, now: case.now };
        let settle = |allowed| {
            let said = Said { organization: open.chosen.as_deref(), allowed };
            request.wanted.settle(subject, facts, said)
        };
        let mut settled = settle(Allowed::Nothing);
        if let (Settled::AskConsent(question), true) = (&settled, case.allowed)
            // What was shown is what was allowed: if anything has changed, the person is asked again.
            && open.question.as_ref() == Some(question)
        {
            let organization = question.organization.as_ref().map(|choice| choice.slug.clone());
            settled = settle(Allowed::For(organization.as_deref()));
        }
        match settled {
            Settled::Granted { grant, requirements } => {
                Next::End(Ending { grant: Some(grant), requirements, ..Ending::of(session) })
            }
            Settled::Denied(denial) => Next::Fail(denial),
            Settled::ProveMore(acr) if !acr.is_reachable_by(case.served) => {
                Next::Fail(Denial::NotSureEnough)
            }
            Settled::ProveMore(acr) => Next::Ask(Question::More(acr)),
            Settled::ChooseOrganization(_) => Next::Ask(Question::Organization),
            Settled::AskConsent(question) => Next::Ask(Question::Consent(question)),
        }
    }
}
