//! `sign_out`: a person ends the session they are in, once they have confirmed it.

use super::{Case, Ending, Goal, Next, Question, SessionEnding};
use crate::domain::flow::Open;

pub struct SignOut;

impl Goal for SignOut {
    fn kind(&self) -> &'static str {
        "sign_out"
    }

    fn is_in_session(&self) -> bool {
        true
    }

    fn next(&self, _open: &Open, case: &Case<'_>) -> Next {
        if !case.allowed {
            return Next::Ask(Question::Confirm(None));
        }
        Next::End(Ending::of(SessionEnding::SignedOut))
    }
}
