//! `/account`: what a person sees of their own account, and where they add ways in.
//!
//! What is shown is what `/me` serves. Without a session the page is a sign-in, which ends here. With
//! `?flow=ID` it draws that flow, as every screen does: credentials are added on this path.

use super::{
    leading::{path_of, to},
    shell::Shell,
};
use crate::{
    domain::Context,
    http::{
        answer::error::Problem,
        app::App,
        extract::{cookies::with_cookies, form::Form, request_source::RequestSource},
        facts::belonging::Belonging,
        flows::{
            FlowAnswer, Opened, Wish, begin_one,
            steps::{StepRequest, Steps},
        },
        me::{Caller, Overview, Passkey, passkeys_of},
        options::Channels,
        routes,
    },
    wording::quotable,
};
use askama::Template;
use axum::{
    http::{HeaderMap, Method, StatusCode},
    response::Response,
};
use serde_json::Map;
use std::net::IpAddr;

/// The kinds of flows that a form of this page begins.
const BEGINS: [&str; 2] = ["enroll_passkey", "enroll_totp"];

#[derive(Template)]
#[template(path = "account.html")]
struct AccountPage<'a> {
    page: &'a Shell<'a>,
    overview: Overview,
    passkeys: Vec<Passkey>,
    /// What the person is called; their address where they have said nothing.
    name: String,
    /// Whether passkeys can be used here.
    offers_passkeys: bool,
    /// Whether mail can be sent.
    offers_mail: bool,
    codes_left: u32,
    /// Whether the person belongs to an organization.
    belongs: bool,
    /// The flow by which the button signs out; a link leads to one where none could begin.
    sign_out: Option<String>,
}

/// Draws the account, if the request comes with a session.
pub async fn draw(
    page: &Shell<'_>,
    (context, address): (Context, IpAddr),
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let app = page.app;
    let caller = Caller::of(app, context, &Method::GET, headers).await?;
    let known = caller.known(app).await?;
    let belongs = !Belonging::of_account(app, caller.account()).await?.is_empty();
    let passkeys = passkeys_of(&known);
    let name = Some(quotable(&known.profile.full_name())).filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| known.email.clone());
    let overview = Overview::of(app, &caller, known);
    let source = caller.source.clone().of_page();
    let wish = Wish { kind: "sign_out".to_owned(), ..Wish::default() };
    // The page is worth as much without it.
    let leaving = begin_one(app, (caller.context, address), source, wish).await.ok();
    let (sign_out, cookies) = match leaving {
        Some(FlowAnswer { document, cookies }) => (Some(document.id), cookies),
        None => (None, Vec::new()),
    };
    let Channels { mail, passkeys: offers_passkeys, .. } = app.channels();
    let codes_left = u32::try_from(overview.credentials.recovery_codes).unwrap_or(u32::MAX);
    let drawn = AccountPage {
        page,
        overview,
        passkeys,
        name,
        offers_passkeys,
        offers_mail: mail,
        codes_left,
        belongs,
        sign_out,
    };
    let drawn = page.respond(StatusCode::OK, &drawn);
    Ok(with_cookies(drawn, cookies))
}

/// A form of this page that begins a flow.
pub struct Beginning<'a> {
    pub app: &'a App,
    pub steps: &'a Steps,
    pub context: Context,
    pub address: IpAddr,
}

impl Beginning<'_> {
    /// Begins the flow, and leads to its page. A second step that the form names is taken where the flow
    /// offers it; where that fails, the page offers it again.
    pub async fn begin(self, form: &Form, headers: &HeaderMap) -> Result<Response, Problem> {
        let Self { app, steps, context, address } = self;
        let kind = form.get("begin").filter(|kind| BEGINS.contains(kind));
        let kind = kind.ok_or(Problem::NOT_FOUND)?;
        let source = RequestSource::of(headers, app.cookies).of_page();
        let wish = Wish { kind: kind.to_owned(), ..Wish::default() };
        let begun = begin_one(app, (context.clone(), address), source, wish).await;
        let FlowAnswer { document, cookies } = match begun {
            // The page is a sign-in then.
            Err(problem) if problem.code == "session_required" => {
                return Ok(to(routes::ACCOUNT, &[]));
            }
            begun => begun?,
        };
        let then = form.get("then").filter(|name| document.offers(name));
        let then = then.and_then(|name| steps.find(name));
        let opened = Opened::of_page(app, context, document.id.clone(), headers);
        if let (Some(then), Ok(opened)) = (then, opened) {
            let _refused =
                then.take(StepRequest::new(app, &opened, address, Map::new())).await.is_err();
        }
        let page = to(path_of(&document.kind, document.state), &[("flow", &document.id)]);
        Ok(with_cookies(page, cookies))
    }
}
