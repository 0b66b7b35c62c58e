//! That the address of an account is its person's: a code is sent to it, once they ask for it.

use super::{
    FlowPage,
    credential::{OtherWay, others},
};
use crate::http::screens::shell::Shell;
use askama::Template;
use axum::{http::StatusCode, response::Response};

#[derive(Template)]
#[template(path = "flow/verify_email.html")]
struct VerifyPage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
    ways: Vec<OtherWay>,
}

pub fn draw(page: &Shell<'_>, flow: &FlowPage<'_>) -> Response {
    let ways = others(page, flow, "email_code");
    page.respond(StatusCode::OK, &VerifyPage { page, flow, ways })
}
