//! `totp`: a code of the authenticator application that a person has enrolled.

use super::{Step, StepRequest, Taking, password};
use crate::{
    actors::Failure,
    crypto::matching_step,
    domain::{
        account::{Command, Known, normalise_email},
        assurance::Worth,
        flow::{ProofStep, Proved, Role},
    },
    http::{
        answer::error::Problem,
        app::App,
        flows::problems::{NOT_NOW, UNAVAILABLE},
        limits::purpose::Purpose,
    },
};
use serde::Deserialize;

/// What secrets of authenticator applications are sealed for, and attempts are counted under.
const AUTHENTICATOR: &str = "totp";

pub struct Totp;

#[derive(Deserialize)]
struct Body {
    code: String,
}

impl Step for Totp {
    fn path(&self) -> &'static str {
        "totp"
    }

    fn proof(&self) -> Option<ProofStep> {
        Some(ProofStep { name: self.path(), worth: Worth::TOTP, role: Role::Second })
    }

    fn take<'a>(&'a self, mut request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(async move {
            let app = request.app;
            let Body { code } = request.body()?;
            request.charge(Purpose::Credential)?;
            let account = request.offered(self).await?.person.ok_or(NOT_NOW)?.account;
            let attempt = app.attempts.charge(AUTHENTICATOR, &account).await?;
            let seen = app.accounts.look_anew(&account).await?;
            let known = seen.machine.known().ok_or(UNAVAILABLE)?;
            let Some(version) = spend(app, known, &code).await? else {
                return request.disprove_of(self, Some(account), attempt).await;
            };
            let second_factors = known.credentials.second_factors();
            let proved = Proved { step: self.path(), account, version, second_factors };
            let first = normalise_email(&known.email).map(|email| (password::NAME, email));
            request.prove(proved, attempt, first).await
        })
    }
}

/// Spends a code that is right, and returns the version of the account in which it is spent.
async fn spend(app: &App, account: &Known, code: &str) -> Result<Option<i64>, Problem> {
    let Some(sealed) = account.credentials.totp() else { return Ok(None) };
    let secret = app.vault.now().open(AUTHENTICATOR, account.id.as_bytes(), sealed.expose());
    let secret = secret.map_err(|error| {
        tracing::error!(%error, "the secret of an authenticator application cannot be opened");
        UNAVAILABLE
    })?;
    let Some(step) = matching_step(&secret, code, app.clock.now()) else { return Ok(None) };
    match app.account_entities.ask(&account.id, Command::UseTotp { step }).await {
        Ok(_) => Ok(Some(app.accounts.peek(&account.id).await?.version)),
        Err(Failure::Refused(_)) => Ok(None),
        Err(_) => Err(UNAVAILABLE),
    }
}
