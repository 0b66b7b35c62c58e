//! The page of a mailbox without screens: text alone, no style and no script.

use crate::{
    http::{
        answer::{html::escape, never_stored},
        time::rfc3339,
    },
    messages::SentMessage,
};
use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use std::fmt::Write as _;

/// Shows the text of each message; nothing of it becomes markup.
pub fn draw(messages: &[SentMessage]) -> Response {
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
