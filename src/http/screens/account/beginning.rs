//! Forms that begin a flow: a passkey or an authenticator application is added, or an identity is linked. The flow comes back to
//! the page that it was begun on.

use super::{
    super::leading::{path_of, to},
    section::Section,
};
use crate::{
    domain::Context,
    http::{
        answer::error::Problem,
        app::App,
        extract::{cookies::with_cookies, form::Form, request_source::RequestSource},
        flows::{
            FlowAnswer, OpenedFlow, Wish, begin_one,
            steps::{StepRequest, Steps},
        },
    },
};
use axum::{http::HeaderMap, response::Response};
use serde_json::Map;
use std::net::IpAddr;

/// The kinds of flows that a form begins.
const BEGINS: [&str; 3] = ["enroll_passkey", "enroll_totp", "link"];

/// A form that begins a flow.
pub struct Beginning<'a> {
    pub app: &'a App,
    pub steps: &'a Steps,
    pub section: Section,
    pub context: Context,
    pub address: IpAddr,
}

impl Beginning<'_> {
    /// Begins the flow, and leads to its page. A second step that the form names is taken where the flow
    /// offers it; where that fails, the page offers it again.
    pub async fn begin(self, form: &Form, headers: &HeaderMap) -> Result<Response, Problem> {
        let Self { app, steps, section, context, address } = self;
        let kind = form.get("begin").filter(|kind| BEGINS.contains(kind));
        let kind = kind.ok_or(Problem::NOT_FOUND)?;
        let source = RequestSource::of(headers, app.settings.cookies).of_page();
        let back = Some(section.path().to_owned());
        let connection = form.get("connection").map(str::to_owned);
        let wish = Wish { kind: kind.to_owned(), back, connection, ..Wish::default() };
        let begun = begin_one(app, (context.clone(), address), source, wish).await;
        let FlowAnswer { document, cookies } = match begun {
            // The page is a sign-in then.
            Err(problem) if problem.code == "session_required" => {
                return Ok(to(section.path(), &[]));
            }
            begun => begun?,
        };
        let then = form.get("then").filter(|name| document.offers(name));
        let then = then.and_then(|name| steps.find(name));
        let opened = OpenedFlow::of_page(app, context, document.id.clone(), headers);
        if let (Some(then), Ok(opened)) = (then, opened) {
            let _refused =
                then.take(StepRequest::new(app, &opened, address, Map::new())).await.is_err();
        }
        let page = to(path_of(&document.kind, document.state), &[("flow", &document.id)]);
        Ok(with_cookies(page, cookies))
    }
}
