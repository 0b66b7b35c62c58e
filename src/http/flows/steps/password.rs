//! `password`: known and unknown identifiers cost the same, and get the same answer.
//!
//! 1. where all threads that hash are busy, the caller is told to come again;
//! 2. the attempt is charged to the identifier, whether or not an account has it;
//! 3. the account is looked up, and read: a decoy where there is none;
//! 4. the password is hashed once: against a decoy where there is nothing to compare it with;
//! 5. the flow is told whether it was right.

use super::{Step, StepRequest, Taking};
use crate::{
    actors::hashing::HashingError,
    crypto::draw,
    domain::{
        self,
        account::{Command, PasswordHash},
        assurance::Worth,
        flow::{ProofStep, Role},
        throttle,
    },
    http::{answer::error::Problem, flows::problems::UNAVAILABLE, limits::purpose::Purpose},
};
use serde::Deserialize;

pub struct Password;

#[derive(Deserialize)]
struct Body {
    password: TypedPassword,
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct TypedPassword(domain::password::Password);

impl TryFrom<String> for TypedPassword {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let password = domain::password::Password::read(&text);
        password.map(Self).map_err(|_| "has 1 to 1024 characters")
    }
}

impl Step for Password {
    fn path(&self) -> &'static str {
        throttle::PASSWORD
    }

    fn proof(&self) -> Option<ProofStep> {
        Some(ProofStep {
            name: self.path(),
            preparing: &[],
            worth: Worth::PASSWORD,
            roles: &[Role::First],
        })
    }

    fn take<'a>(&'a self, mut request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(async move {
            let app = request.app;
            let Body { password: TypedPassword(password) } = request.body()?;
            request.charge(Purpose::Credential)?;
            // Before anything is written or read: what is shed in a storm must cost next to nothing.
            let permit = app.crypto.hashing.reserve().map_err(unavailable)?;
            let named = request.named(self).await?;
            let hash = named.account().and_then(|known| known.credentials.password()).cloned();
            let phc = hash.as_ref().map(|hash| hash.expose().to_owned());
            let verified = app.crypto.hashing.verify_reserved(permit, password.clone(), phc).await;
            let verdict = verified.map_err(unavailable)?;
            let right = named.proved(self).zip(hash).filter(|_| verdict.matches);
            let Some((mut proved, hash)) = right else {
                return request.disprove(self, named).await;
            };
            if verdict.needs_rehash
                && let Some(version) = rehash(&request, &proved.account, password, hash).await
            {
                proved.version = Some(version);
            }
            request.prove(proved, named.attempt).await
        })
    }
}

fn unavailable(error: HashingError) -> Problem {
    if error != HashingError::Busy {
        tracing::error!(%error, "a password could not be verified");
    }
    UNAVAILABLE
}

/// Hashes a password as it is done today, where it was hashed in another way, and returns the version
/// of the account that has the new hash. A failure keeps no person out: the next sign-in will do.
async fn rehash(
    request: &StepRequest<'_>,
    account: &str,
    password: domain::password::Password,
    from: PasswordHash,
) -> Option<i64> {
    let (app, context) = (request.app, &request.opened.context);
    let phc = app.crypto.hashing.hash(password, draw(&*app.dice)).await.ok()?;
    let rehash = Command::Rehash { from, to: PasswordHash::new(phc) };
    let rehashed = app.entities.accounts.ask(context, account, rehash).await.ok()?;
    Some(rehashed.version)
}
