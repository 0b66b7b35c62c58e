//! What a person says of themselves who makes an account, or accepts an invitation with a new one.

use super::FlowPage;
use crate::http::screens::shell::Shell;
use askama::Template;
use axum::{http::StatusCode, response::Response};

#[derive(Template)]
#[template(path = "flow/profile.html")]
struct ProfilePage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
    title: String,
    /// The title, as HTML.
    heading: String,
    /// What is filled in.
    given_name: &'a str,
    family_name: &'a str,
    email: &'a str,
}

pub fn draw(page: &Shell<'_>, flow: &FlowPage<'_>) -> Response {
    let (title, heading) = match flow.joins() {
        None => (page.t("create-account"), page.t("create-account")),
        Some(organization) => (
            page.with("join-title", "organization", organization),
            page.html("join-title", "organization", organization),
        ),
    };
    let (typed, said) = (flow.typed.as_ref(), flow.document.applicant.as_deref());
    let (given_name, family_name, email) = match (typed, said) {
        (Some(typed), _) => (&*typed.given_name, &*typed.family_name, &*typed.email),
        (None, Some(said)) => {
            let (given, family) = (said.given_name.as_deref(), said.family_name.as_deref());
            (given.unwrap_or_default(), family.unwrap_or_default(), flow.identifier())
        }
        // What another provider calls them is filled in, and proves nothing.
        (None, None) => {
            let identity = flow.document.identity.as_ref();
            let asserted = identity.and_then(|one| one.email.as_deref());
            ("", "", asserted.unwrap_or_else(|| flow.identifier()))
        }
    };
    // The address of an invitation is fixed.
    let email = if flow.joins().is_some() { flow.identifier() } else { email };
    let drawn = ProfilePage { page, flow, title, heading, given_name, family_name, email };
    page.respond(StatusCode::OK, &drawn)
}
