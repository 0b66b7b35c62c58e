//! A request for an approval that waits for a person, and what decides about it.

use crate::{
    actors::HydrateError,
    domain::{
        authorization::AuthorizationFacts,
        backchannel_request::{APPROVALS, BackchannelRequest},
        client::KnownClient,
        flow::ApprovalAsked,
    },
    http::{answer::error::Problem, app::App, authorization::request_facts::FactsReader, clients},
};
use axum::http::StatusCode;

/// How long an id is.
const ID: usize = 22;

pub const NOT_WAITING: Problem = Problem::new(
    StatusCode::NOT_FOUND,
    "approval_not_waiting",
    "no such request waits for the person: it may have expired",
);
pub const ALREADY_DECIDED: Problem =
    Problem::new(StatusCode::CONFLICT, "already_decided", "the request was decided before");
const CLIENT_CHANGED: Problem = Problem::new(
    StatusCode::CONFLICT,
    "client_changed",
    "the application may not ask for this any more",
);

/// Returns what waits for this person under an id; one of another person is as good as none.
pub async fn find(app: &App, id: &str, account: &str) -> Result<ApprovalAsked, Problem> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    // What cannot be an id is not looked up.
    if id.len() != ID || !id.bytes().all(allowed) {
        return Err(NOT_WAITING);
    }
    let seen = app.views.backchannel_requests.peek(id).await?;
    if seen.machine.account() != Some(account) {
        return Err(NOT_WAITING);
    }
    if seen.machine.is_decided() {
        return Err(ALREADY_DECIDED);
    }
    asked(app, id, &seen.machine).ok_or(NOT_WAITING)
}

/// Lists what waits for a person, what ends first first.
pub async fn list(app: &App, account: &str) -> Result<Vec<ApprovalAsked>, HydrateError> {
    let listed = app.views.backchannel_requests.first_page(APPROVALS, account).await?;
    Ok(listed.iter().filter_map(|entry| asked(app, &entry.id, &entry.machine)).collect())
}

fn asked(app: &App, id: &str, request: &BackchannelRequest) -> Option<ApprovalAsked> {
    let pending = request.pending(app.clock.now())?;
    Some(ApprovalAsked { id: id.to_owned(), request: pending.request.clone() })
}

/// Looks up what decides about a request; the client must still be one that may ask.
pub async fn facts(
    app: &App,
    asked: &ApprovalAsked,
    anew: bool,
) -> Result<AuthorizationFacts, Problem> {
    let request = &asked.request;
    let seen = clients::find(app, &request.wanted.client_id, anew).await?;
    let may_ask = |client: &&KnownClient| client.may_ask_by_back_channel().is_ok();
    let client = seen.machine.known().filter(may_ask).ok_or(CLIENT_CHANGED)?;
    let reader = FactsReader {
        app,
        client,
        client_version: seen.version,
        wanted: &request.wanted,
        redirect_uri: None,
        account: &request.account,
        chosen: None,
        anew,
    };
    Ok(Box::pin(reader.gather()).await?)
}
