//! To which address a flow sends its codes and links, what the mail is for, and what they prove.
//!
//! An address that belongs to no account costs the same as one that does: a code that can never be
//! right is kept, and a mail that is never sent is left in the outbox.

use super::{
    Step, StepRequest,
    named::{find, find_holder},
};
use crate::{
    actors::EntitySnapshot,
    domain::{
        Locale,
        account::{Account, Known, normalise_email},
        flow::{AccountProof, Applicant, Open},
        message::MailContent,
    },
    http::{answer::error::Problem, flows::problems::NOT_NOW},
};
use std::sync::Arc;

/// The address that a flow writes to.
pub struct Recipient {
    /// As it is written to.
    pub email: String,
    /// What attempts and messages are charged to.
    pub charged_to: String,
    seen: Arc<EntitySnapshot<Account>>,
    purpose: Purpose,
    /// The account that the person would make, where they ask for one.
    applicant: Option<Box<Applicant>>,
}

/// What a code or a link is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    SignIn,
    VerifyEmail,
    SignUp,
    Recovery,
}

impl Purpose {
    fn of(kind: &str) -> Self {
        match kind {
            "verify_email" => Self::VerifyEmail,
            "sign_up" => Self::SignUp,
            "recovery" | "report" => Self::Recovery,
            _ => Self::SignIn,
        }
    }
}

/// A code or a link.
pub enum CodeOrLink {
    Code(String),
    Link(String),
}

impl Recipient {
    /// Returns the account that has the address, if there is one.
    pub fn account(&self) -> Option<&Known> {
        self.seen.machine.known()
    }

    /// Returns what a right code proves.
    pub fn proved(&self, step: &dyn Step) -> Option<AccountProof> {
        self.proves(step.path())
    }

    pub(super) fn proves(&self, step: &'static str) -> Option<AccountProof> {
        match (self.purpose, self.account(), &self.applicant) {
            // The address is taken: the mail says so, and no code is right.
            (Purpose::SignUp, Some(_), _) | (_, None, None) => None,
            (Purpose::SignUp, None, Some(applicant)) => Some(AccountProof {
                step,
                account: applicant.account.clone(),
                version: None,
                methods: Vec::new(),
                spends: None,
                worth: None,
                by: None,
                uses: None,
                sign_on: None,
            }),
            (_, Some(known), _) => Some(AccountProof::of(step, known, self.seen.version)),
            (_, None, Some(_)) => None,
        }
    }

    /// Returns the language of the person, where they have said it.
    pub fn locale(&self) -> Option<Locale> {
        match (self.account(), &self.applicant) {
            (Some(known), _) => known.locale(),
            (None, Some(applicant)) => applicant.locale.as_deref().and_then(Locale::of_tag),
            (None, None) => None,
        }
    }

    /// Returns what the mail says.
    pub fn content(&self, sent: CodeOrLink) -> MailContent {
        let known = self.account().is_some();
        match (self.purpose, sent) {
            (Purpose::SignUp, _) if known => MailContent::SignUpKnown,
            (Purpose::SignUp, CodeOrLink::Code(code)) => MailContent::SignUpCode { code },
            (Purpose::SignUp, CodeOrLink::Link(link)) => MailContent::SignUpLink { link },
            (_, _) if !known => MailContent::Nothing,
            (Purpose::VerifyEmail, CodeOrLink::Code(code)) => MailContent::VerifyEmailCode { code },
            (Purpose::VerifyEmail, CodeOrLink::Link(link)) => MailContent::VerifyEmailLink { link },
            (Purpose::Recovery, CodeOrLink::Code(code)) => MailContent::RecoveryCode { code },
            (Purpose::Recovery, CodeOrLink::Link(link)) => MailContent::RecoveryLink { link },
            (Purpose::SignIn, CodeOrLink::Code(code)) => MailContent::SignInCode { code },
            (Purpose::SignIn, CodeOrLink::Link(link)) => MailContent::SignInLink { link },
        }
    }
}

impl StepRequest<'_> {
    /// Finds the address that the flow writes to.
    pub(super) async fn recipient(&self, open: &Open) -> Result<Recipient, Problem> {
        let purpose = Purpose::of(&open.seed.kind);
        if let Some(person) = open.person.as_ref().filter(|_| open.applicant.is_none()) {
            // They are known: nothing can be learnt from an answer.
            let seen = self.app.views.accounts.peek(&person.account).await?;
            let known = seen.machine.known().ok_or(NOT_NOW)?;
            let (email, charged_to) = (known.email.clone(), known.normalised_email());
            return Ok(Recipient { email, charged_to, seen, purpose, applicant: None });
        }
        let applicant = open.applicant.as_ref();
        let written = applicant.map(|one| &one.email).or(open.identifier.as_ref());
        let written = written.ok_or(NOT_NOW)?;
        // What is not an address belongs to no account, and costs the same.
        let charged_to = normalise_email(written).unwrap_or_else(|| written.to_lowercase());
        let seen = match purpose {
            // Its address is not free, though its person cannot sign in.
            Purpose::SignUp => find_holder(self.app, &charged_to).await?,
            _ => find(self.app, &charged_to).await?,
        };
        let email = match seen.machine.known() {
            Some(known) => known.email.clone(),
            None => written.trim().to_owned(),
        };
        let applicant = applicant.cloned();
        Ok(Recipient { email, charged_to, seen, purpose, applicant })
    }
}
