//! `sign_in`: a person signs in, and the client that asked gets a code.
//!
//! A person who came by a password may be offered a passkey on the way (adr/0073). The flow is not over
//! yet, so no code waits: it is drawn when they have made one, or do not want one.

use super::{Case, Ending, Goal, InSession, Next, Question, SessionEnding};
use crate::domain::{
    assurance::{Level, Method},
    authorization::{Allowed, Denial, PersonAnswers, Settled, Subject},
    flow::{Open, Seed},
};

/// The name of this kind.
pub const SIGN_IN: &str = "sign_in";

/// The steps of a passkey that is offered.
const OFFERED: [&str; 3] = ["passkey/create_options", "passkey/create", "skip"];

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

    fn enrols(&self, _open: &Open) -> Vec<&'static str> {
        OFFERED.to_vec()
    }

    fn takes_sign_on(&self) -> bool {
        true
    }

    fn next(&self, open: &Open, case: &Case<'_>) -> Next {
        match Self::without_offer(open, case) {
            // A person who cannot go on is offered nothing.
            next @ (Next::Fail(_) | Next::Ask(Question::More(_) | Question::Again(_))) => next,
            _ if is_offered_passkey(open, case) => Next::Ask(Question::Enrol),
            next => next,
        }
    }
}

impl SignIn {
    fn without_offer(open: &Open, case: &Case<'_>) -> Next {
        let session = SessionEnding::SignedIn;
        let (Some(request), Some(facts)) = (&open.seed.request, case.facts) else {
            return Next::End(Ending::of(session));
        };
        let subject = Subject { person: case.person, session: case.session, now: case.now };
        let settle = |allowed| {
            let said = PersonAnswers { organization: open.chosen.as_deref(), allowed };
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
            Settled::ProveAgain(counts) => Next::Ask(Question::Again(counts)),
            Settled::SignOn(slug) => Next::Ask(Question::SignOn(slug)),
            Settled::ChooseOrganization(_) => Next::Ask(Question::Organization),
            Settled::AskConsent(question) => Next::Ask(Question::Consent(question)),
        }
    }
}

/// Tells whether a passkey is offered now: the caller has asked for that, the person came by a
/// password and has none, and they have proved enough to change their credentials.
fn is_offered_passkey(open: &Open, case: &Case<'_>) -> bool {
    let present = InSession { person: case.person, methods: &open.methods, now: case.now };
    case.offers_passkey
        && !open.enrolled
        && open.seed.kind == SIGN_IN
        && open.seed.signed_in.is_none()
        && open.session.is_none()
        && case.person.evidence.has(Method::Password)
        && !open.methods.contains(&Method::Passkey)
        && present.is_fresh()
}
