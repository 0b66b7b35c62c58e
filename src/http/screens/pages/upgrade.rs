//! A passkey that is offered to a person who came by a password, and that it is there.

use super::FlowPage;
use crate::http::screens::shell::Shell;
use askama::Template;
use axum::{http::StatusCode, response::Response};

#[derive(Template)]
#[template(path = "flow/upgrade.html")]
struct UpgradePage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
    /// The passkey was made, and the person has seen their recovery codes.
    made: bool,
    title: String,
}

/// Tells whether a passkey is offered beside a sign-in, or was just made while a client waits.
pub fn is_offer(flow: &FlowPage<'_>) -> bool {
    let only = flow.document.steps.len() == 1;
    flow.offers("skip") && (only || flow.document.kind == "sign_in")
}

pub fn draw(page: &Shell<'_>, flow: &FlowPage<'_>) -> Response {
    let made = !flow.offers("passkey/create");
    let title = page.t(if made { "upgraded-title" } else { "upgrade-title" });
    page.respond(StatusCode::OK, &UpgradePage { page, flow, made, title })
}
