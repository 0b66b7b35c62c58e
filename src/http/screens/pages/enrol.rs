//! A new credential: a passkey first, a password, an authenticator application, or none.

use super::{FlowPage, credential, totp_enrolment};
use crate::http::screens::shell::Shell;
use askama::Template;
use axum::{http::StatusCode, response::Response};

#[derive(Template)]
#[template(path = "flow/enrol.html")]
struct EnrolPage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
    title: String,
    text: String,
    /// The page asks for a password, and not for a passkey.
    password: bool,
    /// The way back of a person who only looks.
    back: Option<&'a str>,
}

pub async fn draw(page: &Shell<'_>, flow: &FlowPage<'_>) -> Response {
    if flow.offers("totp/options") {
        return totp_enrolment::draw(page, flow).await;
    }
    if flow.way.as_deref() == Some("recovery_code") && flow.offers("recovery_code") {
        return credential::draw(page, flow);
    }
    let passkey = flow.offers("passkey/create");
    let named = flow.way.as_deref() == Some("new_password") && flow.offers("new_password");
    let password = named || !passkey;
    let kind = &*flow.document.kind;
    let (title, text) = match (kind, password) {
        // By mail alone a password is all that changes (contract §6).
        ("recovery" | "report", true) if !passkey => ("new-password-title", "recovery-by-mail"),
        ("recovery" | "report", true) => ("new-password-title", "recovery-ends-sessions"),
        ("recovery" | "report", false) => ("new-passkey-title", "recovery-ends-sessions"),
        (_, true) => ("new-password-title", "new-password-text"),
        (_, false) => ("new-passkey-title", "new-passkey-text"),
    };
    let (title, text) = (page.t(title), page.t(text));
    let back = (kind == "enroll_passkey").then(|| super::back(flow.document));
    page.respond(StatusCode::OK, &EnrolPage { page, flow, title, text, password, back })
}
