//! `recovery_code`: a saved code stands in for a device that the person has not at hand.

use super::{Step, StepRequest, Taking};
use crate::{
    actors::hashing::HashingError,
    crypto::RecoveryCode,
    domain::{
        Actor,
        account::{Command, Known},
        assurance::Worth,
        flow::{ProofStep, Role},
        message::MailContent,
        throttle,
    },
    http::{
        answer::error::Problem,
        flows::problems::{NOT_NOW, UNAVAILABLE},
        limits::purpose::Purpose,
        people::notice::telling,
    },
};
use serde::Deserialize;
use zeroize::Zeroizing;

pub struct SavedCode;

#[derive(Deserialize)]
struct Body {
    code: Zeroizing<String>,
}

impl Step for SavedCode {
    fn path(&self) -> &'static str {
        throttle::RECOVERY_CODE
    }

    fn proof(&self) -> Option<ProofStep> {
        Some(ProofStep {
            name: self.path(),
            preparing: &[],
            worth: Worth::RECOVERY_CODE,
            roles: &[Role::Second],
        })
    }

    fn take<'a>(&'a self, mut request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(async move {
            let Body { code } = request.body()?;
            request.charge(Purpose::Credential)?;
            let person = request.offered(self).await?.person.ok_or(NOT_NOW)?;
            let judge = async |known: &Known| judge(&request, known, &code).await;
            request.take_second(self, person, judge).await
        })
    }
}

/// Returns the command that spends a code, if it can be one: the account decides whether it is.
async fn judge(
    request: &StepRequest<'_>,
    account: &Known,
    code: &str,
) -> Result<Option<Command>, Problem> {
    let app = request.app;
    let Some(code) = RecoveryCode::read(code) else { return Ok(None) };
    let set = account.credentials.recovery_codes().filter(|(_, left)| *left > 0);
    let salt = set.map(|(salt, _)| salt.to_owned());
    let hashed = app.crypto.hashing.hash_recovery_code(code, salt).await;
    let hashed = hashed.map_err(|error| {
        if error != HashingError::Busy {
            tracing::error!(%error, "a recovery code could not be compared");
        }
        UNAVAILABLE
    })?;
    let Some(hash) = hashed else { return Ok(None) };
    let context = request.opened.context.clone().by(Actor::Person(account.id.clone()));
    let command = Command::UseRecoveryCode(hash);
    Ok(Some(telling(app, &context, account, MailContent::RecoveryCodeUsed, command)))
}
