//! `new_password` and `skip`: a password that the person chooses, or no credential at all.

use super::{Step, StepRequest, Taking};
use crate::{
    actors::hashing::HashingError,
    crypto::draw,
    domain::{
        account::{Command, PasswordHash},
        flow::Open,
        password::Password,
    },
    http::{
        answer::error::Problem,
        flows::{
            ending::{Asking, Enrolled, Said},
            problems::{NOT_NOW, UNAVAILABLE},
        },
        limits::purpose::Purpose,
    },
};
use axum::response::Response;
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
    ) -> Result<Response, Problem> {
        let person = open.person.as_ref().ok_or(NOT_NOW)?;
        let (step, spends, recovery_codes) = (step.path(), None, Vec::new());
        let answer = Said::Enrolled(Enrolled { step, spends, changes, recovery_codes });
        let chosen = open.chosen.as_deref();
        self.proceed(Asking { account: &person.account, chosen, answer }).await
    }
}

/// Returns the hash of a password that may be chosen.
async fn choose(
    request: &StepRequest<'_>,
    _open: &Open,
    text: &str,
) -> Result<PasswordHash, Problem> {
    let app = request.app;
    let password = Password::read(text)
        .map_err(|fault| Problem::wrong_member("#/password", fault.to_string()))?;
    let hashed = app.hashing.hash(password, draw(&*app.dice)).await;
    hashed.map(PasswordHash::new).map_err(|error| {
        if error != HashingError::Busy {
            tracing::error!(%error, "a password could not be hashed");
        }
        UNAVAILABLE
    })
}
