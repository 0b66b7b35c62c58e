//! `GET /mailbox`: everything that a development server sent.
//!
//! Programs get JSON, people a page; `?message=ID` opens one message. Without a mailbox the path is not
//! served at all.

mod page;
mod plain;

use super::{
    answer::{error::Problem, private_json},
    app::App,
    extract::origin::Origin,
    time::rfc3339,
};
use crate::messages::SentMessage;
use axum::{
    extract::{RawQuery, State},
    http::{HeaderMap, header},
    response::Response,
};
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a> {
    items: Vec<Item<'a>>,
}

#[derive(Serialize)]
struct Item<'a> {
    id: &'a str,
    channel: &'static str,
    to: &'a str,
    subject: Option<&'a str>,
    text: &'a str,
    html: Option<&'a str>,
    sent_at: String,
}

pub async fn get(
    State(app): State<App>,
    Origin(address): Origin,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let _permit = app.limits.request_permits.work(address)?;
    let mailbox = app.mailbox.as_ref().ok_or(Problem::NOT_FOUND)?;
    let messages = mailbox.messages();
    if !wants_page(&headers) {
        return Ok(private_json(&Document { items: messages.iter().map(item).collect() }));
    }
    // Without screens there is no style sheet and no script either.
    Ok(if app.settings.screens {
        page::draw(&app, &messages, query, &headers)
    } else {
        plain::draw(&messages)
    })
}

/// Browsers ask for HTML; a caller that names JSON, or neither, is a program.
fn wants_page(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let accepted = accepted.collect::<Vec<_>>().join(",");
    accepted.contains("text/html") && !accepted.contains("application/json")
}

fn item(message: &SentMessage) -> Item<'_> {
    let SentMessage { id, channel, to, subject, text, html, sent_at } = message;
    Item {
        id,
        channel,
        to,
        subject: subject.as_deref(),
        text,
        html: html.as_deref(),
        sent_at: rfc3339(*sent_at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn browsers_get_a_page_and_programs_json() {
        let accepting = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::ACCEPT, HeaderValue::from_static(value));
            }
            wants_page(&headers)
        };
        assert!(accepting(&["text/html,application/xhtml+xml,*/*;q=0.8"]));
        for program in
            [&[][..], &["*/*"], &["application/json"], &["text/html", "application/json"]]
        {
            assert!(!accepting(program), "{program:?}");
        }
    }
}
