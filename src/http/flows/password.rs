//! `password`: known and unknown identifiers cost the same, and say the same.
//!
//! 1. the attempt is charged to the identifier, whether or not anybody has it;
//! 2. the account is looked up, and read: a decoy where there is none;
//! 3. the password is hashed once: against a decoy where there is nothing to compare it with;
//! 4. the flow hears whether it was right.

use super::{
    ending::{self, Proved},
    opened::{FlowId, Opened},
    problems::{INVALID_CREDENTIALS, NOT_NOW, UNAVAILABLE, invalid},
};
use crate::{
    actors::{Seen, hashing::HashingError},
    crypto::draw,
    domain::{
        Secret,
        account::{Account, Command, EMAIL_ADDRESSES, PasswordHash, normalise_email},
        assurance::{Evidence, Method},
        flow::{Stage, Step},
        grant::Person,
    },
    http::{
        answer::error::Problem,
        app::App,
        extract::{json::ProblemPosted, origin::Origin},
        limits::purpose::Purpose,
    },
};
use axum::{extract::State, response::Response};
use serde_json::Value;
use std::sync::Arc;

const LONGEST: usize = 1_024;

/// No account has this id, and reading it costs what reading one does.
const DECOY: &str = "00000000-0000-0000-0000-000000000000";

pub async fn post(
    State(app): State<App>,
    FlowId(id): FlowId,
    Origin(address): Origin,
    mut posted: ProblemPosted,
) -> Result<Response, Problem> {
    let opened = Opened::of(&app, id, &posted.headers)?;
    let password = match posted.body.remove("password") {
        Some(Value::String(text)) if (1..=LONGEST).contains(&text.len()) => Secret::new(text),
        Some(Value::String(_)) => return Err(invalid("the password has 1 to 1024 bytes")),
        _ => return Err(invalid("the member password is missing")),
    };
    app.pace.take(Purpose::Credential, address, app.clock.now())?;
    let open = opened.look(&app).await?;
    let identifier = open.identifier.filter(|_| open.stage == Stage::Credential).ok_or(NOT_NOW)?;
    // What is no address is nobody's, and costs the same.
    let address = normalise_email(&identifier).unwrap_or_else(|| identifier.to_lowercase());
    let attempt = app.attempts.charge("password", &address).await?;
    let account = find(&app, &address).await?;
    let known = account.machine.known();
    let phc = known.and_then(|known| known.password.as_ref()).map(|hash| hash.expose().to_owned());
    let verdict = match app.hashing.verify_or_decoy(password.clone(), phc).await {
        Ok(verdict) => verdict,
        Err(error) => {
            if error != HashingError::Busy {
                tracing::error!(%error, "a password could not be verified");
            }
            // Whoever was not even compared with anything has not failed.
            attempt.refund().await;
            return Err(UNAVAILABLE);
        }
    };
    let second_factor = known.is_some_and(|known| known.totp.is_some());
    let account = known.map(|known| known.id.clone());
    let Some(account) = account.clone().filter(|_| verdict.matches) else {
        opened.ask(&app, Step::Disprove { account }).await?;
        return Err(INVALID_CREDENTIALS);
    };
    // Not before it is right: nobody clears what somebody else was charged for.
    attempt.clear().await;
    if let Some(hash) = known.and_then(|known| known.password.clone())
        && verdict.needs_rehash
    {
        rehash(&app, &account, password, hash).await;
    }
    let evidence = Evidence::of(Method::Password, app.clock.now());
    let person = Person { account, evidence };
    ending::proceed(&app, &opened, Proved { account: &person.account, chosen: None }, |facts| {
        let ending::Facts { situation, fresh } = facts;
        Step::Prove { person: person.clone(), second_factor, facts: situation, fresh }
    })
    .await
}

/// Hashes a password as it is done today, where it came from elsewhere or from another day: until
/// then it takes another time to verify than anybody else's.
async fn rehash(app: &App, account: &str, password: Secret, from: PasswordHash) {
    // Whoever is signing in is not kept out by a failure of this; the next time will do.
    let Ok(phc) = app.hashing.hash(password, draw(&*app.dice)).await else { return };
    let rehash = Command::Rehash { from, to: PasswordHash::new(phc) };
    app.account_entities.ask(account, rehash).await.ok();
}

/// Finds the account of an address, with as many readings where there is none.
async fn find(app: &App, address: &str) -> Result<Arc<Seen<Account>>, Problem> {
    let holder = app.store.find(EMAIL_ADDRESSES, address).await?;
    let id = holder.map_or_else(|| DECOY.to_owned(), |(_, id)| id);
    Ok(app.accounts.peek(&id).await?)
}
