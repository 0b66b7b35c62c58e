//! `device`: a person lets a device act for them (RFC 8628 §3.3).
//!
//! They sign in first, or are signed in. Only then the code that the device shows is looked up, and
//! they say yes or no to exactly what they are shown. That is asked every time: a code that an attacker
//! has made a person enter must not be allowed in silence.

use super::{Case, Ending, Goal, Next, Question, SessionEnding};
use crate::domain::{
    authorization::{
        Allowed, AuthorizationFacts, ConsentRule, Denial, PersonAnswers, Settled, Subject,
    },
    flow::Open,
};

/// The name of this kind.
pub const DEVICE: &str = "device";

pub struct Device;

impl Goal for Device {
    fn kind(&self) -> &'static str {
        DEVICE
    }

    fn goes_on_in_session(&self) -> bool {
        true
    }

    fn takes_user_code(&self) -> bool {
        true
    }

    fn trusts_remembered_devices(&self) -> bool {
        true
    }

    fn takes_sign_on(&self) -> bool {
        true
    }

    fn next(&self, open: &Open, case: &Case<'_>) -> Next {
        // The code of the device comes first.
        let (Some(device), Some(facts)) = (&open.device, case.facts) else {
            return Next::Ask(Question::Confirm(None));
        };
        let wanted = &device.request.wanted;
        let (person, now) = (case.person, case.now);
        // It is a wish: what the person cannot prove here, they are not asked for.
        if let Some(acr) = wanted.step_up(person, case.served, now) {
            return Next::Ask(Question::More(acr));
        }
        let facts = AuthorizationFacts { consent: ConsentRule::Always, ..facts.clone() };
        let subject = Subject { person, session: case.session, now };
        let settle = |allowed| {
            let said = PersonAnswers { organization: open.chosen.as_deref(), allowed };
            wanted.settle(subject, &facts, said)
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
                let ending = Ending::of(SessionEnding::SignedIn);
                Next::End(Ending { grant: Some(grant), requirements, ..ending })
            }
            Settled::Denied(denial) => Next::Fail(denial),
            Settled::ProveMore(acr) if !acr.is_reachable_by(case.served) => {
                Next::Fail(Denial::NotSureEnough)
            }
            Settled::ProveMore(acr) => Next::Ask(Question::More(acr)),
            Settled::ProveAgain(counts) => Next::Ask(Question::Again(counts)),
            Settled::SignOn(slug) => Next::Ask(Question::SignOn(slug)),
            Settled::ChooseOrganization(_) => Next::Ask(Question::Organization),
            Settled::AskConsent(question) => Next::Ask(Question::Confirm(Some(question))),
        }
    }
}
