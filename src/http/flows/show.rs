//! `GET /flows/{id}`: shows a flow to the caller that began it.

use super::{
    callback_result,
    document::{Document, FlowView},
    opened::{FlowId, read},
    problems::EXPIRED,
    ticket::Ticket,
};
use crate::{
    domain::Context,
    http::{
        answer::error::Problem,
        app::App,
        extract::{
            context::RequestContext, cookies::with_cookie, origin::Origin,
            request_source::RequestSource,
        },
    },
};
use axum::{extract::State, http::HeaderMap, response::Response};

pub async fn get(
    State(app): State<App>,
    RequestContext(context): RequestContext,
    Origin(address): Origin,
    FlowId(id): FlowId,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let _place = app.limits.request_permits.work(address)?;
    let source = RequestSource::of(&headers, app.settings.cookies);
    let document = look(&app, &context, &id, &source).await?;
    let told = document.is_from_callback.then(|| callback_result::forget(&app));
    Ok(with_cookie(document, told))
}

/// Shows a flow to the caller that began it.
pub async fn look(
    app: &App,
    context: &Context,
    id: &str,
    source: &RequestSource,
) -> Result<Document, Problem> {
    let (name, seed, leaving) = match read(app, id, source)? {
        (_, Ticket::Over(over)) if app.clock.now() >= over.expires_at => return Err(EXPIRED),
        (_, Ticket::Over(over)) => return Ok(Document::over(app, id, &over, None).await),
        (name, Ticket::Begun(seed)) => (name, seed, None),
        (name, Ticket::Leaving(seed, leaving)) => (name, seed, Some(leaving)),
    };
    if app.clock.now() >= seed.expires_at {
        return Err(EXPIRED);
    }
    // A look wakes no actor.
    let seen = app.views.flows.peek(&name).await?;
    let shown = FlowView { id, seed: &seed, flow: &seen.machine, outcome: None };
    let document = Document::of(app, shown).await?;
    let document = document.telling_accounts(app, context, source).await?;
    let document = document.with_callback_result(app, (&name, &seed, &seen.machine), source);
    Ok(match leaving {
        None => document,
        Some(leaving) => document.naming(app, &leaving.client_id).await,
    })
}
