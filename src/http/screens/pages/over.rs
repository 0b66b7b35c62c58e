//! A flow that is over, and what is shown once with its end.

use super::{FlowPage, after, anew, back as back_to, report};
use crate::http::{
    flows::{Document, Outcome},
    routes,
    screens::shell::{Shell, host_of},
};
use askama::Template;
use axum::{http::StatusCode, response::Response};

#[derive(Template)]
#[template(path = "end/over.html")]
struct OverPage<'a> {
    page: &'a Shell<'a>,
    title: String,
    text: String,
    action: String,
    way_on: String,
}

#[derive(Template)]
#[template(path = "end/move_on.html")]
struct MoveOnPage<'a> {
    page: &'a Shell<'a>,
    title: String,
    /// The name of the sentence that says where the person goes.
    text: &'static str,
    host: String,
    to: &'a str,
}

#[derive(Template)]
#[template(path = "flow/recovery_codes.html")]
struct CodesPage<'a> {
    page: &'a Shell<'a>,
    codes: Vec<&'a str>,
    identifier: &'a str,
    way_on: String,
}

/// Says that something is over, in three sentences of these names, and leads on.
pub fn say(page: &Shell<'_>, names: [&str; 3], way_on: String) -> Response {
    say_so(page, names.map(|name| page.t(name)), way_on)
}

/// Says that something is over, and leads on.
pub fn say_so(page: &Shell<'_>, [title, text, action]: [String; 3], way_on: String) -> Response {
    page.respond(StatusCode::OK, &OverPage { page, title, text, action, way_on })
}

/// Says what a flow has come to, to a person who opens its page again.
pub fn draw(page: &Shell<'_>, flow: &FlowPage<'_>) -> Response {
    let document = flow.document;
    let done = document.state == "done";
    // Nothing was proved: the person has said that it was them.
    if document.kind == "report" && done && document.assurance.methods.is_empty() {
        return report::denied(page);
    }
    let back = document.result.as_ref().and_then(|result| result.redirect_to.as_ref());
    let (title, text, action, way_on) = match (&*document.kind, done) {
        ("sign_out", true) => {
            ("signed-out-title", "signed-out-text", "sign-in-again", routes::SIGN_IN)
        }
        ("device", true) => {
            ("device-done-title", "device-done-text", "to-account", routes::ACCOUNT)
        }
        ("device", false) => {
            ("device-denied-title", "device-denied-text", "to-account", routes::ACCOUNT)
        }
        ("approval", true) => {
            ("approve-done-title", "approve-done-text", "to-account", routes::ACCOUNT)
        }
        ("approval", false) if document.lacks_factor => {
            ("approve-factor-title", "approve-factor-text", "to-security", routes::ACCOUNT_SECURITY)
        }
        ("approval", false) => {
            ("approve-denied-title", "approve-denied-text", "to-account", routes::ACCOUNT)
        }
        ("recovery" | "report", true) => {
            ("recovered-title", "recovered-text", "sign-in", routes::SIGN_IN)
        }
        (_, true) => ("done-title", "done-text", "to-account", back_to(document)),
        (_, false) => ("failed-title", "failed-text", "start-again", routes::SIGN_IN),
    };
    let (action, way_on) = match back {
        Some(to) => ("back-to-app", to.to_string()),
        // A client waits for the sign-in that follows.
        None if flow.recovers() => (action, anew(document, way_on)),
        None => (action, way_on.to_owned()),
    };
    say(page, [title, text, action], way_on)
}

/// Leads a person back to the client: browsers hold a redirect after a form to `form-action`.
pub fn move_on(page: &Shell<'_>, document: &Document, to: &str, said_no: bool) -> Response {
    let host = document.client.as_ref().and_then(|client| client.host.clone());
    let host = host.unwrap_or_else(|| host_of(to));
    let (title, text) = match (&*document.kind, &document.client) {
        // A provider by which the person came is told.
        ("sign_out", None) => ("signed-out-title", "sign-out-on-text"),
        _ if said_no => ("denied-title", "move-on-text"),
        _ => ("move-on-title", "move-on-text"),
    };
    page.respond(StatusCode::OK, &MoveOnPage { page, title: page.t(title), text, host, to })
}

/// Leads a person to another provider, of this name, by a page that moves on for the same reason.
pub fn leave_to(page: &Shell<'_>, name: &str, to: &str) -> Response {
    let title = page.with("leave-to-title", "name", name);
    let (text, host) = ("move-on-text", host_of(to));
    page.respond(StatusCode::OK, &MoveOnPage { page, title, text, host, to })
}

/// Shows recovery codes, this once.
pub fn recovery_codes(page: &Shell<'_>, document: &Document, result: &Outcome) -> Response {
    let codes = result.recovery_codes.iter().map(|code| code.as_str()).collect();
    let way_on = match &result.redirect_to {
        Some(to) => to.to_string(),
        None => after(document),
    };
    let identifier = document.identifier.as_deref().unwrap_or_default();
    self::codes(page, codes, identifier, way_on)
}

/// Shows recovery codes of a person, and leads on.
pub fn codes(page: &Shell<'_>, codes: Vec<&str>, identifier: &str, way_on: String) -> Response {
    page.respond(StatusCode::OK, &CodesPage { page, codes, identifier, way_on })
}
