//! For which organization a person acts.

use super::FlowPage;
use crate::{domain::authorization::Choice, http::screens::shell::Shell, wording::quotable};
use askama::Template;
use axum::{http::StatusCode, response::Response};

#[derive(Template)]
#[template(path = "flow/organization.html")]
struct OrganizationPage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
    choices: Vec<OrganizationChoice<'a>>,
    /// Shown, and not to be chosen.
    suspended: Vec<OrganizationChoice<'a>>,
}

/// An organization as a person is told of it.
struct OrganizationChoice<'a> {
    slug: &'a str,
    name: String,
}

impl<'a> OrganizationChoice<'a> {
    fn of(choice: &'a Choice) -> Self {
        let name = quotable(&choice.name);
        let name = if name.is_empty() { choice.slug.clone() } else { name };
        Self { slug: &choice.slug, name }
    }
}

pub fn draw(page: &Shell<'_>, flow: &FlowPage<'_>) -> Response {
    let choices = flow.document.organizations.iter().map(OrganizationChoice::of).collect();
    let suspended =
        flow.document.suspended_organizations.iter().map(OrganizationChoice::of).collect();
    page.respond(StatusCode::OK, &OrganizationPage { page, flow, choices, suspended })
}
