//! A new credential: a passkey first, a password, an authenticator application, or none.

use super::{FlowPage, totp_enrolment};
use crate::http::screens::shell::Shell;
use askama::Template;
use axum::{http::StatusCode, response::Response};

#[derive(Template)]
#[template(path = "enrol.html")]
struct EnrolPage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
    title: String,
    text: String,
    /// The page asks for a password, and not for a passkey.
    password: bool,
}

pub async fn draw(page: &Shell<'_>, flow: &FlowPage<'_>) -> Response {
    if flow.offers("totp/options") {
        return totp_enrolment::draw(page, flow).await;
    }
    let passkey = flow.offers("passkey/create");
    let named = flow.way.as_deref() == Some("new_password") && flow.offers("new_password");
    let password = named || !passkey;
    let (title, text) = match (&*flow.document.kind, password) {
        ("recovery", true) => ("new-password-title", "recovery-ends-sessions"),
        ("recovery", false) => ("new-passkey-title", "recovery-ends-sessions"),
        (_, true) => ("new-password-title", "new-password-text"),
        (_, false) => ("new-passkey-title", "new-passkey-text"),
    };
    let (title, text) = (page.t(title), page.t(text));
    page.respond(StatusCode::OK, &EnrolPage { page, flow, title, text, password })
}
