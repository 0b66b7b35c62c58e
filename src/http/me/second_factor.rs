//! `POST /me/recovery-codes` makes a new set, `DELETE /me/totp` removes the authenticator application.
//!
//! Both need two factors that were proved lately: a session that was left open must neither show codes
//! to another person nor take a factor away.

use super::{caller::SignedIn, change::change, step_up};
use crate::{
    domain::{account::Command, message::MailContent},
    http::{
        answer::{error::Problem, private_json},
        app::App,
        extract::origin::Origin,
        limits::purpose::Purpose,
        people::{new_recovery_codes::NewRecoveryCodes, notice::telling},
    },
};
use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde::Serialize;
use zeroize::Zeroizing;

/// With a password alone such codes would be a second factor that was never enrolled.
const NOTHING_TO_STAND_IN_FOR: Problem = Problem::new(
    StatusCode::CONFLICT,
    "second_factor_required",
    "recovery codes stand in for a passkey or an authenticator application: enrol one first",
);

#[derive(Serialize)]
struct NewSet {
    /// Shown in this answer, and never again.
    recovery_codes: Vec<Zeroizing<String>>,
}

pub async fn make_recovery_codes(
    State(app): State<App>,
    Origin(address): Origin,
    SignedIn { mut caller, .. }: SignedIn,
) -> Result<Response, Problem> {
    let known = caller.known(&app).await?;
    if !known.credentials.reach_aal2() {
        return Err(NOTHING_TO_STAND_IN_FOR);
    }
    if let Some(refused) = step_up::demand(&app, &mut caller, &known).await? {
        return Ok(refused);
    }
    // Ten hashes are made for one request.
    app.limits.pace.take(Purpose::Credential, address, app.clock.now())?;
    let NewRecoveryCodes { shown, hashed } = NewRecoveryCodes::make(&app).await?;
    let command = Command::SetRecoveryCodes(hashed);
    let command = telling(&app, &caller.context, &known, MailContent::RecoveryCodesMade, command);
    change(&app, &caller, command).await?;
    Ok(private_json(&NewSet { recovery_codes: shown }))
}

pub async fn remove_totp(
    State(app): State<App>,
    SignedIn { mut caller, .. }: SignedIn,
) -> Result<Response, Problem> {
    let known = caller.known(&app).await?;
    if known.credentials.totp().is_none() {
        return Err(Problem::NOT_FOUND);
    }
    if let Some(refused) = step_up::demand(&app, &mut caller, &known).await? {
        return Ok(refused);
    }
    let command =
        telling(&app, &caller.context, &known, MailContent::TotpRemoved, Command::RemoveTotp);
    change(&app, &caller, command).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
