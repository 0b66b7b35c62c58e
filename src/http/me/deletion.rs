//! `DELETE /me`: the account is deleted after a grace period, in which signing in keeps it.

use super::{caller::SignedIn, change::change, step_up};
use crate::{
    domain::{
        account::{Command, GRACE_PERIOD},
        message::MailContent,
    },
    http::{
        answer::{error::Problem, private_json},
        app::App,
        extract::cookies::with_cookie,
        flows,
        people::notice::telling,
        time::rfc3339,
    },
};
use axum::{extract::State, http::StatusCode, response::Response};
use serde_json::json;

pub async fn delete(
    State(app): State<App>,
    SignedIn { mut caller, .. }: SignedIn,
) -> Result<Response, Problem> {
    let known = caller.known(&app).await?;
    if let Some(refused) = step_up::demand(&app, &mut caller, &known).await? {
        return Ok(refused);
    }
    let erased_at = rfc3339(app.clock.now() + GRACE_PERIOD);
    // A day, as a mail says it.
    let until = erased_at.chars().take_while(|one| *one != 'T').collect();
    let content = MailContent::DeletionRequested { until };
    change(
        &app,
        &caller,
        telling(&app, &caller.context, &known, content, Command::RequestDeletion),
    )
    .await?;
    // Everything has ended with that commit; now the clients are told that want to be.
    flows::sign_out_after_commit(&app, &caller.context, &known.id).await;
    let mut response = private_json(&json!({ "erased_at": erased_at }));
    *response.status_mut() = StatusCode::ACCEPTED;
    let cookie = caller.source.session_by_cookie.then(|| app.settings.cookies.end_session());
    Ok(with_cookie(response, cookie))
}
