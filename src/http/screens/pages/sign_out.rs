//! Whether a person wants to sign out.

use super::{FlowPage, over};
use crate::http::{routes, screens::shell::Shell};
use askama::Template;
use axum::{http::StatusCode, response::Response};

#[derive(Template)]
#[template(path = "flow/sign_out.html")]
struct SignOutPage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
}

pub fn draw(page: &Shell<'_>, flow: &FlowPage<'_>) -> Response {
    page.respond(StatusCode::OK, &SignOutPage { page, flow })
}

/// Says to a person without a session that there is nothing to sign out of.
pub fn signed_out(page: &Shell<'_>) -> Response {
    let said = ["signed-out-title", "signed-out-text", "sign-in-again"];
    over::say(page, said, routes::SIGN_IN.to_owned())
}
