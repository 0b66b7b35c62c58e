//! `enroll_totp`: a person who is signed in adds an authenticator application to their account, or
//! replaces the one that it has.
//!
//! They must have proved lately who they are, with two factors where the account can.

use super::{Case, Ending, Goal, InSession, Next, Question, SessionEnding};
use crate::domain::flow::{Open, Stage};

pub struct EnrollTotp;

impl Goal for EnrollTotp {
    fn kind(&self) -> &'static str {
        "enroll_totp"
    }

    fn is_in_session(&self) -> bool {
        true
    }

    fn first_in_session(&self, present: &InSession<'_>) -> Stage {
        if present.is_fresh() { Stage::Enrol } else { Stage::Credential }
    }

    fn enrols(&self, _open: &Open) -> Vec<&'static str> {
        vec!["totp/options", "totp"]
    }

    fn next(&self, open: &Open, case: &Case<'_>) -> Next {
        if open.enrolled {
            return Next::End(Ending::of(SessionEnding::SignedIn));
        }
        let present = InSession { person: case.person, methods: &open.methods, now: case.now };
        Next::Ask(if present.is_fresh() { Question::Enrol } else { Question::Credential })
    }
}
