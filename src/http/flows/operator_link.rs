//! Links by which operators let people recover their accounts: found by their token when a flow begins,
//! spent in the commit of the new credential, voided by the holder of the account's address.

use super::problems::RECOVERY_NOT_GOOD;
use crate::{
    actors::Failure,
    crypto::{OpaqueKind, uuid_of_id},
    domain::{
        Context,
        account::{Command, Refusal},
        flow::{OperatorLink, Refusal as FlowRefusal},
    },
    http::{answer::error::Problem, app::App},
};

/// Finds the account of a token. Unknown, used, replaced, stopped and expired ones are answered alike.
///
/// Nothing is spent: a link may be opened more than once, and by programs.
pub async fn find(app: &App, token: &str) -> Result<OperatorLink, Problem> {
    let genuine = OpaqueKind::RecoveryLink.read(token, &app.crypto.vault.now());
    let genuine = genuine.ok_or(RECOVERY_NOT_GOOD)?;
    let account = uuid_of_id(&genuine.id).ok_or(RECOVERY_NOT_GOOD)?;
    let sign_outs = app.sign_outs().await?;
    let (seen, at) = (app.views.accounts.peek(&account).await?, app.clock.now());
    let known = seen.machine.known();
    let known = known.filter(|known| known.is_recovered_by(genuine.fingerprint, at));
    let epoch = known.ok_or(RECOVERY_NOT_GOOD)?.person_epoch(sign_outs);
    Ok(OperatorLink { account, token: genuine.fingerprint, epoch, at })
}

/// Voids the link whose stopping token this is; `None` where it is no such token.
pub async fn stop(app: &App, context: &Context, token: &str) -> Option<Result<(), Problem>> {
    let genuine = OpaqueKind::RecoveryStop.read(token, &app.crypto.vault.now())?;
    let account = uuid_of_id(&genuine.id)?;
    let command = Command::StopRecoveryLink { stop: genuine.fingerprint };
    let stopped = app.entities.accounts.ask(context, &account, command).await;
    Some(match stopped {
        Ok(_) => Ok(()),
        Err(Failure::Refused(Refusal::NoRecoveryLink)) => Err(FlowRefusal::Over.into()),
        Err(failure) => {
            tracing::warn!(%failure, "a recovery link could not be stopped");
            Err(Problem::UNAVAILABLE)
        }
    })
}
