//! A device that asks to be connected: its code, who it says it is, and where it asked from.

use super::{FlowPage, consent::Asked};
use crate::http::screens::shell::Shell;
use askama::Template;
use axum::{http::StatusCode, response::Response};

#[derive(Template)]
#[template(path = "device_code.html")]
struct DeviceCodePage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
}

#[derive(Template)]
#[template(path = "device.html")]
struct DevicePage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
    asked: Asked,
}

pub fn draw(page: &Shell<'_>, flow: &FlowPage<'_>) -> Response {
    if flow.offers("user_code") {
        return page.respond(StatusCode::OK, &DeviceCodePage { page, flow });
    }
    let asked = Asked::of(page, flow.document);
    page.respond(StatusCode::OK, &DevicePage { page, flow, asked })
}
