//! Error pages and other answers to a browser, in the look of the screens: plain pages of OAuth endpoints,
//! a path that does not exist, and whatever else would show JSON to a person.
//!
//! Programs are answered as without screens. Status and headers stay as they are.

use super::{
    preferences::Preferences,
    shell::{Shell, Sources, host_of},
    trouble::{self, Trouble},
};
use crate::domain::client::redirect_uri;
use crate::http::{
    answer::response_summary::{Posting, ResponseSummary},
    app::App,
    extract::{
        form::Form,
        request_source::{RequestSource, prefers_page},
    },
    routes,
};
use askama::Template;
use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};

/// A browser that asks for a page: what it says of language and theme.
pub struct Browser {
    app: App,
    headers: HeaderMap,
}

#[derive(Template)]
#[template(path = "end/leave.html")]
struct LeavePage<'a> {
    page: &'a Shell<'a>,
    flow: &'a str,
    action: &'static str,
}

#[derive(Template)]
#[template(path = "end/left.html")]
struct LeftPage<'a> {
    page: &'a Shell<'a>,
    to: Option<&'a str>,
    host: String,
    moves_on: bool,
}

#[derive(Template)]
#[template(path = "end/post_on.html")]
struct PostOnPage<'a> {
    page: &'a Shell<'a>,
    host: String,
    posting: &'a Posting,
}

impl Browser {
    /// Returns the sender of a request, if it is a browser that shows the answer to a person.
    pub fn of(app: &App, headers: &HeaderMap) -> Option<Self> {
        let elsewhere = |dest: &HeaderValue| dest.as_bytes() != b"document";
        if !prefers_page(headers) || headers.get("sec-fetch-dest").is_some_and(elsewhere) {
            return None;
        }
        let kept = [header::ACCEPT_LANGUAGE, header::COOKIE];
        let kept = kept.into_iter().filter_map(|name| {
            let value = headers.get(&name)?.clone();
            Some((name, value))
        });
        Some(Self { app: app.clone(), headers: kept.collect() })
    }

    /// Gives an answer the look of the screens, where it has none.
    pub fn as_page(&self, answer: Response, request_id: &str) -> Response {
        let told = answer.extensions().get::<ResponseSummary>().cloned();
        let status = answer.status();
        if told.is_none() && !is_refusal_in_json(&answer) {
            return answer;
        }
        let accepted = RequestSource::of(&self.headers, self.app.settings.cookies).locale;
        let preferences = Preferences::of(&self.app, &self.headers, &Form::default(), accepted);
        let shell = Shell::new(&self.app, preferences, None);
        let page = match &told {
            None => {
                let trouble = Trouble::of_status(status);
                trouble::draw(&shell, status, trouble, Some(request_id))
            }
            Some(told) => told_page(&shell, status, told, request_id),
        };
        worded(answer, page)
    }
}

fn told_page(
    shell: &Shell<'_>,
    status: StatusCode,
    told: &ResponseSummary,
    request_id: &str,
) -> Response {
    match told {
        ResponseSummary::BadLink { description, host, given } => {
            let trouble = Trouble::bad_link(description, host.as_deref());
            let trouble = trouble.with_given(given.as_deref());
            trouble::draw(shell, status, trouble, Some(request_id))
        }
        ResponseSummary::StillSignedIn { description } => {
            let trouble = Trouble::still_signed_in(description);
            trouble::draw(shell, status, trouble, Some(request_id))
        }
        ResponseSummary::LostSignOn => {
            trouble::draw(shell, status, Trouble::lost_sign_on(), Some(request_id))
        }
        ResponseSummary::SignOut { flow } => {
            shell.respond(status, &LeavePage { page: shell, flow, action: routes::LOGOUT })
        }
        ResponseSummary::SignedOut { to, moves_on } => {
            let host = to.as_deref().map(host_of).unwrap_or_default();
            let (to, moves_on) = (to.as_deref(), *moves_on);
            shell.respond(status, &LeftPage { page: shell, to, host, moves_on })
        }
        ResponseSummary::Posting(posting) => {
            let host = redirect_uri::host(&posting.to).unwrap_or_default();
            let sources = Sources { forms: &posting.target, ..Sources::default() };
            let drawn = PostOnPage { page: shell, host, posting };
            shell.respond_under(status, &drawn, &sources)
        }
    }
}

fn is_refusal_in_json(answer: &Response) -> bool {
    let status = answer.status();
    let kind = answer.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    let json = |kind: &[u8]| {
        kind.starts_with(b"application/json") || kind.starts_with(b"application/problem+json")
    };
    (status.is_client_error() || status.is_server_error()) && kind.is_some_and(json)
}

/// Gives an answer the words of a page, and leaves the rest of it as it is.
fn worded(answer: Response, page: Response) -> Response {
    let (mut head, _) = answer.into_parts();
    let (words, body): (_, Body) = page.into_parts();
    head.headers.remove(header::CONTENT_LENGTH);
    for name in [header::CONTENT_TYPE, header::CONTENT_SECURITY_POLICY, header::CACHE_CONTROL] {
        if let Some(value) = words.headers.get(&name) {
            head.headers.insert(name, value.clone());
        }
    }
    Response::from_parts(head, body)
}
