//! A recovery is told to the account's address at once, and can be stopped from there.
//!
//! `POST /flows/stop` with `{"token": …}` ends the flow that the token was made for. The token comes
//! with the mail, names its flow and is sealed; it is good for nothing else, and needs no channel: its
//! holder is not the one who began the flow. Nothing is stopped by a GET. The token that comes with the
//! mail about an operator's link voids that link, and with it every flow that began with it.

use super::{
    opened::OpenedFlow,
    operator_link,
    problems::NOT_FOUND,
    ticket::{LONGEST, Ticket},
};
use crate::{
    domain::{
        Context,
        account::Known,
        flow::{Command, Moment, Notice, NoticeMessage, SignOnOffer, Step},
        message::{Mail, MailContent, NOTICE_LIFETIME},
    },
    http::{
        answer::error::Problem,
        app::App,
        extract::{
            context::RequestContext, json::Json, origin::Origin, request_source::check_csrf,
        },
        limits::purpose::Purpose,
        people::{notice, report_link},
        routes,
    },
};
use axum::{extract::State, http::StatusCode};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use std::net::IpAddr;

/// What tokens are sealed for.
const PURPOSE: &str = "stop recovery";

#[derive(Deserialize)]
pub struct Body {
    token: String,
}

pub async fn post(
    State(app): State<App>,
    Origin(address): Origin,
    RequestContext(context): RequestContext,
    Json { headers, body: Body { token }, .. }: Json<Body>,
) -> Result<StatusCode, Problem> {
    check_csrf(&app, &headers)?;
    take(&app, (context, address), &token).await.map(|()| StatusCode::NO_CONTENT)
}

/// Stops what a token was made for.
pub async fn take(
    app: &App,
    (context, address): (Context, IpAddr),
    token: &str,
) -> Result<(), Problem> {
    app.limits.pace.take(Purpose::Flow, address, app.clock.now())?;
    if let Some(stopped) = operator_link::stop(app, &context, token).await {
        return stopped;
    }
    let id = open(app, token).ok_or(NOT_FOUND)?;
    let Some((name, Ticket::Begun(seed))) = Ticket::open(&id, &app.crypto.vault.now()) else {
        return Err(NOT_FOUND);
    };
    let (rules, step) = (app.settings.flow_rules.clone(), Step::Stop);
    app.entities
        .flows
        .ask(&context, name, Command { rules, seed: *seed, step, sign_on: SignOnOffer::None })
        .await?;
    Ok(())
}

fn seal(app: &App, flow: &str) -> String {
    let sealed = app.crypto.vault.now().seal(PURPOSE, &[], flow.as_bytes(), &*app.dice);
    URL_SAFE_NO_PAD.encode(sealed)
}

fn open(app: &App, token: &str) -> Option<String> {
    let sealed = URL_SAFE_NO_PAD.decode(token).ok().filter(|sealed| sealed.len() <= 2 * LONGEST)?;
    let flow = app.crypto.vault.now().open(PURPOSE, &[], &sealed).ok()?;
    String::from_utf8(flow.expose().to_vec()).ok()
}

/// What the holder of the account's address is told of a recovery: that it goes on, and that it is done.
pub fn notices(app: &App, opened: &OpenedFlow, account: Option<&Known>) -> Vec<Notice> {
    // What is never sent is written as well: known and unknown accounts cost the same.
    let to = account.map_or("", |known| known.email.as_str());
    let locale = account.and_then(Known::locale).unwrap_or(app.settings.locale);
    let now = app.clock.now();
    let expires_at = now + NOTICE_LIFETIME;
    let asked = notice::origin(app, &opened.context, locale);
    let notice = |when, content, report| {
        let mail = Mail { report, ..Mail::new(to, locale, content) }.asked(asked.clone());
        Notice { when, message: NoticeMessage::Dispatch(mail.dispatch(expires_at)) }
    };
    let report = account.and_then(|known| report_link::link(app, known));
    let page = app.settings.links.recovery.as_ref();
    let stop = app.page(page, routes::RESET_PASSWORD, &[("stop", &seal(app, &opened.id))]);
    vec![
        notice(Moment::Proved, MailContent::RecoveryStarted { stop }, None),
        notice(Moment::Ended, MailContent::AccountRecovered, report),
    ]
}
