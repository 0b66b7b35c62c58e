//! `GET, POST /connect/sso/{id}/callback`: a provider sends the browser back (OpenID Connect Core §3.1.2.5).
//!
//! 1. The flow is found by the `state` of the answer, and must wait for it at this very connection.
//! 2. The browser must hold the flow by its cookie. Else it is 400: nothing of the address is shown, nothing is spent.
//!    So an answer that another browser began (login CSRF), one that was taken before, and one of another connection
//!    (mix-up) come to nothing.
//! 3. The answer is the step `sso` of that flow. Whatever comes of it, the browser goes on to the flow's page; a refusal is
//!    named there.
//! 4. A form of another site brings no cookie: the browser is sent on to a link ([`posted_answer`]).

use super::{ConnectionId, posted_answer};
use crate::{
    domain::{Actor, Context, upstream::Callback},
    http::{
        answer::{
            error::Problem, private_json, redirect::see_other, response_summary::ResponseSummary,
        },
        app::App,
        extract::{
            context::RequestContext, cookies::with_cookies, form, origin::Origin,
            request_source::RequestSource,
        },
        flows::{
            FlowAnswer, OpenedFlow, StepOutcome, callback_result, path_of,
            sign_on::{WaitingFlow, redirect_uri, trial},
            steps::{StepRequest, Steps},
        },
        limits::purpose::Purpose,
        people::session,
        routes,
    },
};
use axum::{
    Extension,
    extract::{RawQuery, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode},
    response::{IntoResponse as _, Response},
    routing::{self, MethodRouter},
};
use serde_json::Map;
use std::net::IpAddr;

/// One sentence for every reason: what is wrong with an answer is not for the one who brings it.
const REFUSED: Problem = Problem::new(
    StatusCode::BAD_REQUEST,
    "callback_refused",
    "no sign-in of this browser waits for this answer: begin again",
);

const NO_PAGE: Problem = Problem::new(
    StatusCode::BAD_REQUEST,
    "no_sign_in_page",
    "there is no sign-in page here: the operator has to set links.sign_in",
);

/// Serves links and forms.
pub fn methods() -> MethodRouter<App> {
    routing::get(get).head(head).post(post)
}

/// RFC 9110 §9.2.1: a caller that only looks at a link spends nothing.
async fn head() -> StatusCode {
    StatusCode::OK
}

async fn get(
    State(app): State<App>,
    Extension(steps): Extension<Steps>,
    RequestContext(context): RequestContext,
    Origin(address): Origin,
    ConnectionId(connection): ConnectionId,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let returning = ReturningBrowser { app: &app, steps: &steps, address, headers: &headers };
    let query = query.unwrap_or_default();
    Box::pin(returning.take(context, &connection, &query)).await.unwrap_or_else(refuse)
}

async fn post(
    State(app): State<App>,
    Origin(address): Origin,
    ConnectionId(connection): ConnectionId,
    request: Request,
) -> Response {
    pass_on(&app, address, &connection, request).await.unwrap_or_else(refuse)
}

/// Sends the browser on to a link with what a form has brought.
async fn pass_on(
    app: &App,
    address: IpAddr,
    connection: &str,
    request: Request,
) -> Result<Response, Problem> {
    app.limits.pace.take(Purpose::Authorize, address, app.clock.now())?;
    let (head, body) = request.into_parts();
    let (body, _permit) = form::arrived(&head, body, app).await?;
    let body = std::str::from_utf8(&body).map_err(|_| REFUSED)?;
    let callback = Callback::read(body).map_err(|_| REFUSED)?;
    let state = callback.state();
    if WaitingFlow::find(app, state, connection).await?.is_none() {
        trial::waiting(app, state, connection).await?.ok_or(REFUSED)?;
    }
    let query = posted_answer::seal(app, connection, &callback).ok_or(REFUSED)?;
    let path = routes::of_connection("", routes::SSO_CALLBACK, connection);
    Ok(see_other(&format!("{path}?{query}"))?)
}

/// A browser that comes back from a provider.
struct ReturningBrowser<'a> {
    app: &'a App,
    steps: &'a Steps,
    address: IpAddr,
    headers: &'a HeaderMap,
}

impl ReturningBrowser<'_> {
    async fn take(
        &self,
        context: Context,
        connection: &str,
        query: &str,
    ) -> Result<Response, Problem> {
        let app = self.app;
        app.limits.pace.take(Purpose::Authorize, self.address, app.clock.now())?;
        let _permit = app.limits.request_permits.work(self.address)?;
        let posted = if posted_answer::is_one(query) {
            Some(posted_answer::open(app, connection, query).ok_or(REFUSED)?)
        } else {
            None
        };
        let query = posted.as_ref().map_or(query, |posted| posted.as_str());
        let callback = Callback::read(query).map_err(|_| REFUSED)?;
        let waiting = WaitingFlow::find(app, callback.state(), connection).await?;
        let Some(waiting) = waiting else {
            return self.complete_trial(context, connection, &callback).await;
        };
        let source = RequestSource::of(self.headers, app.settings.cookies).of_page();
        if !source.holds(waiting.channel) {
            return Err(REFUSED);
        }
        if !app.settings.screens && app.settings.links.sign_in.is_none() {
            return Err(NO_PAGE);
        }
        let opened = OpenedFlow::of_page(app, context, waiting.id, self.headers)?;
        let step = self.steps.find("sso").ok_or(REFUSED)?;
        let address = format!("{}?{query}", redirect_uri(app, connection));
        let members = Map::from_iter([("callback".to_owned(), address.into())]);
        let request = StepRequest::new(app, &opened, self.address, members);
        match step.take(request).await {
            Ok(StepOutcome::Flow(answer)) => self.follow(&opened, *answer),
            Ok(StepOutcome::Options(_)) => Err(REFUSED),
            Err(problem) => self.name(&opened, &problem),
        }
    }

    /// Takes the answer to a trial from the session that began it, and shows what the trial would have become.
    async fn complete_trial(
        &self,
        context: Context,
        connection: &str,
        callback: &Callback,
    ) -> Result<Response, Problem> {
        let app = self.app;
        let pending = trial::waiting(app, callback.state(), connection).await?.ok_or(REFUSED)?;
        let source = RequestSource::of(self.headers, app.settings.cookies);
        let present = session::find(app, &context, &source, true).await?;
        let present = present.filter(|present| present.id == pending.session).ok_or(REFUSED)?;
        let seen = app.views.connections.look_anew(connection).await?;
        let known = seen.machine.known().ok_or(REFUSED)?;
        let context = context.by(Actor::Person(present.person.account));
        let slug = pending.organization.clone();
        let report = trial::complete(app, &context, (known, pending), callback).await?;
        if !app.settings.screens || source.wants_json {
            return Ok(private_json(&report));
        }
        let query = [("organization", &*slug), ("section", "connections"), ("id", connection)];
        Ok(see_other(&app.page(None, routes::ORGANIZATION, &query))?)
    }

    /// Leads to the page of the flow.
    fn follow(&self, opened: &OpenedFlow, answer: FlowAnswer) -> Result<Response, Problem> {
        let FlowAnswer { document, cookies } = answer;
        let result = callback_result::carry(self.app, &opened.name, &document);
        let path = path_of(&document.kind, document.state);
        self.lead(path, &[("flow", &document.id)], cookies.into_iter().chain(result))
    }

    /// Leads to the page of the flow, which names what was refused.
    fn name(&self, opened: &OpenedFlow, problem: &Problem) -> Result<Response, Problem> {
        let wait = problem.retry_after.map(|wait| wait.seconds().to_string());
        let mut query = vec![("flow", &*opened.id), ("step", "sso"), ("problem", problem.code)];
        query.extend(wait.as_deref().map(|wait| ("wait", wait)));
        self.lead(path_of(&opened.seed.kind, ""), &query, None)
    }

    fn lead(
        &self,
        path: &str,
        query: &[(&str, &str)],
        cookies: impl IntoIterator<Item = HeaderValue>,
    ) -> Result<Response, Problem> {
        let page = self.app.page(self.app.settings.links.sign_in.as_ref(), path, query);
        Ok(with_cookies(see_other(&page)?, cookies))
    }
}

fn refuse(problem: Problem) -> Response {
    let lost = problem == REFUSED;
    let mut response = problem.into_response();
    if lost {
        response.extensions_mut().insert(ResponseSummary::LostSignOn);
    }
    response
}
