//! Whether a person wants to sign out.

use super::FlowPage;
use crate::http::{routes, screens::shell::Shell};
use askama::Template;
use axum::{http::StatusCode, response::Response};

#[derive(Template)]
#[template(path = "sign_out.html")]
struct SignOutPage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
}

pub fn draw(page: &Shell<'_>, flow: &FlowPage<'_>) -> Response {
    page.respond(StatusCode::OK, &SignOutPage { page, flow })
}

#[derive(Template)]
#[template(path = "over.html")]
struct SignedOutPage<'a> {
    page: &'a Shell<'a>,
    title: String,
    text: String,
    action: String,
    way_on: String,
}

/// Says to a person without a session that there is nothing to sign out of.
pub fn signed_out(page: &Shell<'_>) -> Response {
    let drawn = SignedOutPage {
        page,
        title: page.t("signed-out-title"),
        text: page.t("signed-out-text"),
        action: page.t("sign-in-again"),
        way_on: routes::SIGN_IN.to_owned(),
    };
    page.respond(StatusCode::OK, &drawn)
}
