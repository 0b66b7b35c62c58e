//! `passkey/options` and `passkey`: a passkey says itself whose it is, so that no identifier is needed.
//!
//! 1. `passkey/options` begins a ceremony, which the flow holds until it is answered;
//! 2. the answer names an account. Its passkeys are read: none where there is no such account;
//! 3. the answer is verified with the passkey that it names;
//! 4. the flow is told whether it was right, and holds the ceremony no more, either way. A right one is written
//!    down in the account in the same commit.
//!
//! Whatever is wrong, the answer is the same. No attempt is charged to an account: a signature cannot be
//! guessed, and a person whom others have locked out of their password must have a way in (adr/0053).

use super::{Step, StepRequest, Taking, ceremony};
use crate::{
    actors::EntitySnapshot,
    crypto::passkeys::{PasskeyError, PresentedPasskey},
    domain::{
        Fingerprint,
        account::{Account, Command, Known},
        assurance::Worth,
        flow::{AccountProof, Open, ProofStep, Role},
    },
    http::{
        answer::error::Problem, app::App, flows::problems::INVALID_CREDENTIALS,
        limits::purpose::Purpose,
    },
};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::Arc;

pub struct PasskeyOptions;

pub struct Passkey;

#[derive(Deserialize)]
struct Nothing {}

#[derive(Deserialize)]
struct Body {
    /// What the browser answered, in the JSON of WebAuthn §5.1.
    credential: Map<String, Value>,
}

/// A passkey that was verified in a ceremony of the flow.
struct VerifiedPasskey {
    id: String,
    spends: Fingerprint,
    worth: Worth,
    /// Has the account write down the use.
    uses: Command,
    /// The account that it was verified on.
    seen: Arc<EntitySnapshot<Account>>,
}

/// A proof that is wrong, of which account, if that is known.
struct Wrong {
    account: Option<String>,
}

impl Step for PasskeyOptions {
    fn path(&self) -> &'static str {
        "passkey/options"
    }

    fn take<'a>(&'a self, mut request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(async move {
            let Nothing {} = request.body()?;
            request.charge(Purpose::Credential)?;
            let open = request.offered(self).await?;
            let passkeys = ceremony::passkeys(request.app)?;
            // What the person has said yes to is in the challenge (adr/0090).
            let begun = match open.approval.as_ref().filter(|said| said.agreed) {
                None => passkeys.begin_sign_in(),
                Some(said) => passkeys.begin_signing(said.shown, &*request.app.dice),
            };
            request.hold_ceremony(self, &Passkey, begun).await
        })
    }
}

impl Step for Passkey {
    fn path(&self) -> &'static str {
        "passkey"
    }

    fn proof(&self) -> Option<ProofStep> {
        Some(ProofStep {
            name: self.path(),
            preparing: &["passkey/options"],
            worth: Worth::PASSKEY,
            roles: &[Role::Unnamed, Role::Second],
        })
    }

    fn take<'a>(&'a self, mut request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(async move {
            let Body { credential } = request.body()?;
            request.charge(Purpose::Credential)?;
            let open = request.offered(self).await?;
            let verified = match judge(&request, &open, &Value::Object(credential)).await? {
                Ok(verified) => verified,
                Err(Wrong { account }) => return request.disprove_of(self, account, None).await,
            };
            let seen = verified.seen.clone();
            let prove = |known: &Known, version| verified.proved(known, version);
            match request.prove_second(&mut None, seen.clone(), prove).await {
                // The account has the passkey no more.
                Err(problem) if problem == INVALID_CREDENTIALS => {
                    let account = seen.machine.known().map(|known| known.id.clone());
                    request.disprove_of(self, account, None).await
                }
                answer => answer,
            }
        })
    }
}

impl VerifiedPasskey {
    /// Returns a proof of the account as it was read, if it still has the passkey.
    fn proved(&self, known: &Known, version: i64) -> Option<AccountProof> {
        let (spends, worth) = (Some(self.spends), Some(self.worth));
        let by = Some(known.passkey_authenticator(&self.id)?);
        let uses = Some(self.uses.clone());
        Some(AccountProof {
            spends,
            worth,
            by,
            uses,
            ..AccountProof::of(Passkey.path(), known, version)
        })
    }
}

/// Returns the id of a passkey that was presented, if the account that it names has none of that id.
///
/// It is for the page of the browser that has presented it, after it was refused: what a program is answered says nothing of
/// it. The account is read anew: one that got the passkey a moment ago has it.
pub async fn unknown(app: &App, credential: &Value) -> Option<String> {
    let presented = PresentedPasskey::read(credential).ok()?;
    let seen = app.views.accounts.look_anew(&presented.account).await.ok()?;
    let known = seen.machine.known();
    let held = known.and_then(|known| known.credentials.passkey(&presented.credential));
    held.is_none().then_some(presented.credential)
}

/// Verifies an answer.
async fn judge(
    request: &StepRequest<'_>,
    open: &Open,
    credential: &Value,
) -> Result<Result<VerifiedPasskey, Wrong>, Problem> {
    let app = request.app;
    // Of whom more than one factor is asked, the account is known already.
    let asked = open.person.as_ref().map(|person| person.account.clone());
    let wrong = |why: &PasskeyError, account: Option<String>| {
        tracing::info!(%why, "a passkey was refused");
        Ok(Err(Wrong { account: account.or_else(|| asked.clone()) }))
    };
    let presented = match PresentedPasskey::read(credential) {
        Ok(presented) => presented,
        Err(why) => return wrong(&why, None),
    };
    let Some((state, spends)) = ceremony::held(open, &Passkey, app.clock.now()) else {
        return wrong(&PasskeyError::NoCeremony, None);
    };
    if asked.as_ref().is_some_and(|account| *account != presented.account) {
        return wrong(&PasskeyError::OtherAccount, None);
    }
    let seen = app.views.accounts.peek(&presented.account).await?;
    let now = app.clock.now();
    let known = seen.machine.known().filter(|known| known.admits(now));
    let held = known.and_then(|known| known.credentials.passkey(&presented.credential));
    // Any caller can name an account; only its own devices know the id of a passkey.
    let account = held.and(known).map(|known| known.id.clone());
    let passkeys = ceremony::passkeys(app)?;
    let used = match passkeys.finish_sign_in(state, &presented, held) {
        Ok(used) => used,
        Err(why) => return wrong(&why, account),
    };
    let (Some(known), Some(passkey)) = (known, held) else {
        return wrong(&PasskeyError::Unknown, None);
    };
    if used.counter_regressed {
        tracing::warn!(account = known.id, "the counter of a passkey did not grow");
    }
    let worth = passkeys.worth(passkey);
    let uses = Command::UsePasskey(used);
    Ok(Ok(VerifiedPasskey { id: passkey.id.clone(), spends, worth, uses, seen: seen.clone() }))
}
