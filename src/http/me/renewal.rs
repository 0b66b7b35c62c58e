//! A change of the caller's account after which the session goes on under a new token (contract §6).
//!
//! Account and session change in one commit: a copy of the former token is good for nothing from then on. A
//! browser gets its cookie anew, a caller with `X-Session-Token` the token itself.

use super::{caller::Caller, change::refused};
use crate::{
    actors::CommitError,
    crypto::OpaqueKind,
    domain::{
        account::{Account, Command},
        assurance::Method,
        grant::Person,
        session::{self, Session},
    },
    http::{
        answer::{error::Problem, private_json},
        app::App,
        extract::cookies::with_cookies,
        flows,
    },
};
use axum::{
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde::Serialize;
use zeroize::Zeroizing;

/// How often it is tried while the account or the session changes.
const TRIES: usize = 8;

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
    for _ in 0..TRIES {
        let mut commit = app.multi_commit(&caller.context);
        let decided = commit.decide::<Account>(caller.account(), &command).await?;
        decided.map_err(refused)?;
        let known = commit.look::<Account>(caller.account()).await?.known();
        let authenticator = known.and_then(|known| known.authenticators().of(method));
        // Another request may have renewed the session by the same token.
        let now = app.clock.now();
        let open = commit.look::<Session>(id).await?.opened_by(former, now).is_some();
        let evidence = caller.present.person.evidence.clone();
        let evidence = evidence.carried_over(method, authenticator);
        let person = Person { evidence, ..caller.present.person.clone() };
        let renew = session::Command::Renew { person: person.clone(), token: minted.fingerprint };
        let renewed = commit.decide::<Session>(id, &renew).await?;
        renewed.ok().filter(|()| open).ok_or(super::caller::SESSION_REQUIRED)?;
        let committed = commit.commit().await;
        app.views.accounts.forget(caller.account());
        app.views.sessions.forget(id);
        match committed {
            Ok(()) => return Ok(answer(app, caller, &person, minted.text).await),
            Err(CommitError::Conflict | CommitError::Unmet { .. } | CommitError::Taken { .. }) => {}
            Err(CommitError::Unknown) => return Err(Problem::OUTCOME_UNKNOWN),
            Err(CommitError::Unavailable) => return Err(Problem::UNAVAILABLE),
        }
    }
    Err(Problem::UNAVAILABLE)
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
