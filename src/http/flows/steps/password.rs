//! `password`: known and unknown identifiers cost the same, and get the same answer.
//!
//! 1. the attempt is charged to the identifier, whether or not an account has it;
//! 2. the account is looked up, and read: a decoy where there is none;
//! 3. the password is hashed once: against a decoy where there is nothing to compare it with;
//! 4. the flow is told whether it was right.

use super::{Step, StepRequest, Taking};
use crate::{
    actors::{Hydrated, hashing::HashingError},
    crypto::draw,
    domain::{
        Secret,
        account::{Account, Command, EMAIL_ADDRESSES, Known, PasswordHash, normalise_email},
        assurance::Worth,
        flow::{ProofStep, Proved, Role},
    },
    http::{
        answer::error::Problem,
        app::App,
        flows::{
            known_browser,
            problems::{NOT_NOW, UNAVAILABLE},
        },
        limits::{
            attempts::{Attempt, NotCharged},
            purpose::Purpose,
        },
    },
};
use serde::Deserialize;
use std::sync::Arc;

const LONGEST: usize = 1_024;

/// No account has this id, and reading it costs what reading one does.
const DECOY: &str = "00000000-0000-0000-0000-000000000000";

/// What attempts against passwords are counted under.
pub(super) const AUTHENTICATOR: &str = "password";

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
        "password"
    }

    fn proof(&self) -> Option<ProofStep> {
        Some(ProofStep { name: self.path(), worth: Worth::PASSWORD, role: Role::First })
    }

    fn take<'a>(&'a self, mut request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(async move {
            let app = request.app;
            let Body { password: Given(password) } = request.body()?;
            request.charge(Purpose::Credential)?;
            let identifier = request.offered(self).await?.identifier.ok_or(NOT_NOW)?;
            // What is not an address belongs to no account, and costs the same.
            let email = normalise_email(&identifier).unwrap_or_else(|| identifier.to_lowercase());
            let attempt = charge(&request, &email).await?;
            let account = find(app, &email).await?;
            let known = account.machine.known();
            let hash = known.and_then(|known| known.credentials.password()).cloned();
            let phc = hash.as_ref().map(|hash| hash.expose().to_owned());
            let verified = app.hashing.verify_or_decoy(password.clone(), phc).await;
            let verdict = verified.map_err(|error| {
                if error != HashingError::Busy {
                    tracing::error!(%error, "a password could not be verified");
                }
                UNAVAILABLE
            })?;
            let Some((known, hash)) = known.zip(hash).filter(|_| verdict.matches) else {
                let account = known.map(|known| known.id.clone());
                return request.disprove(self.path(), account, attempt).await;
            };
            let version = if verdict.needs_rehash {
                rehash(&request, known, password, hash).await.unwrap_or(account.version)
            } else {
                account.version
            };
            let proved = Proved {
                step: self.path(),
                account: known.id.clone(),
                version,
                second_factors: known.credentials.second_factors(),
            };
            request.prove(proved, attempt, None).await
        })
    }
}

/// Charges the attempt to the identifier; a browser in which the person signed in before has an
/// allowance of its own when that one is used up.
async fn charge(request: &StepRequest<'_>, email: &str) -> Result<Attempt, Problem> {
    let (app, context) = (request.app, &request.opened.context);
    let source = &request.opened.source;
    let refused = match app.attempts.charge(context, AUTHENTICATOR, email).await {
        Ok(attempt) => return Ok(attempt),
        Err(NotCharged::Unavailable) => return Err(UNAVAILABLE),
        Err(refused @ NotCharged::TooMany(_)) => refused,
    };
    if source.known_browser.is_none() {
        return Err(refused.into());
    }
    let account = find(app, email).await?;
    let known = account.machine.known();
    match known.and_then(|known| known_browser::find(app, source, known)) {
        Some(browser) => {
            Ok(app.attempts.charge_known_browser(context, AUTHENTICATOR, &browser).await?)
        }
        None => Err(refused.into()),
    }
}

/// Hashes a password as it is done today, where it was hashed in another way, and returns the version
/// of the account that has the new hash. A failure keeps no person out: the next sign-in will do.
async fn rehash(
    request: &StepRequest<'_>,
    known: &Known,
    password: Secret,
    from: PasswordHash,
) -> Option<i64> {
    let (app, context) = (request.app, &request.opened.context);
    let phc = app.hashing.hash(password, draw(&*app.dice)).await.ok()?;
    let to = PasswordHash::new(phc);
    let rehash = Command::Rehash { from, to: to.clone() };
    app.account_entities.ask(context, &known.id, rehash).await.ok()?;
    let seen = app.accounts.peek(&known.id).await.ok()?;
    let held = seen.machine.known().and_then(|known| known.credentials.password());
    (held == Some(&to)).then_some(seen.version)
}

/// Finds the account of an address, with as many readings where there is none.
async fn find(app: &App, email: &str) -> Result<Arc<Hydrated<Account>>, Problem> {
    let holder = app.store.find(EMAIL_ADDRESSES, email).await?;
    let id = holder.map_or_else(|| DECOY.to_owned(), |(_, id)| id);
    Ok(app.accounts.peek(&id).await?)
}
