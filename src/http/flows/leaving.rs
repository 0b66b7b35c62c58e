//! A sign-out that a client asks for: begun at the logout endpoint, confirmed there or by a step.

use super::{
    browser_sessions,
    document::{Document, FlowView, expiry},
    ending::{AnsweredStep, StepAnswer, proceed_noting},
    opened::OpenedFlow,
    problems::NOT_FOUND,
    ticket::{SignOutTarget, Ticket},
};
use crate::{
    actors::HydrateError,
    domain::{
        Context,
        flow::{Flow, Seed, SignedIn, Stage},
    },
    http::{
        answer::error::Problem,
        app::App,
        extract::request_source::RequestSource,
        people::session::{self as sessions, Lookup, Present},
    },
};
use axum::http::{HeaderMap, HeaderValue};

pub const SIGN_OUT: &str = "sign_out";

/// A sign-out that waits for the person.
pub struct PendingSignOut {
    pub id: String,
    pub document: Document,
    /// What a browser needs to go on with it.
    pub cookie: Option<HeaderValue>,
}

/// Begins a sign-out in this session.
pub async fn begin(
    app: &App,
    source: &mut RequestSource,
    present: Present,
    leaving: Option<SignOutTarget>,
) -> Result<PendingSignOut, HydrateError> {
    let (channel, cookie) = source.channel(app.settings.cookies, &*app.dice);
    let Present { id: session, person, .. } = present;
    let (stage, question, methods, wanted) = (Stage::Confirm, None, Vec::new(), None);
    let sign_on = None;
    let signed_in = Some(SignedIn { person, session, stage, question, methods, wanted, sign_on });
    let (kind, expires_at, stage) = (SIGN_OUT.to_owned(), expiry(app), Stage::Identify);
    let seed = Seed {
        kind,
        channel,
        expires_at,
        request: None,
        later: None,
        stage,
        signed_in,
        invited: None,
        operator_link: None,
        organization: None,
        connection: None,
        approval: None,
        report: None,
        user_code: None,
        selects: false,
        back: None,
    };
    let boxed = Box::new(seed.clone());
    let ticket = match leaving.clone() {
        None => Ticket::Begun(boxed),
        Some(leaving) => Ticket::Leaving(boxed, leaving),
    };
    let id = ticket.seal(&app.crypto.vault.now(), &*app.dice);
    let shown = FlowView { id: &id, seed: &seed, flow: &Flow::Unborn, outcome: None };
    let mut document = Document::of(app, shown).await?;
    if let Some(leaving) = &leaving {
        document = document.naming(app, &leaving.client_id).await;
    }
    Ok(PendingSignOut { id, document, cookie })
}

/// A sign-out that has happened.
pub struct SignedOut {
    /// What the browser is to forget.
    pub cookies: Vec<HeaderValue>,
    pub leaving: Option<SignOutTarget>,
}

/// Ends the session, for the browser in which the person was asked.
pub async fn confirm(
    app: &App,
    context: Context,
    id: &str,
    headers: &HeaderMap,
) -> Result<SignedOut, Problem> {
    let opened = OpenedFlow::of(app, context, id.to_owned(), headers)?;
    let signed_in = opened.seed.signed_in.as_ref().filter(|_| opened.seed.kind == SIGN_OUT);
    let SignedIn { person, session, .. } = signed_in.ok_or(NOT_FOUND)?;
    let answer = StepAnswer::Decided { step: "confirm", allow: true };
    let asking = AnsweredStep { account: &person.account, chosen: None, answer };
    let mut leaving = opened.leaving.clone();
    let cookies = match proceed_noting(app, &opened, asking).await {
        Ok(answered) => {
            // A provider by which the person came is told.
            let to = answered.answer.document.result.and_then(|result| result.redirect_to);
            let on = to
                .map(|to| SignOutTarget { client_id: String::new(), redirect_to: to.to_string() });
            leaving = leaving.or(on);
            answered.answer.cookies
        }
        Err(problem) => {
            // A form that is sent twice, or a session that has ended meanwhile, is no mistake.
            let seen = app.views.sessions.look_anew(session).await?;
            if seen.machine.owned_by(&person.account, app.clock.now()).is_some() {
                return Err(problem);
            }
            let held = sessions::held(app, &opened.context, &opened.source, Lookup::Anew).await?;
            browser_sessions::forget(app, &opened.source, &held, session)
        }
    };
    Ok(SignedOut { cookies, leaving })
}
