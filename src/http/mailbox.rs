//! `GET /mailbox`: everything that a development server sent.
//!
//! Programs get JSON, people a plain page. Without a mailbox the path is not served at all.

use super::{
    answer::{error::Problem, html::escape, never_stored, private_json},
    app::App,
    time::rfc3339,
};
use crate::messages::SentMessage;
use axum::{
    extract::State,
    http::{HeaderMap, HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use serde::Serialize;
use std::fmt::Write as _;

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

pub async fn get(State(app): State<App>, headers: HeaderMap) -> Result<Response, Problem> {
    let _permit = app.request_permits.work()?;
    let mailbox = app.mailbox.as_ref().ok_or(Problem::NOT_FOUND)?;
    let messages = mailbox.messages();
    if wants_page(&headers) {
        return Ok(page(&messages));
    }
    Ok(private_json(&Document { items: messages.iter().map(item).collect() }))
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

/// Shows the text of each message; nothing of it becomes markup, so that the page needs no script, no
/// style and no frame.
fn page(messages: &[SentMessage]) -> Response {
    let mut page = String::from(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>Mailbox</title>\n</head>\n\
         <body>\n<h1>Mailbox</h1>\n\
         <p>porteiro dev: what was sent since it started, newest first. Reload the page to see more.</p>\n",
    );
    if messages.is_empty() {
        page.push_str("<p>Nothing has been sent yet.</p>\n");
    }
    for message in messages {
        let subject = message.subject.as_deref().unwrap_or("SMS");
        let written = write!(
            page,
            "<article id=\"{}\">\n<h2>{}</h2>\n<p>{} to {}, {}</p>\n<pre>{}</pre>\n</article>\n",
            escape(&message.id),
            escape(subject),
            message.channel,
            escape(&message.to),
            rfc3339(message.sent_at),
            escape(&message.text),
        );
        written.expect("a String takes it all");
    }
    page.push_str("</body>\n</html>\n");
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    let mut response = ([(header::CONTENT_TYPE, kind)], page).into_response();
    never_stored(&mut response);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

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
