//! A flow whose id a caller presents, and may go on with.

use super::{
    problems::{NOT_FOUND, WRONG_CHANNEL},
    ticket::Ticket,
};
use crate::{
    actors::Answer,
    domain::flow::{Command, Flow, Open, Refusal, Seed, Step},
    http::{
        answer::error::Problem,
        app::App,
        extract::request_source::{RequestSource, refuse_foreign_pages},
    },
};
use axum::{
    extract::{FromRequestParts, Path},
    http::{HeaderMap, request::Parts},
};

/// The id of a flow in an address; what is not text is the id of no flow.
pub struct FlowId(pub String);

impl FromRequestParts<App> for FlowId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let id = Path::from_request_parts(parts, app).await;
        id.map(|Path(id)| Self(id)).map_err(|_| NOT_FOUND)
    }
}

/// The id of a flow and the path of a step in an address.
pub struct FlowPath {
    pub id: String,
    pub step: String,
}

impl FromRequestParts<App> for FlowPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let path = Path::from_request_parts(parts, app).await;
        path.map(|Path((id, step))| Self { id, step }).map_err(|_| NOT_FOUND)
    }
}

/// A flow and the caller that holds it.
pub struct Opened {
    pub id: String,
    /// What it is kept under.
    pub name: String,
    pub seed: Seed,
    pub source: RequestSource,
}

/// Reads an id, if it is of a flow that this caller began.
pub fn read(app: &App, id: &str, source: &RequestSource) -> Result<(String, Ticket), Problem> {
    let (name, ticket) = Ticket::open(id, &app.vault.now()).ok_or(NOT_FOUND)?;
    if !source.holds(ticket.channel()) {
        return Err(WRONG_CHANNEL);
    }
    Ok((name.to_owned(), ticket))
}

impl Opened {
    /// Opens a flow for a step.
    pub fn of(app: &App, id: String, headers: &HeaderMap) -> Result<Self, Problem> {
        refuse_foreign_pages(app, headers)?;
        let source = RequestSource::of(headers, app.cookies);
        match read(app, &id, &source)? {
            (name, Ticket::Begun(seed)) => Ok(Self { id, name, seed: *seed, source }),
            (_, Ticket::Over(_)) => Err(Refusal::Over.into()),
        }
    }

    pub async fn ask(&self, app: &App, step: Step) -> Answer<Flow> {
        let command = Command { rules: app.flow_rules.clone(), seed: self.seed.clone(), step };
        app.flows.ask(&self.name, command).await
    }

    /// Returns the flow, if it still waits for the person.
    pub async fn look(&self, app: &App) -> Result<Open, Problem> {
        match self.ask(app, Step::Look).await?.flow {
            Flow::Open(open) => Ok(*open),
            Flow::Over(_) | Flow::Unborn => Err(Refusal::Over.into()),
        }
    }
}
