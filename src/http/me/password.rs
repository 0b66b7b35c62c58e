//! `/me/password`: set, changed or removed, after a fresh proof.
//!
//! A person who changes a password wants the holder of the former one out: the other sessions end,
//! unless the caller says `"keep_sessions": true`.

use super::{
    caller::{Caller, SignedIn},
    change::{change, reach},
    step_up,
};
use crate::{
    domain::{
        account::Command,
        message::MailContent,
        session::{self, SESSIONS},
    },
    http::{
        answer::error::Problem,
        app::App,
        extract::{context::RequestContext, json::Json, origin::Origin},
        facts::{new_password::About, notice::telling},
        limits::purpose::Purpose,
    },
};
use axum::{
    extract::State,
    http::{Method, StatusCode},
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;

#[derive(Deserialize)]
pub struct NewPassword {
    password: String,
    #[serde(default)]
    keep_sessions: bool,
}

pub async fn put(
    State(app): State<App>,
    Origin(address): Origin,
    RequestContext(context): RequestContext,
    Json { headers, body: NewPassword { password, keep_sessions }, .. }: Json<NewPassword>,
) -> Result<Response, Problem> {
    let mut caller = Caller::of(&app, context, &Method::PUT, &headers).await?;
    let known = caller.known(&app).await?;
    if let Some(refused) = step_up::demand(&app, &mut caller, &known).await? {
        return Ok(refused);
    }
    app.pace.take(Purpose::Credential, address, app.clock.now())?;
    let hash = app.new_passwords.choose(&password, &About::account(&known)).await?;
    let set = Command::SetPassword(hash);
    change(
        &app,
        &caller,
        telling(&app, &caller.context, &known, MailContent::PasswordChanged, set),
    )
    .await?;
    if !keep_sessions {
        end_others(&app, &caller).await?;
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub async fn delete(
    State(app): State<App>,
    SignedIn { mut caller, .. }: SignedIn,
) -> Result<Response, Problem> {
    let known = caller.known(&app).await?;
    if known.credentials.password().is_none() {
        return Err(Problem::NOT_FOUND);
    }
    if let Some(refused) = step_up::demand(&app, &mut caller, &known).await? {
        return Ok(refused);
    }
    let remove = Command::RemovePassword { reach: reach(&app) };
    change(
        &app,
        &caller,
        telling(&app, &caller.context, &known, MailContent::PasswordRemoved, remove),
    )
    .await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Ends every session of the caller's account but theirs. None can begin by the former password any
/// more: a session that begins requires the account as its proof was judged on.
async fn end_others(app: &App, caller: &Caller) -> Result<(), Problem> {
    let listed = app.session_views.list_if(true, SESSIONS, caller.account()).await?;
    for other in listed.iter().filter(|other| other.id != caller.present.id) {
        let end = session::Command::End;
        if app.sessions.ask_detached(&caller.context, &other.id, end).await.is_err() {
            tracing::warn!("a session was not ended after a password was changed");
        }
        app.session_views.forget(&other.id);
    }
    Ok(())
}
