//! `link`: a person who is signed in links an identity of another provider to their account (adr/0139).
//!
//! They must have proved lately who they are, by the account's own credentials and with two factors where the account
//! can: when the provider answers, and once more when they confirm.

use super::{Case, Ending, Goal, InSession, Next, Question, SessionEnding};
use crate::domain::flow::{Open, Stage};

/// The name of this kind.
pub const LINK: &str = "link";

pub struct Link;

const STEPS: [&str; 2] = ["sso/options", "sso"];

impl Goal for Link {
    fn kind(&self) -> &'static str {
        LINK
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
        let present = InSession { person: case.person, methods: &open.methods, now: case.now };
        match &open.link {
            _ if !present.is_fresh() => Next::Ask(Question::Credential),
            None => Next::Ask(Question::Enrol),
            Some(_) if !case.allowed => Next::Ask(Question::Confirm(None)),
            Some(link) => {
                let links = Some(link.clone());
                Next::End(Ending { links, ..Ending::of(SessionEnding::SignedIn) })
            }
        }
    }
}
