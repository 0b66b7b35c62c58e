//! A link that was mailed leads here; its button presents it, and no GET does.

use super::FlowPage;
use crate::http::screens::shell::Shell;
use askama::Template;
use axum::{http::StatusCode, response::Response};

#[derive(Template)]
#[template(path = "flow/link.html")]
struct LinkPage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
}

pub fn draw(page: &Shell<'_>, flow: &FlowPage<'_>) -> Response {
    page.respond(StatusCode::OK, &LinkPage { page, flow })
}
