//! `POST /flows`: begins a flow without a client.

use super::{
    document::{Document, Shown, expiry},
    problems::invalid,
    ticket::Ticket,
};
use crate::{
    domain::flow::{Flow, Kind, Seed},
    http::{
        answer::error::Problem,
        app::App,
        extract::{
            cookies::with_cookie,
            json::ProblemPosted,
            origin::Origin,
            request_source::{RequestSource, refuse_foreign_pages},
        },
        limits::purpose::Purpose,
    },
};
use axum::{extract::State, http::StatusCode, response::Response};

pub async fn post(
    State(app): State<App>,
    Origin(address): Origin,
    posted: ProblemPosted,
) -> Result<Response, Problem> {
    refuse_foreign_pages(&app, &posted.headers)?;
    app.pace.take(Purpose::Flow, address, app.clock.now())?;
    let wanted = posted.body.get("kind").and_then(|kind| kind.as_str());
    let wanted = wanted.ok_or(invalid("the member kind is missing"))?;
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == wanted);
    let kind = kind.ok_or(invalid("there is no such kind of flow"))?;
    // Whoever posts JSON is a program, unless a browser says that it is one.
    let mut source = RequestSource::of(&posted.headers, app.cookies);
    source.is_browser = source.has_scripts;
    let (channel, cookie) = source.channel(app.cookies, &*app.dice);
    let seed = Seed { kind, channel, expires_at: expiry(&app), request: None, signed_in: None };
    let id = Ticket::Begun(Box::new(seed.clone())).seal(&app.vault.now(), &*app.dice);
    let shown = Shown { id: &id, seed: &seed, flow: &Flow::Unborn, outcome: None };
    let document = Document::of(&app, shown).await?;
    Ok(with_cookie((StatusCode::CREATED, document), cookie))
}
