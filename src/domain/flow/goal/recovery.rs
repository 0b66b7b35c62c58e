//! `recovery`: a person who cannot sign in any more gets a new credential.
//!
//! Mail is no factor, so it never replaces one (contract section 6). What a flow may do follows from
//! what was proved in it:
//!
//! | the account has | proved | may choose | loses |
//! |---|---|---|---|
//! | neither passkey nor TOTP | mail | a password or a passkey | its other credentials |
//! | a passkey or TOTP | mail | a password | its former password alone |
//! | a passkey or TOTP | mail and a saved recovery code | a password or a passkey | its other credentials but the saved codes |
//! | anything | the link of an operator | a password or a passkey | every other credential |
//!
//! The account decides it again when it changes ([`Command::Recover`]): it may have enrolled a second
//! factor while the flow was under way. No session begins; every session and grant ends with the epoch of the
//! account.

use super::{Case, Ending, Goal, Next, Question, SessionEnding};
use crate::domain::{
    account::{Command, RecoveredBy},
    assurance::Method,
    flow::Open,
};

/// The name of this kind.
pub const RECOVERY: &str = "recovery";

pub struct Recovery;

impl Goal for Recovery {
    fn kind(&self) -> &'static str {
        RECOVERY
    }

    fn proves_by_mail(&self) -> bool {
        true
    }

    fn can_be_stopped(&self) -> bool {
        true
    }

    /// What the person cannot use any more is not asked for.
    fn asks_second_factor(&self) -> bool {
        false
    }

    fn enrols(&self, open: &Open) -> Vec<&'static str> {
        if self.replaces_credentials(open) {
            return vec!["passkey/create_options", "passkey/create", "new_password"];
        }
        let code = open.methods.contains(&Method::RecoveryCode).then_some("recovery_code");
        code.into_iter().chain(["new_password"]).collect()
    }

    /// Mail alone replaces no second factor.
    fn replaces_credentials(&self, open: &Open) -> bool {
        let has = |method| open.methods.contains(&method);
        let strong = has(Method::Passkey) || has(Method::Totp);
        !strong || saved_code(open) || open.seed.operator_link.is_some()
    }

    fn enrolled(&self, open: &Open, changes: Vec<Command>) -> Vec<Command> {
        let password = |command: &Command| matches!(command, Command::SetPassword(_));
        let by = match &open.seed.operator_link {
            Some(link) => RecoveredBy::Link(link.token),
            None if saved_code(open) => RecoveredBy::MailAndCode,
            None => RecoveredBy::Mail,
        };
        let recover = Command::Recover { by, password_only: changes.iter().all(password) };
        [recover].into_iter().chain(changes).collect()
    }

    fn next(&self, open: &Open, _case: &Case<'_>) -> Next {
        if !open.enrolled {
            return Next::Ask(Question::Enrol);
        }
        Next::End(Ending::of(SessionEnding::Untouched))
    }
}

/// Tells whether a saved recovery code was proved in this flow.
fn saved_code(open: &Open) -> bool {
    let methods = open.person.as_ref().map(|person| person.evidence.methods());
    methods.is_some_and(|methods| methods.contains(&Method::RecoveryCode))
}
