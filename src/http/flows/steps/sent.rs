//! Codes and links that are sent to a person: drawn, kept as the fingerprint of a keyed tag, sent, and
//! presented.

use super::{
    Step, StepOutcome, StepRequest,
    named::DECOY,
    recipient::{CodeOrLink, Recipient},
};
use crate::{
    crypto::{Dice, draw_text},
    domain::{
        Dispatch, Fingerprint, Locale, Timestamp,
        account::{self, Known},
        assurance::AuthenticatorId,
        flow::{AccountProof, Open, PendingProof, PendingProofContent, Role, Step as Command},
        message::{Mail, Sms, SmsContent},
    },
    http::{
        answer::error::Problem,
        flows::{
            ending::{self, AnsweredStep, StepAnswer},
            known_browser, origin,
            problems::INVALID_CREDENTIALS,
        },
        limits::{
            attempts::{Attempt, MessageSender},
            purpose::Purpose,
        },
        people::one_time_code::draw_code,
    },
};
use std::time::Duration;

/// What the keyed tags of codes and links are for.
const PURPOSE: &str = "one-time code";

/// A code or link that is about to be sent.
pub(super) struct OutgoingCode {
    /// The path of the step that sends it.
    pub by: &'static str,
    /// The path of the step that takes it.
    pub step: &'static str,
    pub lives: Duration,
}

/// Where a code or link goes, and what it proves there.
struct CodeTarget {
    /// The id of the account; `None` where the code can never be right.
    proves: Option<String>,
    sent_to: AuthenticatorId,
}

/// Draws the token of a link.
pub(super) fn draw_token(dice: &dyn Dice) -> String {
    draw_text(dice, 32)
}

impl StepRequest<'_> {
    /// Returns what is kept of a code: bound to this flow and step, and of no use without our key.
    pub(super) fn fingerprint(&self, step: &str, text: &str) -> Fingerprint {
        let key = self.app.crypto.vault.now().mac_key(PURPOSE);
        let parts = [self.opened.name.as_bytes(), step.as_bytes(), text.as_bytes()];
        Fingerprint::of(&key.tag(&parts))
    }

    /// Charges what a message costs: to the caller's address, and to the address it goes to. A person who has
    /// proved who they are, and a browser that they have used before, have an allowance of their own.
    async fn charge_message(&self, open: &Open, recipient: &Recipient) -> Result<(), Problem> {
        self.charge(Purpose::Message)?;
        let (app, source) = (self.app, &self.opened.source);
        let person = open.person.as_ref().filter(|_| open.applicant.is_none());
        let browser = match recipient.account() {
            Some(known) => known_browser::find(app, source, known).await,
            None => None,
        };
        let sender = match (person, &browser) {
            (Some(person), _) => MessageSender::Account(&person.account),
            (None, Some(browser)) => MessageSender::KnownBrowser(browser),
            (None, None) => MessageSender::Stranger(app.limits.pace.network(self.address)),
        };
        let to = &recipient.charged_to;
        Ok(app.limits.attempts.charge_message(&self.opened.context, to, sender).await?)
    }

    /// Returns the language to write in: the person's, else the caller's, else the installation's.
    fn language(&self, recipient: &Recipient) -> Locale {
        let asked = || self.opened.source.locale;
        recipient.locale().or_else(asked).unwrap_or(self.app.settings.locale)
    }

    /// Sends a code or link by mail and shows the flow.
    pub(super) async fn send_mail(
        &self,
        open: &Open,
        sending: OutgoingCode,
        draw: impl FnOnce(&dyn Dice) -> String,
        sent: impl FnOnce(String) -> CodeOrLink,
    ) -> Result<StepOutcome, Problem> {
        let recipient = self.recipient(open).await?;
        self.charge_message(open, &recipient).await?;
        let text = draw(&*self.app.dice);
        let proves = recipient.proved_by(sending.step);
        let sent_to = AuthenticatorId::mailbox(&recipient.charged_to);
        let content = self.held(&sending, &text, CodeTarget { proves, sent_to });
        let (locale, said) = (self.language(&recipient), recipient.content(sent(text)));
        let asked = origin::of(self.app, self.opened).await;
        let mail = Mail::new(&*recipient.email, locale, said).asked(asked);
        let dispatch = mail.dispatch(content.expires_at);
        self.hold(sending.by, content, Some(dispatch)).await
    }

    /// Sends a code by SMS and shows the flow.
    pub(super) async fn send_sms(
        &self,
        open: &Open,
        sending: OutgoingCode,
    ) -> Result<StepOutcome, Problem> {
        let recipient = self.recipient(open).await?;
        self.charge_message(open, &recipient).await?;
        let code = draw_code(&*self.app.dice);
        let known = recipient.account();
        let phone = known.and_then(Known::verified_phone).map(str::to_owned);
        let proves = phone.as_ref().and_then(|_| recipient.proved_by(sending.step));
        // As long as a number is.
        let number = phone.clone().unwrap_or_else(|| "+000000000000".to_owned());
        let sent_to = AuthenticatorId::phone(&number);
        let held = self.held(&sending, &code, CodeTarget { proves, sent_to });
        let sms = Sms {
            content: match &phone {
                Some(_) => SmsContent::SignInCode { code },
                None => SmsContent::Decoy,
            },
            to: number,
            locale: self.language(&recipient),
        };
        let dispatch = sms.dispatch(held.expires_at);
        self.hold(sending.by, held, Some(dispatch)).await
    }

    fn held(&self, sending: &OutgoingCode, text: &str, target: CodeTarget) -> PendingProof {
        let CodeTarget { proves, sent_to } = target;
        let known = self.fingerprint(sending.step, text);
        // Nothing that can be typed has this fingerprint.
        let never = || self.fingerprint(sending.by, &draw_token(&*self.app.dice));
        let code = if proves.is_some() { known } else { never() };
        let expires_at = self.until(sending.lives);
        let (step, content) = (sending.step.to_owned(), PendingProofContent::Code(code));
        let (account, sent_to) = (proves, Some(sent_to));
        PendingProof { step, content, expires_at, wrong: 0, account, sent_to }
    }

    /// Returns when something that lives so long ends, in this flow.
    pub(super) fn until(&self, lives: Duration) -> Timestamp {
        (self.app.clock.now() + lives).min(self.opened.seed.expires_at)
    }

    /// Leaves something for the second half of a step, and shows the flow.
    pub(super) async fn hold(
        &self,
        step: &'static str,
        held: PendingProof,
        message: Option<Dispatch>,
    ) -> Result<StepOutcome, Problem> {
        self.ask(Command::Hold { step, held: Box::new(held), message }).await
    }

    /// Presents a code or the token of a link, which the flow itself compares.
    pub(super) async fn present(
        &self,
        step: &dyn Step,
        text: &str,
        proved: Option<AccountProof>,
        attempt: Option<Attempt>,
    ) -> Result<StepOutcome, Problem> {
        let account = proved.as_ref().map_or_else(|| DECOY.to_owned(), |one| one.account.clone());
        let (step, code) = (step.path(), self.fingerprint(step.path(), text));
        let answer = StepAnswer::Presented { step, code, proved };
        let asking = AnsweredStep { account: &account, chosen: None, answer };
        match ending::proceed_noting(self.app, self.opened, asking).await {
            Ok(answered) => {
                if let Some(attempt) = attempt {
                    attempt.was_right(answered.authenticated);
                }
                Ok(answered.answer.into())
            }
            Err(problem) => {
                if problem.code == INVALID_CREDENTIALS.code {
                    if let Some(attempt) = attempt {
                        attempt.failed();
                    }
                    return Err(INVALID_CREDENTIALS);
                }
                Err(problem)
            }
        }
    }

    /// Takes a code that was sent to the person. Each guess is charged; without a code that could be guessed
    /// there is none, and nothing is held against the person to whom nothing was sent (adr/0105).
    pub(super) async fn take_code(
        &self,
        step: &dyn Step,
        code: &str,
    ) -> Result<StepOutcome, Problem> {
        self.charge(Purpose::Credential)?;
        let open = self.offered(step).await?;
        let recipient = self.recipient(&open).await?;
        let attempt = match open.held_for(step.path(), self.app.clock.now()) {
            Some(_) => Some(self.charge_attempt(step.path(), &recipient.charged_to).await?),
            None => None,
        };
        self.take_sent(step, code, (&recipient, attempt)).await
    }

    /// Takes the token of a link that was sent to the person: it cannot be guessed.
    pub(super) async fn take_link(
        &self,
        step: &dyn Step,
        token: &str,
    ) -> Result<StepOutcome, Problem> {
        self.charge(Purpose::Credential)?;
        let open = self.offered(step).await?;
        let recipient = self.recipient(&open).await?;
        self.take_sent(step, token, (&recipient, None)).await
    }

    /// Takes the second half of a step that sent something to the person's address.
    async fn take_sent(
        &self,
        step: &dyn Step,
        text: &str,
        (recipient, attempt): (&Recipient, Option<Attempt>),
    ) -> Result<StepOutcome, Problem> {
        let response = self.present(step, text, recipient.proved(step), attempt).await?;
        let mailed = step.proof().is_some_and(|proof| proof.has(Role::Address));
        if let Some(known) = recipient.account().filter(|known| mailed && !known.email_verified) {
            // Mail to the address has reached them. The caller does not wait for it.
            let (accounts, context) = (&self.app.entities.accounts, &self.opened.context);
            accounts.tell(context, &known.id, account::Command::VerifyEmail);
        }
        Ok(response)
    }
}

impl Recipient {
    fn proved_by(&self, step: &'static str) -> Option<String> {
        self.proves(step).map(|proved| proved.account)
    }
}
