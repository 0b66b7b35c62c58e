//! `GET /flows/{id}`: shows a flow to whoever began it.

use super::{
    document::{Document, Shown},
    opened::{FlowId, read},
    problems::{EXPIRED, UNAVAILABLE},
    ticket::Ticket,
};
use crate::{
    domain::{Machine as _, flow::Flow},
    http::{App, error::Problem, visitor::Visitor},
};
use axum::{extract::State, http::HeaderMap};

pub async fn get(
    State(app): State<App>,
    FlowId(id): FlowId,
    headers: HeaderMap,
) -> Result<Document, Problem> {
    let _place = app.arrivals.work()?;
    let visitor = Visitor::of(&headers, app.cookies);
    let (name, seed) = match read(&app, &id, &visitor)? {
        (_, Ticket::Over(over)) if app.clock.now() >= over.expires_at => return Err(EXPIRED),
        (_, Ticket::Over(over)) => return Ok(Document::over(&app, &id, &over, None).await),
        (name, Ticket::Begun(seed)) => (name, seed),
    };
    if app.clock.now() >= seed.expires_at {
        return Err(EXPIRED);
    }
    // Nobody is woken to be looked at, least of all for a flow that nothing was done in.
    let row = app.store.load(Flow::KIND, &name).await?;
    let flow = match row {
        None => Flow::Unborn,
        Some(row) if row.revision > Flow::REVISION.into() => return Err(UNAVAILABLE),
        Some(row) => serde_json::from_str(&row.state).map_err(|_| UNAVAILABLE)?,
    };
    let shown = Shown { id: &id, seed: &seed, flow: &flow, outcome: None };
    Ok(Document::of(&app, shown).await?)
}
