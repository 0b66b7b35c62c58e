//! `sign_up`: a person makes an account for themselves, and signs in with it.
//!
//! The account is made in the commit of its first credential, or of the wish for none: until then no
//! row has its id, and an address that was not proved holds no name.

use super::{Case, Goal, Next, Question, sign_in::SignIn};
use crate::domain::{
    account::Command,
    assurance::Level,
    flow::{Open, Seed, Stage},
};

/// The name of this kind.
pub const SIGN_UP: &str = "sign_up";

pub struct SignUp;

/// The steps of a first credential; the person may want none, and signs in by mail.
pub(super) const FIRST_CREDENTIAL: [&str; 4] =
    ["passkey/create_options", "passkey/create", "new_password", "skip"];

impl Goal for SignUp {
    fn kind(&self) -> &'static str {
        SIGN_UP
    }

    fn first(&self) -> Stage {
        Stage::Profile
    }

    fn required(&self, seed: &Seed) -> Level {
        SignIn.required(seed)
    }

    fn enrols(&self, _open: &Open) -> Vec<&'static str> {
        FIRST_CREDENTIAL.to_vec()
    }

    fn enrolled(&self, open: &Open, changes: Vec<Command>) -> Vec<Command> {
        let create = open.applicant.as_ref().map(|applicant| Command::Create(applicant.draft()));
        create.into_iter().chain(changes).collect()
    }

    fn next(&self, open: &Open, case: &Case<'_>) -> Next {
        if !open.enrolled {
            return Next::Ask(Question::Enrol);
        }
        SignIn.next(open, case)
    }
}
