//! Whether it was not the person of whom an alert told. The page names no account: the link is no proof.

use super::{FlowPage, over};
use crate::http::{routes, screens::shell::Shell};
use askama::Template;
use axum::{http::StatusCode, response::Response};

#[derive(Template)]
#[template(path = "flow/report.html")]
struct ReportPage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
}

pub fn draw(page: &Shell<'_>, flow: &FlowPage<'_>) -> Response {
    page.respond(StatusCode::OK, &ReportPage { page, flow })
}

/// Says that nothing has changed.
pub fn denied(page: &Shell<'_>) -> Response {
    let said = ["report-denied-title", "report-denied-text", "to-account"];
    over::say(page, said, routes::ACCOUNT.to_owned())
}
