//! What a client asks a person to approve: who asks, in which organization, what exactly, and until when.

use super::{FlowPage, consent::Asked, say};
use crate::{
    http::{routes, screens::shell::Shell},
    wording::quotable,
};
use askama::Template;
use axum::{http::StatusCode, response::Response};

#[derive(Template)]
#[template(path = "approve.html")]
struct ApprovePage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
    /// What the client shows as well.
    message: Option<String>,
    until: String,
    asked: Asked,
}

pub fn draw(page: &Shell<'_>, flow: &FlowPage<'_>) -> Response {
    let approval = flow.document.approval.as_ref();
    // It was decided elsewhere, or its time is over.
    if approval.is_none() {
        let names = ["approve-void-title", "approve-void-text", "to-account"];
        return say(page, names, routes::ACCOUNT.to_owned());
    }
    let message = approval.and_then(|one| one.binding_message.as_deref()).map(quotable);
    // Hours and minutes of an RFC 3339 time.
    let time = approval.and_then(|one| one.expires_at.get(11..16));
    let until = time.map(|time| page.with("approve-until-time", "time", time)).unwrap_or_default();
    let asked = Asked::of(page, flow.document);
    page.respond(StatusCode::OK, &ApprovePage { page, flow, message, until, asked })
}
