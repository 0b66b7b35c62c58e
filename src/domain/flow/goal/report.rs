//! `report`: a person says that what an alert told them of was not them (adr/0142).
//!
//! | stage | step | next |
//! |---|---|---|
//! | confirm | deny | done; nothing has changed but that the link is spent |
//! | confirm | allow | every session and grant of the account has ended; identify, or proof where the alert went to the address that the account has now |
//! | identify, proof, credential | those of a recovery | those of a recovery |
//!
//! The link lets its holder end what the account is signed in by, and nothing more: it is no proof. What follows is a
//! recovery, by the same rules.

use super::{Case, Goal, Next, recovery::Recovery};
use crate::domain::{
    account::Command,
    flow::{Open, Stage},
};

/// The name of this kind.
pub const REPORT: &str = "report";

pub struct Report;

impl Goal for Report {
    fn kind(&self) -> &'static str {
        REPORT
    }

    fn first(&self) -> Stage {
        Stage::Confirm
    }

    fn proves_by_mail(&self) -> bool {
        Recovery.proves_by_mail()
    }

    fn can_be_stopped(&self) -> bool {
        Recovery.can_be_stopped()
    }

    fn asks_second_factor(&self) -> bool {
        Recovery.asks_second_factor()
    }

    fn enrols(&self, open: &Open) -> Vec<&'static str> {
        Recovery.enrols(open)
    }

    fn replaces_credentials(&self, open: &Open) -> bool {
        Recovery.replaces_credentials(open)
    }

    fn enrolled(&self, open: &Open, changes: Vec<Command>) -> Vec<Command> {
        Recovery.enrolled(open, changes)
    }

    fn next(&self, open: &Open, case: &Case<'_>) -> Next {
        Recovery.next(open, case)
    }
}
