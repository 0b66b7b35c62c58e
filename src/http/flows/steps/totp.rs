//! `totp`: a code of the authenticator application that a person has enrolled, or is enrolling.

use super::{Step, StepRequest, Taking, totp_enrolment};
use crate::{
    crypto::matching_step,
    domain::{
        account::{Command, Known},
        assurance::Worth,
        flow::{ProofStep, Role, Stage},
        throttle,
    },
    http::{
        answer::error::Problem,
        flows::problems::{NOT_NOW, UNAVAILABLE},
        limits::purpose::Purpose,
    },
};
use serde::Deserialize;

/// What secrets of authenticator applications are sealed for.
pub(super) const PURPOSE: &str = "totp";

pub struct Totp;

#[derive(Deserialize)]
struct Body {
    code: String,
}

impl Step for Totp {
    fn path(&self) -> &'static str {
        throttle::TOTP
    }

    fn proof(&self) -> Option<ProofStep> {
        Some(ProofStep {
            name: self.path(),
            preparing: &[],
            worth: Worth::TOTP,
            roles: &[Role::Second],
        })
    }

    fn take<'a>(&'a self, mut request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(async move {
            let Body { code } = request.body()?;
            request.charge(Purpose::Credential)?;
            let open = request.offered(self).await?;
            if open.stage == Stage::Enrol {
                return totp_enrolment::enrol(request, open, &code).await;
            }
            let person = open.person.ok_or(NOT_NOW)?;
            let judge = async |known: &Known| judge(&request, known, &code);
            request.take_second(self, person, judge).await
        })
    }
}

/// Returns the command that spends a code, if it is right.
fn judge(
    request: &StepRequest<'_>,
    account: &Known,
    code: &str,
) -> Result<Option<Command>, Problem> {
    let app = request.app;
    let Some(sealed) = account.credentials.totp() else { return Ok(None) };
    let secret = app.crypto.vault.now().open(PURPOSE, account.id.as_bytes(), sealed.expose());
    let secret = secret.map_err(|error| {
        tracing::error!(%error, "the secret of an authenticator application cannot be opened");
        UNAVAILABLE
    })?;
    let step = matching_step(&secret, code, app.clock.now());
    Ok(step.map(|step| Command::UseTotp { step }))
}
