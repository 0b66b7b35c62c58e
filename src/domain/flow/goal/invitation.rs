//! `invitation`: a person becomes a member of the organization that has invited them.
//!
//! The token of the invitation proves the address. Where no account has it, the person makes one;
//! where one has, they sign in to it as always, and no other account can accept.

use super::{
    Case, Ending, Goal, Next, Question, SessionEnding, sign_up::FIRST_CREDENTIAL, sign_up::SignUp,
};
use crate::domain::{
    account::Command,
    assurance::Worth,
    authorization::Denial,
    flow::{Open, Seed},
};

/// The name of this kind.
pub const INVITATION: &str = "invitation";

pub struct Invitation;

impl Goal for Invitation {
    fn kind(&self) -> &'static str {
        INVITATION
    }

    fn vouches(&self, seed: &Seed) -> Option<Worth> {
        seed.invited.as_ref().map(|_| Worth::MAGIC_LINK)
    }

    fn enrols(&self, _open: &Open) -> Vec<&'static str> {
        FIRST_CREDENTIAL.to_vec()
    }

    fn enrolled(&self, open: &Open, changes: Vec<Command>) -> Vec<Command> {
        SignUp.enrolled(open, changes)
    }

    fn next(&self, open: &Open, case: &Case<'_>) -> Next {
        let Some(invited) = &open.seed.invited else { return Next::Fail(Denial::OtherPerson) };
        match &invited.account {
            // Another person who signs in here was not invited.
            Some(account) if *account != case.person.account => {
                return Next::Fail(Denial::OtherPerson);
            }
            None if !open.enrolled => return Next::Ask(Question::Enrol),
            _ => {}
        }
        let ending = Ending::of(SessionEnding::SignedIn);
        Next::End(Ending { accepts: Some(invited.invitation.clone()), ..ending })
    }
}
