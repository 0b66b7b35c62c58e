//! Pages for what cannot go on: what happened, that nothing was changed, and what to do next.

use super::{Screen, shell::Shell};
use crate::http::{answer::error::Problem, routes};
use askama::Template;
use axum::{
    http::{HeaderMap, StatusCode, header},
    response::Response,
};

#[derive(Template)]
#[template(path = "trouble.html")]
struct TroublePage<'a> {
    page: &'a Shell<'a>,
    title: String,
    text: String,
    way_on: &'static str,
    action: String,
}

/// What can be said of a problem: its title, what to do, and where that begins.
struct Advice {
    title: &'static str,
    text: &'static str,
    action: &'static str,
    way_on: &'static str,
}

/// Draws the page of a flow that cannot be opened, or of a form that cannot be taken.
pub fn page(shell: &Shell<'_>, screen: Screen, problem: &Problem, headers: &HeaderMap) -> Response {
    let again = |title, text| Advice { title, text, action: "start-again", way_on: screen.path };
    let blocked = !headers.contains_key(header::COOKIE);
    let advice = match problem.code {
        "flow_expired" => again("expired-title", "expired-text"),
        "flow_over" => again("over-title", "over-text"),
        "wrong_channel" if blocked => again("cookies-title", "cookies-text"),
        "wrong_channel" => again("other-browser-title", "other-browser-text"),
        "flow_not_found" => again("unknown-title", "unknown-text"),
        "invitation_not_valid" => again("invitation-void-title", "invitation-void-text"),
        "recovery_not_valid" => again("recovery-void-title", "recovery-void-text"),
        "organization_suspended" => again("suspended-title", "suspended-text"),
        "sign_up_closed" => Advice {
            title: "sign-up-closed-title",
            text: "sign-up-closed-text",
            action: "sign-in",
            way_on: routes::SIGN_IN,
        },
        "too_many_requests" => again("busy-title", "too-many-text"),
        "foreign_origin" => again("foreign-title", "foreign-text"),
        _ if problem.status.is_server_error() => again("busy-title", "busy-text"),
        _ => again("unknown-title", "unknown-text"),
    };
    // That people make no accounts for themselves here is an answer, and no mistake.
    let status = match problem.code {
        "sign_up_closed" => StatusCode::OK,
        _ => problem.status,
    };
    let drawn = TroublePage {
        page: shell,
        title: shell.t(advice.title),
        text: shell.with(advice.text, "host", &shell.host()),
        way_on: advice.way_on,
        action: shell.t(advice.action),
    };
    shell.respond(status, &drawn)
}
