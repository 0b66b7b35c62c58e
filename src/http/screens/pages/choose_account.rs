//! Which of the accounts that are signed in here it is (adr/0087).

use super::FlowPage;
use crate::http::screens::shell::Shell;
use askama::Template;
use axum::{http::StatusCode, response::Response};

#[derive(Template)]
#[template(path = "flow/choose_account.html")]
struct ChooseAccountPage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
}

pub fn draw(page: &Shell<'_>, flow: &FlowPage<'_>) -> Response {
    page.respond(StatusCode::OK, &ChooseAccountPage { page, flow })
}
