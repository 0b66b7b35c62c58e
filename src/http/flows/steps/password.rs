//! `password`: known and unknown identifiers cost the same, and get the same answer.
//!
//! 1. the attempt is charged to the identifier, whether or not an account has it;
//! 2. the account is looked up, and read: a decoy where there is none;
//! 3. the password is hashed once: against a decoy where there is nothing to compare it with;
//! 4. the flow is told whether it was right.

use super::{Step, StepRequest, Taking};
use crate::{
    actors::hashing::HashingError,
    crypto::draw,
    domain::{
        Secret,
        account::{Command, PasswordHash},
        assurance::Worth,
        flow::{ProofStep, Role},
    },
    http::{app::App, flows::problems::UNAVAILABLE, limits::purpose::Purpose},
};
use serde::Deserialize;

const LONGEST: usize = 1_024;

/// The name of the step, under which attempts are counted.
pub(super) const NAME: &str = "password";

pub struct Password;

#[derive(Deserialize)]
struct Body {
    password: Given,
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Given(Secret);

impl TryFrom<String> for Given {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if (1..=LONGEST).contains(&text.len()) {
            Ok(Self(Secret::new(text)))
        } else {
            Err("has 1 to 1024 bytes")
        }
    }
}

impl Step for Password {
    fn path(&self) -> &'static str {
        NAME
    }

    fn proof(&self) -> Option<ProofStep> {
        Some(ProofStep { name: self.path(), worth: Worth::PASSWORD, role: Role::First })
    }

    fn take<'a>(&'a self, mut request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(async move {
            let app = request.app;
            let Body { password: Given(password) } = request.body()?;
            request.charge(Purpose::Credential)?;
            let named = request.named(self).await?;
            let hash = named.account().and_then(|known| known.credentials.password()).cloned();
            let phc = hash.as_ref().map(|hash| hash.expose().to_owned());
            let verified = app.hashing.verify_or_decoy(password.clone(), phc).await;
            let verdict = verified.map_err(|error| {
                if error != HashingError::Busy {
                    tracing::error!(%error, "a password could not be verified");
                }
                UNAVAILABLE
            })?;
            let right = named.proved(self).zip(hash).filter(|_| verdict.matches);
            let Some((mut proved, hash)) = right else {
                return request.disprove(self, named).await;
            };
            if verdict.needs_rehash
                && let Some(version) = rehash(app, &proved.account, password, hash).await
            {
                proved.version = version;
            }
            request.prove(proved, named.attempt, None).await
        })
    }
}

/// Hashes a password as it is done today, where it was hashed in another way, and returns the version
/// of the account that has the new hash. A failure keeps no person out: the next sign-in will do.
async fn rehash(app: &App, account: &str, password: Secret, from: PasswordHash) -> Option<i64> {
    let phc = app.hashing.hash(password, draw(&*app.dice)).await.ok()?;
    let to = PasswordHash::new(phc);
    let rehash = Command::Rehash { from, to: to.clone() };
    app.account_entities.ask(account, rehash).await.ok()?;
    let seen = app.accounts.peek(account).await.ok()?;
    let held = seen.machine.known().and_then(|known| known.credentials.password());
    (held == Some(&to)).then_some(seen.version)
}
