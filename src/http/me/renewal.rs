//! A change of the caller's account after which the session goes on under a new token (contract §6).
//!
//! Account and session change in one commit: a copy of the former token is good for nothing from then on. A
//! browser gets its cookie anew, a caller with `X-Session-Token` the token itself.

use super::{
    caller::{Caller, SESSION_REQUIRED},
    change::{acting, refused},
};
use crate::{
    actors::Failure,
    crypto::OpaqueKind,
    domain::{
        account::{Command, Refusal, SessionRenewal},
        assurance::Method,
        person::Person,
    },
    http::{
        answer::{error::Problem, private_json},
        app::App,
        cookies::with_cookies,
        flows,
    },
};
use axum::{
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde::Serialize;
use zeroize::Zeroizing;

/// What a caller gets who presented the former token in a header.
#[derive(Serialize)]
struct NewToken {
    session_token: Zeroizing<String>,
}

/// Has the account of the caller changed, and their session renewed with it. What was proved by the
/// authenticator of `method` goes on by the one that takes its place.
pub async fn change_and_renew(
    app: &App,
    caller: &Caller,
    (command, method): (Command, Method),
) -> Result<Response, Problem> {
    let id = &caller.present.id;
    let presented = caller.source.session_token.as_ref();
    let presented =
        presented.and_then(|token| OpaqueKind::Session.read(token, &app.crypto.vault.now()));
    let former = presented.ok_or(Problem::UNAVAILABLE)?.fingerprint;
    let minted = OpaqueKind::Session.mint(id, &app.crypto.vault.now(), &*app.dice);
    let renewal = Box::new(SessionRenewal {
        session: id.clone(),
        former,
        token: minted.fingerprint,
        person: caller.present.person.clone(),
        method,
    });
    let command = Command::Renewing { command: Box::new(command), renewal };
    let command = acting(app, caller, command).await?;
    let asked = app.entities.accounts.ask(&caller.context, caller.account(), command).await;
    app.views.accounts.forget(caller.account());
    app.views.sessions.forget(id);
    match asked {
        Ok(_) => {}
        Err(Failure::Refused(Refusal::SessionOver)) => return Err(SESSION_REQUIRED),
        Err(Failure::Refused(refusal)) => return Err(refused(refusal)),
        Err(failure) if failure.may_have_happened() => {
            // The session tells: no other request has drawn its token.
            let seen = app.views.sessions.peek(id).await?;
            let renewed = seen.machine.opened_by(minted.fingerprint, app.clock.now());
            renewed.ok_or(Problem::OUTCOME_UNKNOWN)?;
        }
        Err(failure) => {
            tracing::info!(why = %failure, "an account could not be changed");
            return Err(Problem::UNAVAILABLE);
        }
    }
    Ok(answer(app, caller, &caller.present.person, minted.text).await)
}

async fn answer(
    app: &App,
    caller: &Caller,
    person: &Person,
    session_token: Zeroizing<String>,
) -> Response {
    if !caller.source.session_by_cookie {
        return private_json(&NewToken { session_token });
    }
    let seconds = app.settings.lifetimes.session_ceiling.as_secs();
    let session = app.settings.cookies.keep_session(&session_token, seconds);
    // A changed password makes browsers unknown: this one is the person's.
    let known = flows::remember_browser(app, &caller.source, person).await;
    with_cookies(StatusCode::NO_CONTENT.into_response(), [session, known])
}
