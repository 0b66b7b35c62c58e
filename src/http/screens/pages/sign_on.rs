//! Other providers first: where the organization of the person has some, or wants nothing else.

use super::{FlowPage, credential};
use crate::http::screens::{pages::credential::OtherWay, shell::Shell};
use askama::Template;
use axum::{http::StatusCode, response::Response};

#[derive(Template)]
#[template(path = "flow/sign_on.html")]
struct SignOnPage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
    /// The organization wants nothing else.
    is_only: bool,
    /// The person is signed in, and links what they are there.
    links: bool,
    ways: Vec<OtherWay>,
}

/// Tells whether it is what the person is shown first: nothing else is offered, or the domain of what they typed is that
/// of an organization with a provider of its own, and they have not asked for another way.
pub fn is_first(flow: &FlowPage<'_>) -> bool {
    if !flow.offers("sso/options") {
        return false;
    }
    let chose_other = flow.way.as_deref().is_some_and(|way| !way.starts_with("sso"));
    let of_organization = flow.document.connections.iter().any(|one| one.of_organization);
    is_only(flow) || (flow.document.state == "credential" && of_organization && !chose_other)
}

pub fn draw(page: &Shell<'_>, flow: &FlowPage<'_>) -> Response {
    let ways = credential::others(page, flow, "sso");
    let (is_only, links) = (is_only(flow), flow.document.kind == "link");
    page.respond(StatusCode::OK, &SignOnPage { page, flow, is_only, links, ways })
}

fn is_only(flow: &FlowPage<'_>) -> bool {
    flow.document.steps.iter().all(|step| step.name.starts_with("sso"))
}
