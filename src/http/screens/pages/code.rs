//! A code that was sent, that an application shows, or that was saved.

use super::{FlowPage, credential::OtherWay};
use crate::http::screens::shell::Shell;
use askama::Template;
use axum::{http::StatusCode, response::Response};

#[derive(Template)]
#[template(path = "flow/code.html")]
struct CodePage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
    step: &'a str,
    title: String,
    text: String,
    label: String,
    /// The step by which the code is sent once more.
    resend: Option<&'static str>,
    ways: Vec<OtherWay>,
}

#[derive(Template)]
#[template(path = "flow/link_sent.html")]
struct LinkSentPage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
    text: String,
    ways: Vec<OtherWay>,
}

pub fn draw(page: &Shell<'_>, flow: &FlowPage<'_>, step: &str, ways: Vec<OtherWay>) -> Response {
    let to = flow.identifier();
    // Of an account that is being made nothing can be learnt.
    let is_new = flow.document.kind == "sign_up";
    let sent = |name: &str, anonymous: &str| match to {
        "" => page.t(anonymous),
        to if is_new => page.html("sent-to-new", "email", to),
        to => page.html(name, "email", to),
    };
    if step == "magic_link" {
        let text = sent("link-sent-text", "link-sent-text-anonymous");
        return page.respond(StatusCode::OK, &LinkSentPage { page, flow, text, ways });
    }
    let (title, text, label, resend) = match step {
        "email_code" => (
            "email-code-title",
            sent("email-code-text", "email-code-text-anonymous"),
            "code-label",
            Some("email_code/send"),
        ),
        "sms_code" => {
            ("sms-code-title", page.t("sms-code-text"), "code-label", Some("sms_code/send"))
        }
        "totp" => ("totp-title", page.t("totp-text"), "code-label", None),
        _ => ("recovery-code-title", page.t("recovery-code-text"), "recovery-code-label", None),
    };
    let (title, label) = (page.t(title), page.t(label));
    let drawn = CodePage { page, flow, step, title, text, label, resend, ways };
    page.respond(StatusCode::OK, &drawn)
}
