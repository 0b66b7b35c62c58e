//! `verify_email`: a person who is signed in proves that their account's address is theirs.

use super::{Case, Ending, Goal, InSession, Next, Question, SessionEnding};
use crate::domain::{
    account::Command,
    flow::{Open, Stage},
};

pub struct VerifyEmail;

impl Goal for VerifyEmail {
    fn kind(&self) -> &'static str {
        "verify_email"
    }

    fn is_in_session(&self) -> bool {
        true
    }

    fn first_in_session(&self, _present: &InSession<'_>) -> Stage {
        Stage::Proof
    }

    fn asks_second_factor(&self) -> bool {
        false
    }

    /// Only proofs of the address are offered.
    fn next(&self, open: &Open, _case: &Case<'_>) -> Next {
        if !open.proved_here {
            return Next::Ask(Question::Proof);
        }
        let changes = vec![Command::VerifyEmail];
        Next::End(Ending { changes, ..Ending::of(SessionEnding::Untouched) })
    }
}
