//! `new_password` and `skip`: a password that the person chooses, or no credential at all.

use super::{Step, StepOutcome, StepRequest, Taking};
use crate::{
    domain::{
        account::{Command, PasswordHash},
        flow::Open,
    },
    http::{
        answer::error::Problem,
        flows::{
            ending::{AnsweredStep, Enrolment, StepAnswer},
            problems::NOT_NOW,
        },
        limits::purpose::Purpose,
        new_password::About,
    },
};
use serde::Deserialize;

pub struct NewPassword;

pub struct Skip;

#[derive(Deserialize)]
struct Body {
    password: String,
}

impl Step for NewPassword {
    fn path(&self) -> &'static str {
        "new_password"
    }

    fn take<'a>(&'a self, mut request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(async move {
            let Body { password } = request.body()?;
            request.charge(Purpose::Credential)?;
            let open = request.offered(self).await?;
            let hash = choose(&request, &open, &password).await?;
            request.enrol(&open, self, vec![Command::SetPassword(hash)]).await
        })
    }
}

impl Step for Skip {
    fn path(&self) -> &'static str {
        "skip"
    }

    fn take<'a>(&'a self, request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(async move {
            let open = request.offered(self).await?;
            request.enrol(&open, self, Vec::new()).await
        })
    }
}

impl StepRequest<'_> {
    /// Tells the flow which credential the person has chosen.
    async fn enrol(
        &self,
        open: &Open,
        step: &dyn Step,
        changes: Vec<Command>,
    ) -> Result<StepOutcome, Problem> {
        let person = open.person.as_ref().ok_or(NOT_NOW)?;
        let (step, spends, recovery_codes) = (step.path(), None, Vec::new());
        let answer = StepAnswer::Enrolled(Enrolment { step, spends, changes, recovery_codes });
        let chosen = open.chosen.as_deref();
        self.proceed(AnsweredStep { account: &person.account, chosen, answer }).await
    }
}

/// Returns the hash of a password that may be chosen.
async fn choose(
    request: &StepRequest<'_>,
    open: &Open,
    text: &str,
) -> Result<PasswordHash, Problem> {
    let app = request.app;
    if let Some(applicant) = &open.applicant {
        let about = About {
            email: &applicant.email,
            given_name: applicant.given_name.as_deref().unwrap_or_default(),
            family_name: applicant.family_name.as_deref().unwrap_or_default(),
            names: Vec::new(),
        };
        return app.crypto.new_passwords.choose(text, &about).await;
    }
    let account = &open.person.as_ref().ok_or(NOT_NOW)?.account;
    let seen = app.views.accounts.peek(account).await?;
    let known = seen.machine.known().ok_or(NOT_NOW)?;
    app.crypto.new_passwords.choose(text, &About::account(known)).await
}
