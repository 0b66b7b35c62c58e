//! `enroll_passkey`: a person who is signed in adds a passkey to their account.
//!
//! They must have proved lately who they are, with two factors where the account can: a session that
//! was left open must not become a way in for another person.

use super::{Case, Ending, Goal, InSession, Next, Question, SessionEnding};
use crate::domain::flow::{Open, Stage};

pub struct EnrollPasskey;

const STEPS: [&str; 2] = ["passkey/create_options", "passkey/create"];

impl Goal for EnrollPasskey {
    fn kind(&self) -> &'static str {
        "enroll_passkey"
    }

    fn is_in_session(&self) -> bool {
        true
    }

    fn first_in_session(&self, present: &InSession<'_>) -> Stage {
        if present.is_fresh() { Stage::Enrol } else { Stage::Credential }
    }

    fn needs(&self) -> &'static [&'static str] {
        &STEPS
    }

    fn enrols(&self, _open: &Open) -> Vec<&'static str> {
        STEPS.to_vec()
    }

    fn next(&self, open: &Open, case: &Case<'_>) -> Next {
        if open.enrolled {
            return Next::End(Ending::of(SessionEnding::SignedIn));
        }
        let present = InSession { person: case.person, methods: &open.methods, now: case.now };
        Next::Ask(if present.is_fresh() { Question::Enrol } else { Question::Credential })
    }
}
