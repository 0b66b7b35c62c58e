//! `/me/password`: set, changed or removed, after a fresh proof.
//!
//! A person who changes a password wants the holder of the former one out: the other sessions end,
//! unless the caller says `"keep_sessions": true`, and their own goes on under a new token.

use super::{
    caller::{Caller, SignedIn},
    change::{change, reach},
    renewal::change_and_renew,
    step_up,
};
use crate::{
    domain::{account::Command, assurance, message::MailContent},
    http::{
        answer::error::Problem,
        app::App,
        extract::{context::RequestContext, json::Json, origin::Origin},
        limits::purpose::Purpose,
        new_password::About,
        people::{ending::Ending, notice::telling},
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
    app.limits.pace.take(Purpose::Credential, address, app.clock.now())?;
    let hash = app.crypto.new_passwords.choose(&password, &About::account(&known)).await?;
    let set = Command::SetPassword(hash);
    let set = telling(&app, &caller.context, &known, MailContent::PasswordChanged, set);
    let renewed = change_and_renew(&app, &caller, (set, assurance::Method::Password)).await?;
    if !keep_sessions {
        end_others(&app, &caller).await;
    }
    Ok(renewed)
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
    let remove = Command::RemovePassword { reach: reach(&app, caller.account()).await? };
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
///
/// The password is set and the caller has a new token: they are told so, whatever becomes of the others.
async fn end_others(app: &App, caller: &Caller) {
    let others = Ending::sessions(app, &caller.context, caller.account());
    let left = others.all_but(Some(&caller.present.id)).await;
    if !matches!(left, Ok(0)) {
        tracing::warn!(left = left.ok(), "sessions were not ended after a password was changed");
    }
}
