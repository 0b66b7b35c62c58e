//! `/sign-in?connection=ID`: a sign-in that begins at a provider, or by a link to it (OpenID Connect Core §4).
//!
//! A flow begins for the organization of the connection, and leads to the provider at once. What a link says beside that
//! decides nothing: `iss` must be the issuer of the connection, `login_hint` is passed on to it, and `target_link_uri` counts
//! only where it is a page of ours.

use super::{Screen, account, leading::to, pages, preferences::Preferences, shell::Shell};
use crate::{
    domain::{
        Context,
        connection::{Known, is_id},
    },
    http::{
        answer::error::Problem,
        app::App,
        extract::{cookies::with_cookies, form::Form, request_source::RequestSource},
        flows::{
            FlowAnswer, OpenedFlow, StepOutcome, Wish, begin_one,
            steps::{StepRequest, Steps},
        },
        routes,
    },
};
use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
    response::Response,
};
use serde_json::{Map, Value};
use std::net::IpAddr;

const OTHER_ISSUER: Problem = Problem::new(
    StatusCode::BAD_REQUEST,
    "invalid_request",
    "a parameter is repeated, or iss is not the issuer of the connection",
);

/// Tells whether a page is asked for so.
pub fn is_one(screen: Screen, query: &Form) -> bool {
    screen.path == routes::SIGN_IN
        && query.get("connection").is_some()
        && query.get("flow").is_none()
}

/// A browser that asks.
pub struct Caller<'a> {
    pub context: Context,
    pub address: IpAddr,
    pub head: &'a Parts,
}

/// Begins the flow, and leads to the provider; back to the page of the flow, where that cannot be asked.
pub async fn begin(
    app: &App,
    Caller { context, address, head }: Caller<'_>,
    query: &Form,
    preferences: Preferences,
) -> Result<Response, Problem> {
    let _permit = app.limits.request_permits.work(address)?;
    let known = connection(app, query.get("connection").unwrap_or_default()).await?;
    let is_its = |iss: &str| iss == known.issuer.as_str();
    if query.has_repetition() || !query.get("iss").is_none_or(is_its) {
        return Err(OTHER_ISSUER);
    }
    let source = RequestSource::of(&head.headers, app.settings.cookies).of_page();
    let wish = Wish {
        kind: "sign_in".to_owned(),
        organization: known.organization.clone(),
        back: query.get("target_link_uri").and_then(|uri| page_of_ours(app, uri)),
        ..Wish::default()
    };
    let begun = begin_one(app, (context.clone(), address), source, wish).await?;
    let FlowAnswer { document, cookies } = begun;
    // The browser is given the key of the flow with this very answer.
    let headers = holding(head, &cookies);
    let opened = OpenedFlow::of_page(app, context, document.id.clone(), &headers)?;
    let hint = query.get("login_hint").map(|hint| ("login_hint", hint));
    let members = [("connection", &*known.id)].into_iter().chain(hint);
    let members: Map<String, Value> =
        members.map(|(name, value)| (name.to_owned(), value.into())).collect();
    let steps = head.extensions.get::<Steps>().cloned().unwrap_or_default();
    let step = steps.find("sso/options").ok_or(Problem::NOT_FOUND)?;
    let page = match step.take(StepRequest::new(app, &opened, address, members)).await {
        Ok(StepOutcome::Options(options)) => {
            let shell = Shell::new(app, preferences, None);
            let to = options.get("redirect_to").and_then(Value::as_str).unwrap_or_default();
            pages::leave_to(&shell, &known.name, to)
        }
        Ok(StepOutcome::Flow(_)) => to(routes::SIGN_IN, &[("flow", &document.id)]),
        Err(problem) => {
            let query = [("flow", &*document.id), ("step", "sso"), ("problem", problem.code)];
            to(routes::SIGN_IN, &query)
        }
    };
    Ok(with_cookies(page, cookies))
}

/// Finds a connection that people can use.
async fn connection(app: &App, id: &str) -> Result<Known, Problem> {
    if !is_id(id) {
        return Err(Problem::NOT_FOUND);
    }
    let seen = app.views.connections.look(id).await?;
    let known = seen.machine.known().cloned().ok_or(Problem::NOT_FOUND)?;
    if let Some(slug) = &known.organization {
        let home = app.views.organizations.look(slug).await?;
        let is_open = home.machine.known().is_some_and(|home| home.enabled);
        return is_open.then_some(known).ok_or(Problem::NOT_FOUND);
    }
    Ok(known)
}

/// Returns the path of a page of ours for people who are signed in; any other address is passed over.
fn page_of_ours(app: &App, uri: &str) -> Option<String> {
    let path = uri.strip_prefix(&*app.issuer)?;
    let is_known = account::Section::of_path(path).is_some() || path == routes::ORGANIZATION;
    is_known.then(|| path.to_owned())
}

/// Returns the headers of a request as the browser would send it now that it has these cookies.
fn holding(head: &Parts, cookies: &[HeaderValue]) -> HeaderMap {
    let mut headers = head.headers.clone();
    let pair = |cookie: &HeaderValue| {
        let pair = cookie.as_bytes().split(|byte| *byte == b';').next()?;
        HeaderValue::from_bytes(pair).ok()
    };
    let held: Vec<HeaderValue> = headers.get_all(header::COOKIE).iter().cloned().collect();
    headers.remove(header::COOKIE);
    for value in cookies.iter().filter_map(pair).chain(held) {
        headers.append(header::COOKIE, value);
    }
    headers
}
