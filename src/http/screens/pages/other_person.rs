//! An invitation, and a person who has signed in as another than the one it is for.

use super::FlowPage;
use crate::http::screens::shell::Shell;
use askama::Template;
use axum::{http::StatusCode, response::Response};

#[derive(Template)]
#[template(path = "flow/other_person.html")]
struct OtherPersonPage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
    /// The address that was invited.
    email: &'a str,
}

pub fn draw(page: &Shell<'_>, flow: &FlowPage<'_>) -> Response {
    let invitation = flow.document.invitation.as_ref();
    let email = invitation.map_or("", |invitation| &*invitation.email);
    page.respond(StatusCode::OK, &OtherPersonPage { page, flow, email })
}
