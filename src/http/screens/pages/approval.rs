//! What a client asks a person to approve: who asks, in which organization, what exactly, and until when.

use super::{FlowPage, consent::ConsentRequest, say};
use crate::{
    http::{
        authorization::approval::{ALREADY_DECIDED, NOT_WAITING},
        extract::form::Form,
        routes,
        screens::shell::Shell,
    },
    wording::quotable,
};
use askama::Template;
use axum::{http::StatusCode, response::Response};

/// Seconds.
const DAY: u64 = 24 * 60 * 60;

#[derive(Template)]
#[template(path = "flow/approve.html")]
struct ApprovePage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
    /// What the client shows as well.
    message: Option<String>,
    until: String,
    /// When what is allowed ends.
    lasts: String,
    asked: ConsentRequest,
}

pub fn draw(page: &Shell<'_>, flow: &FlowPage<'_>) -> Response {
    let approval = flow.document.approval.as_ref();
    if approval.is_none() {
        return void(page);
    }
    let message = approval.and_then(|one| one.binding_message.as_deref()).map(quotable);
    // Hours and minutes of an RFC 3339 time.
    let time = approval.and_then(|one| one.expires_at.get(11..16));
    let until = time.map(|time| page.with("approve-until-time", "time", time)).unwrap_or_default();
    let lasts = lasts(page, &flow.document.scopes);
    let asked = ConsentRequest::of(page, flow.document);
    page.respond(StatusCode::OK, &ApprovePage { page, flow, message, until, lasts, asked })
}

/// Tells whether a form was refused because nothing waits for the person who sent it.
pub fn is_void(flow: &FlowPage<'_>, query: &Form) -> bool {
    let problem = query.get("problem");
    let void = [NOT_WAITING, ALREADY_DECIDED].iter().any(|void| problem == Some(void.code));
    flow.document.kind == "approval" && void
}

/// It is another person's, was decided elsewhere, or its time is over.
pub fn void(page: &Shell<'_>) -> Response {
    let names = ["approve-void-title", "approve-void-text", "to-account"];
    say(page, names, routes::ACCOUNT.to_owned())
}

/// Says when what is allowed ends: with the session, unless the client may go on without it.
fn lasts(page: &Shell<'_>, scopes: &[String]) -> String {
    if !scopes.iter().any(|scope| scope == "offline_access") {
        return page.t("approve-lasts-session");
    }
    let days = page.app.settings.lifetimes.refresh_ceiling.as_secs().div_ceil(DAY);
    page.count("approve-lasts-days", u32::try_from(days).unwrap_or(u32::MAX))
}
