//! `approval`: a person decides what a client has asked of them by a back channel (adr/0090).
//!
//! They sign in first, or are signed in. They are shown the request and say yes or no. Where more must be
//! proved for it, it is asked for after the yes; a passkey then signs the hash of exactly what was shown.

use super::{Case, Ending, Goal, Next, Question, SessionEnding};
use crate::domain::{
    assurance::Acr,
    authorization::{Denial, Subject},
    backchannel_request::{Deciding, Verdict},
    flow::Open,
};

/// The name of this kind.
pub const APPROVAL: &str = "approval";

pub struct Approval;

impl Goal for Approval {
    fn kind(&self) -> &'static str {
        APPROVAL
    }

    fn goes_on_in_session(&self) -> bool {
        true
    }

    fn trusts_remembered_devices(&self) -> bool {
        true
    }

    fn takes_sign_on(&self) -> bool {
        true
    }

    fn next(&self, open: &Open, case: &Case<'_>) -> Next {
        let (Some(asked), Some(facts)) = (case.approval, case.facts) else {
            return Next::Fail(Denial::Stopped);
        };
        let request = &asked.request;
        if request.account != case.person.account {
            return Next::Fail(Denial::OtherPerson);
        }
        // What is asked of another organization is not for a person who came by one's provider alone: neither shown nor decided.
        let organization = facts.organization(request.wanted.organization.as_deref());
        if !case.person.evidence.reaches(organization) {
            return Next::Ask(Question::More(Acr::Aal1));
        }
        let question = match request.wanted.question(facts) {
            Ok(question) => question,
            Err(denial) => return Next::Fail(denial),
        };
        let shown = request.shown(&asked.id, &question);
        // What was shown is what was allowed: if anything has changed, the person is asked again.
        let said = open.approval.as_ref().filter(|said| said.agreed && said.shown == shown);
        let Some(said) = said else {
            return Next::Ask(Question::Confirm(Some(Box::new(question))));
        };
        let deciding = Deciding {
            subject: Subject { person: case.person, session: case.session, now: case.now },
            facts,
            served: case.served,
            asserted: said.asserted,
        };
        match request.settle(&deciding) {
            Verdict::Granted { grant, requirements } => {
                let ending = Ending::of(SessionEnding::SignedIn);
                Next::End(Ending { grant: Some(grant), requirements, ..ending })
            }
            Verdict::ProveMore(acr) => Next::Ask(Question::More(acr)),
            Verdict::ProveAgain(counts) => Next::Ask(Question::Again(counts)),
            Verdict::SignOn(slug) => Next::Ask(Question::SignOn(slug)),
            Verdict::Assert => Next::Ask(Question::Credential),
            Verdict::Denied(denial) => Next::Fail(denial),
        }
    }
}
