//! `organization`: the one that tokens will speak for.

use super::{
    ending::{self, Proved},
    opened::{FlowId, Opened},
    problems::{NOT_NOW, invalid},
};
use crate::{
    domain::flow::{Stage, Step},
    http::{answer::error::Problem, app::App, extract::json::ProblemPosted},
};
use axum::{extract::State, response::Response};

pub async fn post(
    State(app): State<App>,
    FlowId(id): FlowId,
    posted: ProblemPosted,
) -> Result<Response, Problem> {
    let opened = Opened::of(&app, id, &posted.headers)?;
    let slug = posted.body.get("organization").and_then(|slug| slug.as_str());
    let slug = slug.ok_or(invalid("the member organization is missing"))?;
    let open = opened.look(&app).await?;
    let person = open.person.filter(|_| open.stage == Stage::Organization).ok_or(NOT_NOW)?;
    let proved = Proved { account: &person.account, chosen: Some(slug) };
    ending::proceed(&app, &opened, proved, |facts| match facts.situation {
        Some(situation) => {
            Step::Choose { organization: slug.to_owned(), facts: situation, fresh: facts.fresh }
        }
        None => Step::Look,
    })
    .await
}
