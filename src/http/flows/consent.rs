//! `consent`: whether a client may act for a person.

use super::{
    ending::{self, Proved},
    opened::{FlowId, Opened},
    problems::{NOT_NOW, invalid},
};
use crate::{
    domain::flow::{Open, Stage, Step},
    http::{answer::error::Problem, app::App, extract::json::ProblemPosted},
};
use axum::{extract::State, response::Response};

pub async fn post(
    State(app): State<App>,
    FlowId(id): FlowId,
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
    let chosen = chosen.as_deref();
    ending::proceed(&app, &opened, Proved { account: &person.account, chosen }, |facts| match facts
        .situation
    {
        Some(situation) => Step::Decide { allow, facts: situation, fresh: facts.fresh },
        None => Step::Look,
    })
    .await
}
