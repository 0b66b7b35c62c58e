//! `GET /flows/{id}`: shows a flow to whoever began it.

use super::{
    document::{Document, Shown},
    opened::read,
    problems::EXPIRED,
    ticket::Ticket,
};
use crate::{
    domain::flow::{Command, Step},
    http::{App, error::Problem, visitor::Visitor},
};
use axum::{
    extract::{Path, State},
    http::HeaderMap,
};

pub async fn get(
    State(app): State<App>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Document, Problem> {
    let visitor = Visitor::of(&headers, app.cookies);
    let (name, seed) = match read(&app, &id, &visitor)? {
        (_, Ticket::Over(over)) if app.clock.now() >= over.expires_at => return Err(EXPIRED),
        (_, Ticket::Over(over)) => return Ok(Document::over(&app, &id, &over, None).await?),
        (name, Ticket::Begun(seed)) => (name, seed),
    };
    let looked = app.flows.ask(&name, Command { seed: (*seed).clone(), step: Step::Look }).await?;
    let shown = Shown { id: &id, seed: &seed, flow: &looked.flow, outcome: None };
    Ok(Document::of(&app, shown).await?)
}
