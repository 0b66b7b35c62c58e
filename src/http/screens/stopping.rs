//! The page that a mail about a recovery leads to: its button stops the recovery, and no GET does.
//!
//! The token is the proof, so there is no flow and no cookie: the holder of the address may read the mail
//! on another device than the one on which the recovery began.

use super::{Screen, leading::to, pages, shell::Shell};
use crate::{
    domain::Context,
    http::{extract::form::Form, flows::stop_by, routes},
};
use askama::Template;
use axum::{http::StatusCode, response::Response};
use std::net::IpAddr;

/// No token of ours is longer: it holds the id of a flow.
const LONGEST: usize = 32_000;

#[derive(Template)]
#[template(path = "end/stop.html")]
struct StopPage<'a> {
    page: &'a Shell<'a>,
    token: &'a str,
    /// What was wrong with the last try.
    error: Option<String>,
}

/// Returns the token by which a recovery is to be stopped, where this screen takes one.
pub fn token(screen: Screen, form: &Form) -> Option<&str> {
    form.get("stop").filter(|token| screen.path == routes::RESET_PASSWORD && token.len() <= LONGEST)
}

/// Asks whether to stop it.
pub fn ask(page: &Shell<'_>, token: &str, query: &Form) -> Response {
    let error = query.get("problem").map(|code| {
        page.t(match code {
            "flow_over" | "flow_expired" | "flow_not_found" => "stop-late",
            "too_many_requests" => "stop-busy",
            _ => "try-again",
        })
    });
    page.respond(StatusCode::OK, &StopPage { page, token, error })
}

/// Stops it.
pub async fn stop(page: &Shell<'_>, caller: (Context, IpAddr), token: &str) -> Response {
    match stop_by(page.app, caller, token).await {
        Ok(()) => {
            let said = ["stopped-title", "stopped-text", "sign-in"];
            pages::say(page, said, routes::SIGN_IN.to_owned())
        }
        Err(problem) => to(routes::RESET_PASSWORD, &[("stop", token), ("problem", problem.code)]),
    }
}
