//! Who the person is: an address, or a passkey, which says it itself. A browser that knows who signed
//! in last asks for no address.

use super::{FlowPage, ReturningPerson};
use crate::http::screens::shell::Shell;
use askama::Template;
use axum::{http::StatusCode, response::Response};

#[derive(Template)]
#[template(path = "flow/sign_in.html")]
struct SignInPage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
}

#[derive(Template)]
#[template(path = "flow/welcome_back.html")]
struct WelcomeBackPage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
    person: &'a ReturningPerson,
    /// The first of the ways that the person has.
    first: &'static str,
    sends_mail: bool,
}

pub fn draw(page: &Shell<'_>, flow: &FlowPage<'_>) -> Response {
    let is_other = flow.way.as_deref() == Some("identifier");
    let Some(person) = flow.returning.filter(|_| !is_other) else {
        return page.respond(StatusCode::OK, &SignInPage { page, flow });
    };
    let sends_mail = page.app.channels().mail;
    let first = match person {
        person if person.has_passkey && flow.offers("passkey") => "passkey",
        person if person.has_password => "password",
        _ if sends_mail => "email_code",
        _ => "password",
    };
    page.respond(StatusCode::OK, &WelcomeBackPage { page, flow, person, first, sends_mail })
}
