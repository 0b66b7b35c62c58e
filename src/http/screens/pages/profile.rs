//! What a person says of themselves who makes an account, or accepts an invitation with a new one.

use super::FlowPage;
use crate::http::screens::shell::Shell;
use askama::Template;
use axum::{http::StatusCode, response::Response};

#[derive(Template)]
#[template(path = "profile.html")]
struct ProfilePage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
    title: String,
    /// The title, as HTML.
    heading: String,
}

pub fn draw(page: &Shell<'_>, flow: &FlowPage<'_>) -> Response {
    let (title, heading) = match flow.joins() {
        None => (page.t("create-account"), page.t("create-account")),
        Some(organization) => (
            page.with("join-title", "organization", organization),
            page.html("join-title", "organization", organization),
        ),
    };
    page.respond(StatusCode::OK, &ProfilePage { page, flow, title, heading })
}
