//! `consent`: whether a client may act for a person.

use super::{
    ending::{self, Proved},
    opened::Opened,
    problems::{NOT_NOW, UNAVAILABLE, invalid},
};
use crate::{
    domain::{
        authorization::Request,
        consent::{Command, Parties},
        flow::{Open, Stage, Step},
        grant::Person,
    },
    http::{App, error::Problem, json::ProblemPosted, situation},
};
use axum::{
    extract::{Path, State},
    response::Response,
};

pub async fn post(
    State(app): State<App>,
    Path(id): Path<String>,
    posted: ProblemPosted,
) -> Result<Response, Problem> {
    let opened = Opened::of(&app, id, &posted.headers)?;
    let allow = match posted.body.get("decision").and_then(|decision| decision.as_str()) {
        Some("allow") => true,
        Some("deny") => false,
        _ => return Err(invalid("the member decision is allow or deny")),
    };
    let Open { person, stage, chosen, .. } = opened.look(&app).await?;
    let person = person.filter(|_| stage == Stage::Consent).ok_or(NOT_NOW)?;
    let request = opened.seed.request.as_ref().ok_or(NOT_NOW)?;
    let chosen = chosen.as_deref();
    if allow {
        remember(&app, request, &person, chosen).await?;
    }
    ending::proceed(&app, &opened, Proved { account: &person.account, chosen }, |facts| match facts
        .situation
    {
        Some(situation) => Step::Decide { allow, situation, fresh: facts.fresh },
        None => Step::Look,
    })
    .await
}

/// Remembers what was allowed, where memory counts.
async fn remember(
    app: &App,
    request: &Request,
    person: &Person,
    chosen: Option<&str>,
) -> Result<(), Problem> {
    let seen = app.clients.look(&request.client_id).await?;
    let Some(client) = seen.machine.known() else { return Err(UNAVAILABLE) };
    if situation::can_be_posed_as(client, &request.redirect_uri) {
        return Ok(());
    }
    let account = &person.account;
    let gathering = situation::Gathering { app, client, request, account, chosen, anew: false };
    let gathered = gathering.gather().await?;
    let wanted = request.organization.as_deref().or(chosen);
    let parties = Parties {
        account: account.clone(),
        client_id: client.client_id.clone(),
        organization: gathered.organization(wanted).map(str::to_owned),
    };
    let give = Command::Give { parties: parties.clone(), scopes: request.scopes.clone() };
    let id = parties.id();
    app.consents.ask(&id, give).await.map_err(|_| UNAVAILABLE)?;
    // Nobody should be asked twice within the second that a view may be old.
    app.consent_views.look_anew(&id).await?;
    Ok(())
}
