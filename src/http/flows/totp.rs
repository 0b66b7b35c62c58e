//! `totp`: a code of the authenticator application that a person has enrolled.

use super::{
    ending::{self, Proved},
    opened::{FlowId, Opened},
    problems::{INVALID_CREDENTIALS, NOT_NOW, UNAVAILABLE, invalid},
};
use crate::{
    actors::Failure,
    crypto::matching_step,
    domain::{
        account::{Command, Known},
        assurance::Method,
        flow::{Stage, Step},
    },
    http::{
        answer::error::Problem,
        app::App,
        extract::{json::ProblemPosted, origin::Origin},
        limits::purpose::Purpose,
    },
};
use axum::{extract::State, response::Response};

/// What secrets of authenticator applications are sealed for.
const PURPOSE: &str = "totp";

pub async fn post(
    State(app): State<App>,
    FlowId(id): FlowId,
    Origin(address): Origin,
    posted: ProblemPosted,
) -> Result<Response, Problem> {
    let opened = Opened::of(&app, id, &posted.headers)?;
    let code = posted.body.get("code").and_then(|code| code.as_str());
    let code = code.ok_or(invalid("the member code is missing"))?;
    app.pace.take(Purpose::Credential, address, app.clock.now())?;
    let open = opened.look(&app).await?;
    let person = open.person.filter(|_| open.stage == Stage::SecondFactor).ok_or(NOT_NOW)?;
    let attempt = app.attempts.charge(PURPOSE, &person.account).await?;
    let seen = app.accounts.look_anew(&person.account).await?;
    let Some(account) = seen.machine.known() else { return Err(UNAVAILABLE) };
    if !is_right(&app, account, code).await? {
        opened.ask(&app, Step::Disprove { account: Some(person.account) }).await?;
        return Err(INVALID_CREDENTIALS);
    }
    attempt.clear().await;
    ending::proceed(&app, &opened, Proved { account: &person.account, chosen: None }, |facts| {
        let ending::Facts { situation, fresh } = facts;
        Step::Confirm { method: Method::Totp, facts: situation, fresh }
    })
    .await
}

/// Tells whether a code is the right one, and spends it.
async fn is_right(app: &App, account: &Known, code: &str) -> Result<bool, Problem> {
    let Some(sealed) = &account.totp else { return Ok(false) };
    let secret = app.vault.now().open(PURPOSE, account.id.as_bytes(), sealed.expose());
    let secret = secret.map_err(|error| {
        tracing::error!(%error, "the secret of an authenticator application cannot be opened");
        UNAVAILABLE
    })?;
    let Some(step) = matching_step(&secret, code, app.clock.now()) else { return Ok(false) };
    match app.account_entities.ask(&account.id, Command::UseTotp { step }).await {
        Ok(_) => Ok(true),
        Err(Failure::Refused(_)) => Ok(false),
        Err(_) => Err(UNAVAILABLE),
    }
}
