//! An authenticator application: its secret as a picture and in letters, and the code that shows that
//! it is there.

use super::FlowPage;
use crate::{
    crypto::TotpEnrolment,
    http::{flows::steps::waiting_totp, screens::shell::Shell},
};
use askama::Template;
use axum::{http::StatusCode, response::Response};

#[derive(Template)]
#[template(path = "flow/totp_enrolment.html")]
struct TotpPage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
    waiting: Option<WaitingSecret>,
}

/// The secret that waits in the flow.
struct WaitingSecret {
    qr_svg: String,
    /// In groups of four, as people type it.
    key: String,
}

pub async fn draw(page: &Shell<'_>, flow: &FlowPage<'_>) -> Response {
    let waiting = waiting_totp(page.app, &flow.document.id).await;
    let shown = |TotpEnrolment { secret, qr_svg, .. }: TotpEnrolment| {
        let groups: Vec<&str> = secret
            .as_bytes()
            .chunks(4)
            .filter_map(|group| std::str::from_utf8(group).ok())
            .collect();
        WaitingSecret { key: groups.join(" "), qr_svg: qr_svg.to_string() }
    };
    let waiting = waiting.map(shown);
    page.respond(StatusCode::OK, &TotpPage { page, flow, waiting })
}
