//! Pages for what cannot go on: what happened, that nothing was changed, and what to do next.

use super::{Screen, shell::Shell};
use crate::http::{answer::error::Problem, routes};
use askama::Template;
use axum::{
    http::{HeaderMap, StatusCode, header},
    response::Response,
};

#[derive(Template)]
#[template(path = "end/trouble.html")]
struct TroublePage<'a> {
    page: &'a Shell<'a>,
    title: String,
    text: String,
    /// Where a person would be taken that they may not know.
    host: Option<&'a str>,
    /// Where to go on, and what that is called.
    way_on: (&'static str, String),
    /// What was wrong, in English, for those who can mend it.
    description: Option<&'a str>,
    /// The address that the client gave, for them as well.
    given: Option<&'a str>,
    request_id: Option<&'a str>,
}

/// What can be said of a problem: its title, what to do, and where that begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trouble<'a> {
    title: &'static str,
    text: &'static str,
    /// The name of the action, and where it begins.
    way_on: (&'static str, &'static str),
    host: Option<&'a str>,
    description: Option<&'a str>,
    given: Option<&'a str>,
}

impl<'a> Trouble<'a> {
    const fn of(title: &'static str, text: &'static str) -> Self {
        let way_on = ("start-again", routes::SIGN_IN);
        Self { title, text, way_on, host: None, description: None, given: None }
    }

    const fn at(self, action: &'static str, path: &'static str) -> Self {
        Self { way_on: (action, path), ..self }
    }

    /// A request of a client that cannot be taken; `host` is where one that registered itself would
    /// take the person.
    pub fn bad_link(description: &'a str, host: Option<&'a str>) -> Self {
        let text = if host.is_some() { "bad-link-self" } else { "bad-link-text" };
        let trouble = Self::of("bad-link-title", text).at("to-account", routes::ACCOUNT);
        Self { host, description: Some(description), ..trouble }
    }

    /// The same, with the address that the client gave.
    pub fn with_given(self, given: Option<&'a str>) -> Self {
        Self { given, ..self }
    }

    /// A sign-out that could not be done.
    pub fn still_signed_in(description: &'static str) -> Self {
        let trouble = Self::of("still-signed-in-title", "still-signed-in-text");
        let trouble = trouble.at("to-account", routes::ACCOUNT);
        Self { description: Some(description), ..trouble }
    }

    /// What a provider has answered is to no sign-in of this browser.
    pub fn lost_sign_on() -> Self {
        Self::of("lost-sign-on-title", "lost-sign-on-text")
    }

    /// What the status of an answer says.
    pub fn of_status(status: StatusCode) -> Self {
        match status {
            StatusCode::NOT_FOUND => Self::of("missing-title", "missing-text"),
            StatusCode::TOO_MANY_REQUESTS => Self::of("busy-title", "too-many-text"),
            StatusCode::SERVICE_UNAVAILABLE => Self::of("busy-title", "busy-text"),
            status if status.is_server_error() => Self::of("broken-title", "broken-text"),
            _ => Self::of("unreadable-title", "unreadable-text"),
        }
    }

    /// What the problem of a flow or a form says.
    fn of_problem(problem: &Problem, caller: &Caller<'_>) -> Self {
        let again = |title, text| Self::of(title, text).at("start-again", caller.screen.path);
        match problem.code {
            "flow_expired" => again("expired-title", "expired-text"),
            "flow_over" => again("over-title", "over-text"),
            "wrong_channel" if caller.blocks_cookies() => again("cookies-title", "cookies-text"),
            "wrong_channel" => again("other-browser-title", "other-browser-text"),
            "flow_not_found" => again("unknown-title", "unknown-text"),
            "invitation_not_valid" => again("invitation-void-title", "invitation-void-text"),
            "recovery_not_valid" => again("recovery-void-title", "recovery-void-text"),
            "report_not_valid" => {
                Self::of("report-void-title", "report-void-text").at("sign-in", routes::SIGN_IN)
            }
            "organization_suspended" => again("suspended-title", "suspended-text"),
            "sign_up_closed" => Self::of("sign-up-closed-title", "sign-up-closed-text")
                .at("sign-in", routes::SIGN_IN),
            "assurance_out_of_reach" => Self::of("factor-missing-title", "factor-missing-text")
                .at("to-security", routes::ACCOUNT_SECURITY),
            "approval_not_waiting" | "already_decided" => {
                Self::of("approve-void-title", "approve-void-text")
                    .at("to-account", routes::ACCOUNT)
            }
            "foreign_origin" => again("foreign-title", "foreign-text"),
            _ => {
                let trouble = Self::of_status(problem.status);
                trouble.at("start-again", caller.screen.path)
            }
        }
    }
}

/// A browser whose flow cannot be opened, or whose form cannot be taken.
pub struct Caller<'a> {
    pub screen: Screen,
    pub headers: &'a HeaderMap,
    /// It followed a link of a mail: one that was opened elsewhere is no sign of blocked cookies.
    pub follows_mail: bool,
    pub request_id: Option<&'a str>,
}

impl Caller<'_> {
    fn blocks_cookies(&self) -> bool {
        !self.headers.contains_key(header::COOKIE) && !self.follows_mail
    }
}

/// Draws the page of a flow that cannot be opened, or of a form that cannot be taken.
pub fn page(shell: &Shell<'_>, problem: &Problem, caller: &Caller<'_>) -> Response {
    // That people make no accounts for themselves here, or that nothing waits, is an answer, and no
    // mistake.
    let status = match problem.code {
        "sign_up_closed" | "approval_not_waiting" | "already_decided" => StatusCode::OK,
        _ => problem.status,
    };
    draw(shell, status, Trouble::of_problem(problem, caller), caller.request_id)
}

/// Draws a page.
pub fn draw(
    shell: &Shell<'_>,
    status: StatusCode,
    trouble: Trouble<'_>,
    request_id: Option<&str>,
) -> Response {
    let Trouble { title, text, way_on, host, description, given } = trouble;
    let drawn = TroublePage {
        page: shell,
        title: shell.t(title),
        text: shell.with(text, "host", &shell.host()),
        host,
        way_on: (way_on.1, shell.t(way_on.0)),
        description,
        given,
        request_id,
    };
    shell.respond(status, &drawn)
}
