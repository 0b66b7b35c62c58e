//! The pages of a mailbox: the list, and one message with its HTML in a frame that can do nothing.

use crate::{
    http::{
        answer::redirect::with_query,
        app::App,
        playground, routes,
        screens::shell::{Shell, Sources},
        time::rfc3339,
    },
    messages::SentMessage,
};
use askama::Template;
use axum::{
    http::{HeaderMap, StatusCode},
    response::Response,
};
use url::Url;

/// A frame has the policy of its page (CSP: a document from `srcdoc` inherits it), and a mail has its
/// style inside.
const STYLES: &str = "'self' 'unsafe-inline'";
/// Links of a mail open beside the page; nothing of ours opens in a frame.
const LINKS_BESIDE: &str = "<base target=\"_blank\">";

#[derive(Template)]
#[template(path = "dev/mailbox.html")]
struct MailboxPage<'a> {
    page: &'a Shell<'a>,
    script: &'static str,
    messages: Vec<MessageShown<'a>>,
    newest: &'a str,
    /// A message was asked for that is not kept.
    is_gone: bool,
}

#[derive(Template)]
#[template(path = "dev/mailbox_message.html")]
struct MessagePage<'a> {
    page: &'a Shell<'a>,
    script: &'static str,
    message: MessageShown<'a>,
    newest: &'a str,
}

/// A message as a page shows it.
struct MessageShown<'a> {
    href: String,
    icon: &'static str,
    title: &'a str,
    to: &'a str,
    text: &'a str,
    /// The document of the frame.
    frame: Option<String>,
    sent_at: String,
    code: Option<&'a str>,
    link: Option<&'a str>,
}

pub fn draw(
    app: &App,
    messages: &[SentMessage],
    query: Option<String>,
    headers: &HeaderMap,
) -> Response {
    let (query, preferences) = playground::preferences(app, query, headers);
    let asked = query.get("message");
    let opened = messages.iter().find(|message| Some(&*message.id) == asked);
    let again = opened.map(|message| ("message", message.id.clone()));
    let page = &Shell::new(app, preferences, None).at(again.into_iter().collect());
    let newest = messages.first().map_or("", |message| &message.id);
    let script = playground::mailbox_script();
    if let Some(message) = opened {
        let drawn = MessagePage { page, script, message: MessageShown::of(message), newest };
        let sources = Sources { styles: STYLES, ..Sources::default() };
        return page.respond_under(StatusCode::OK, &drawn, &sources);
    }
    let is_gone = asked.is_some();
    let status = if is_gone { StatusCode::NOT_FOUND } else { StatusCode::OK };
    let messages = messages.iter().map(MessageShown::of).collect();
    page.respond(status, &MailboxPage { page, script, messages, newest, is_gone })
}

impl<'a> MessageShown<'a> {
    fn of(message: &'a SentMessage) -> Self {
        let text = &*message.text;
        Self {
            href: with_query(routes::MAILBOX, [("message", &*message.id)]),
            icon: if message.channel == "sms" { "phone" } else { "mail" },
            title: message.subject.as_deref().unwrap_or(text),
            to: &message.to,
            text,
            frame: message.html.as_ref().map(|html| format!("{LINKS_BESIDE}{html}")),
            sent_at: rfc3339(message.sent_at),
            code: code(text),
            link: text.lines().find(|line| is_link(line)),
        }
    }
}

/// Finds the code of a message: six digits, in a mail alone on their line.
fn code(text: &str) -> Option<&str> {
    let words = text.split_whitespace().map(|word| word.trim_matches(['.', ',', ':']));
    words.into_iter().find(|word| word.len() == 6 && word.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Nothing but a web page opens from here.
fn is_link(line: &str) -> bool {
    Url::parse(line).is_ok_and(|url| ["http", "https"].contains(&url.scheme()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_found_in_mails_and_in_sms() {
        assert_eq!(code("Your code\n\n402913\n\nIt works once.\n"), Some("402913"));
        assert_eq!(code("771204 is your code for localhost."), Some("771204"));
        assert_eq!(code("O seu código: 771204."), Some("771204"));
        assert_eq!(code("4029133 or 40291 or 4029a3"), None);
    }

    #[test]
    fn only_web_pages_are_links() {
        assert!(is_link("http://localhost:8080/sign-in?flow=flw_x&token=y"));
        for line in ["javascript:alert(1)", "data:text/html,x", "Open http://localhost/", ""] {
            assert!(!is_link(line), "{line}");
        }
    }
}
