//! `sign_out`: a person ends the session they are in, once they have confirmed it.

use super::{Case, Ending, Goal, Next, Question, SessionEnding};
use crate::domain::flow::{Open, Stage};

pub struct SignOut;

impl Goal for SignOut {
    fn kind(&self) -> &'static str {
        "sign_out"
    }

    fn first_in_session(&self) -> Option<Stage> {
        Some(Stage::Confirm)
    }

    fn next(&self, _open: &Open, case: &Case<'_>) -> Next {
        if !case.allowed {
            return Next::Ask(Question::Confirm);
        }
        let session = SessionEnding::SignedOut;
        Next::End(Ending { session, grant: None, requirements: Vec::new() })
    }
}
