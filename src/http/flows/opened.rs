//! A flow whose id a caller presents, and may go on with.

use super::{
    problems::{NOT_FOUND, WRONG_CHANNEL},
    sign_on,
    ticket::{SignOutTarget, Ticket},
};
use crate::{
    actors::{Answer, Failure},
    domain::{
        Context,
        flow::{Command, Flow, Open, Refusal, Seed, SignOnOffer, Step},
    },
    http::{
        answer::error::Problem,
        app::App,
        extract::request_source::{RequestSource, check_csrf},
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
pub struct OpenedFlow {
    pub id: String,
    /// What it is kept under.
    pub name: String,
    pub seed: Seed,
    /// Where the person goes after a sign-out.
    pub leaving: Option<SignOutTarget>,
    pub source: RequestSource,
    /// Of the request; who acts is not known from it alone.
    pub context: Context,
    /// The caller can show a person that they may make a passkey now.
    pub offers_passkey: bool,
}

/// Reads an id, if it is of a flow that this caller began.
pub fn read(app: &App, id: &str, source: &RequestSource) -> Result<(String, Ticket), Problem> {
    let (name, ticket) = Ticket::open(id, &app.crypto.vault.now()).ok_or(NOT_FOUND)?;
    if !source.holds(ticket.channel()) {
        return Err(WRONG_CHANNEL);
    }
    Ok((name.to_owned(), ticket))
}

impl OpenedFlow {
    /// Opens a flow for a step.
    pub fn of(
        app: &App,
        context: Context,
        id: String,
        headers: &HeaderMap,
    ) -> Result<Self, Problem> {
        check_csrf(app, headers)?;
        Self::held_by(app, context, id, RequestSource::of(headers, app.settings.cookies))
    }

    /// Opens a flow for the form of a page: what a program began is not for a browser, whatever it
    /// says of itself.
    pub fn of_page(
        app: &App,
        context: Context,
        id: String,
        headers: &HeaderMap,
    ) -> Result<Self, Problem> {
        let source = RequestSource::of(headers, app.settings.cookies).of_page();
        Self::held_by(app, context, id, source)
    }

    fn held_by(
        app: &App,
        context: Context,
        id: String,
        source: RequestSource,
    ) -> Result<Self, Problem> {
        let (name, seed, leaving) = match read(app, &id, &source)? {
            (name, Ticket::Begun(seed)) => (name, *seed, None),
            (name, Ticket::Leaving(seed, leaving)) => (name, *seed, Some(leaving)),
            (_, Ticket::Over(_)) => return Err(Refusal::Over.into()),
        };
        Ok(Self { id, name, seed, leaving, source, context, offers_passkey: false })
    }

    pub async fn ask(&self, app: &App, context: &Context, step: Step) -> Answer<Flow> {
        if app.at_start.has_ended_flow(self.seed.expires_at) {
            return Err(Failure::Refused(Refusal::Over));
        }
        let required = sign_on::of_seed(app, &self.seed).await;
        let required = required.map_err(|_| Failure::Unavailable)?;
        // What is asked of a provider, and what it answers, was offered before.
        let sign_on = match step.name() {
            Some("sso/options" | "sso") if required == SignOnOffer::None => SignOnOffer::Beside,
            _ => required,
        };
        let (rules, seed) = (app.settings.flow_rules.clone(), self.seed.clone());
        let command = Command { rules, seed, step, sign_on };
        app.entities.flows.ask(context, &self.name, command).await
    }

    /// Returns the flow, if it still waits for the person.
    pub async fn look(&self, app: &App) -> Result<Open, Problem> {
        match self.ask(app, &self.context, Step::Look).await?.reply.flow {
            Flow::Open(open) => Ok(*open),
            Flow::Over(_) | Flow::Unborn => Err(Refusal::Over.into()),
        }
    }
}
