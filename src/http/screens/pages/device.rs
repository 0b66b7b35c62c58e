//! A device that asks to be connected: its code, who it says it is, and where it asked from.

use super::{FlowPage, consent::ConsentRequest};
use crate::{
    domain::device_grant::normalise_user_code,
    http::{authorization::user_codes, screens::shell::Shell},
    wording::quotable,
};
use askama::Template;
use axum::{http::StatusCode, response::Response};
use zeroize::Zeroizing;

#[derive(Template)]
#[template(path = "flow/device_code.html")]
struct DeviceCodePage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
    /// What a link brought, filled in; it is entered by the person alone.
    code: Zeroizing<String>,
}

#[derive(Template)]
#[template(path = "flow/device.html")]
struct DevicePage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
    /// What the device says that it is.
    agent: Option<String>,
    asked: ConsentRequest,
}

pub fn draw(page: &Shell<'_>, flow: &FlowPage<'_>) -> Response {
    if flow.offers("user_code") {
        // One that was refused is not offered again.
        let brought = flow.user_code.as_deref().filter(|_| flow.refused.is_none());
        let code = brought.and_then(normalise_user_code).map(|code| user_codes::shown(&code));
        let code = code.unwrap_or_default();
        return page.respond(StatusCode::OK, &DeviceCodePage { page, flow, code });
    }
    let from = flow.document.requested_from.as_ref();
    let agent = from.and_then(|from| from.user_agent.as_deref()).map(quotable);
    let asked = ConsentRequest::of(page, flow.document);
    page.respond(StatusCode::OK, &DevicePage { page, flow, agent, asked })
}
