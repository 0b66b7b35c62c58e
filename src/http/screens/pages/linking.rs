//! Whether a person wants an identity of another provider to be a way to what it is for.

use super::FlowPage;
use crate::{http::screens::shell::Shell, wording::quotable};
use askama::Template;
use axum::{http::StatusCode, response::Response};

#[derive(Template)]
#[template(path = "flow/linking.html")]
struct LinkingPage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
    /// What the provider is called.
    connection: String,
    /// What it calls the person.
    name: String,
}

pub fn draw(page: &Shell<'_>, flow: &FlowPage<'_>) -> Response {
    let identity = flow.document.identity.as_ref();
    let connection = identity.map(|one| quotable(&one.connection.name)).unwrap_or_default();
    let name = identity.map(|one| quotable(one.email.as_ref().unwrap_or(&one.subject)));
    let name = name.unwrap_or_default();
    page.respond(StatusCode::OK, &LinkingPage { page, flow, connection, name })
}
