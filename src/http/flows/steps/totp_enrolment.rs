//! `totp/options` and, where a flow waits for a new credential, `totp`: a person brings a secret into
//! their authenticator application, and shows by a code that it is there.
//!
//! The secret waits in the flow's row, sealed for that flow. It goes into the account, sealed for that
//! account, in the commit that ends the flow.

use super::{
    Step, StepOutcome, StepRequest, Taking,
    totp::{PURPOSE, Totp},
};
use crate::{
    crypto::{TotpEnrolment, draw_totp_secret, matching_step},
    domain::{
        Actor, Secret,
        account::{Account, Command, SealedSecret},
        assurance::Level,
        flow::{Flow, Open, PendingProof, PendingProofContent, Step as FlowStep},
        message::MailContent,
    },
    http::{
        answer::error::Problem,
        app::App,
        flows::{
            ending::{AnsweredStep, Enrolment, StepAnswer},
            problems::{ACCOUNT_CHANGED, NOT_NOW, UNAVAILABLE},
            ticket::Ticket,
        },
        limits::{attempts::Attempt, purpose::Purpose},
        people::{new_recovery_codes::NewRecoveryCodes, notice::telling},
    },
};
use serde::{Deserialize, Serialize};
use url::Url;

/// What a secret that waits in a flow is sealed for.
const WAITING: &str = "totp enrolment";

pub struct TotpOptions;

#[derive(Deserialize)]
struct Nothing {}

/// The secret in the forms in which an application takes it.
#[derive(Serialize)]
struct Options<'a> {
    secret: &'a str,
    otpauth_uri: &'a str,
    qr_svg: &'a str,
}

impl Step for TotpOptions {
    fn path(&self) -> &'static str {
        "totp/options"
    }

    fn take<'a>(&'a self, mut request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(async move {
            let (app, opened) = (request.app, request.opened);
            let Nothing {} = request.body()?;
            request.charge(Purpose::Credential)?;
            let open = request.offered(self).await?;
            let account = open.person.as_ref().ok_or(NOT_NOW)?.account.clone();
            let seen = app.views.accounts.look_anew(&account).await?;
            let email = email(&open, &seen.machine).ok_or(NOT_NOW)?;
            let secret = draw_totp_secret(&*app.dice);
            let written = TotpEnrolment::of(&secret, &issuer_name(&app.issuer), &email);
            let written = written.ok_or_else(|| {
                tracing::error!("the names of issuer and account do not fit into a picture");
                UNAVAILABLE
            })?;
            let vault = app.crypto.vault.now();
            let sealed = vault.seal(WAITING, opened.name.as_bytes(), secret.expose(), &*app.dice);
            let held = PendingProof {
                step: Totp.path().to_owned(),
                content: PendingProofContent::Secret(SealedSecret::new(sealed)),
                expires_at: opened.seed.expires_at,
                wrong: 0,
                account: Some(account.clone()),
                sent_to: None,
            };
            let context = opened.context.clone().by(Actor::Person(account));
            let hold = FlowStep::Hold { step: self.path(), held: Box::new(held), message: None };
            opened.ask(app, &context, hold).await?;
            let TotpEnrolment { secret, otpauth_uri, qr_svg } = &written;
            let options = Options { secret, otpauth_uri, qr_svg };
            Ok(StepOutcome::Options(serde_json::to_value(options).expect("text is JSON")))
        })
    }
}

/// Returns the secret that waits in a flow, for the page that shows it to its holder.
///
/// The caller has shown that the flow is theirs.
pub async fn waiting(app: &App, id: &str) -> Option<TotpEnrolment> {
    let vault = app.crypto.vault.now();
    let (name, _) = Ticket::open(id, &vault)?;
    let seen = app.views.flows.peek(name).await.ok()?;
    let Flow::Open(open) = &seen.machine else { return None };
    let held = open.held_for(Totp.path(), app.clock.now())?;
    let PendingProofContent::Secret(sealed) = &held.content else { return None };
    let secret = vault.open(WAITING, name.as_bytes(), sealed.expose()).ok()?;
    let account = app.views.accounts.look_anew(&open.person.as_ref()?.account).await.ok()?;
    let email = email(open, &account.machine)?;
    TotpEnrolment::of(&secret, &issuer_name(&app.issuer), &email)
}

/// Returns the address by which the application will show the account.
fn email(open: &Open, account: &Account) -> Option<String> {
    match (account.known(), &open.applicant) {
        (Some(known), _) => Some(known.email.clone()),
        (None, Some(applicant)) => Some(applicant.email.clone()),
        (None, None) => None,
    }
}

/// Returns what the application will call us: the host of the issuer.
fn issuer_name(issuer: &str) -> String {
    let url = Url::parse(issuer).ok();
    let host = url.as_ref().and_then(Url::host_str);
    host.unwrap_or(issuer).to_owned()
}

/// Enrols the application whose secret waits, if the code is one that it makes now.
pub(super) async fn enrol(
    request: StepRequest<'_>,
    open: Open,
    code: &str,
) -> Result<StepOutcome, Problem> {
    let (app, now) = (request.app, request.app.clock.now());
    let person = open.person.as_ref().ok_or(NOT_NOW)?;
    let account = person.account.clone();
    let held = open.held_for(Totp.path(), now).ok_or(NOT_NOW)?;
    let secret = opened_secret(&request, held)?;
    let Some(step) = matching_step(&secret, code, now) else {
        // Nothing is guessed here: the caller was told the secret. The flow counts, and ends.
        return request.disprove_of(&Totp, Some(account), None::<Attempt>).await;
    };
    let seen = app.views.accounts.look_anew(&account).await?;
    let reaches_aal2 = seen.machine.known().is_some_and(|known| known.credentials.reach_aal2());
    if reaches_aal2 && person.evidence.level(now) < Some(Level::Aal2) {
        // It has got a second factor since this flow began, by which alone it may be changed.
        return Err(ACCOUNT_CHANGED);
    }
    let vault = app.crypto.vault.now();
    let sealed = vault.seal(PURPOSE, account.as_bytes(), secret.expose(), &*app.dice);
    let enrol = Command::EnrolTotp { secret: SealedSecret::new(sealed), step };
    let (context, content) = (&request.opened.context, MailContent::TotpEnrolled);
    let mut changes = vec![match seen.machine.known() {
        Some(known) => telling(app, context, known, content, enrol),
        None => enrol,
    }];
    let recovery_codes =
        NewRecoveryCodes::with_credential(app, &seen.machine, &mut changes).await?;
    let spends = Some(held.mark());
    let enrolled = Enrolment { step: Totp.path(), spends, changes, recovery_codes };
    let answer = StepAnswer::Enrolled(enrolled);
    request.proceed(AnsweredStep { account: &account, chosen: None, answer }).await
}

fn opened_secret(request: &StepRequest<'_>, held: &PendingProof) -> Result<Secret, Problem> {
    let PendingProofContent::Secret(sealed) = &held.content else { return Err(NOT_NOW) };
    let (app, name) = (request.app, request.opened.name.as_bytes());
    app.crypto.vault.now().open(WAITING, name, sealed.expose()).map_err(|error| {
        tracing::error!(%error, "the secret that waits in a flow cannot be opened");
        UNAVAILABLE
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_calls_us_by_the_host_of_the_issuer() {
        assert_eq!(issuer_name("https://id.example.com"), "id.example.com");
        assert_eq!(issuer_name("http://localhost:8080"), "localhost");
        assert_eq!(issuer_name("https://[::1]:8443"), "[::1]");
    }
}
