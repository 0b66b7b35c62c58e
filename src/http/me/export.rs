//! `GET /me/export`: everything that is held of a person, as one document, and none of their secrets.
//!
//! Other people would like it too: it needs a fresh proof.

use super::{
    approval_history, approvals, caller::SignedIn, consents, history, identities, organizations,
    overview::Overview, passkeys, sessions, step_up,
};
use crate::http::{
    answer::{error::Problem, private_json},
    app::App,
    time::rfc3339,
};
use axum::{
    extract::State,
    http::{HeaderValue, header},
    response::Response,
};
use serde_json::json;

/// How many entries of the history are told; the rest is at `/me/history`.
const MOST: u32 = 10_000;

pub async fn get(
    State(app): State<App>,
    SignedIn { mut caller, .. }: SignedIn,
) -> Result<Response, Problem> {
    let known = caller.known(&app).await?;
    if let Some(refused) = step_up::demand(&app, &mut caller, &known).await? {
        return Ok(refused);
    }
    let held = &known.credentials;
    let happened = history::newest(&app, &known.id, MOST).await?;
    let document = json!({
        "exported_at": rfc3339(app.clock.now()),
        "updated_at": rfc3339(known.updated_at),
        "credentials": {
            "password_since": held.password_since().map(rfc3339),
            "totp_since": held.totp_since().map(rfc3339),
            "recovery_codes_left": held.recovery_codes().map_or(0, |(_, left)| left),
            "passkeys": passkeys::of_account(&known),
        },
        // Each is a hash, by which it is recognised.
        "known_devices": app.views.account_alerts.look_anew(&known.id).await?.machine.devices(),
        "sessions": sessions::of_account(&app, &caller).await?,
        "consents": consents::of_account(&app, &known).await?,
        "identities": identities::of_account(&app, &known.id).await?,
        "organizations": organizations::of_account(&app, &known).await?,
        "approvals": approval_history::of_log(&happened),
        "approvals_waiting": approvals::of_account(&app, &known.id).await?,
        "blocked_clients": approvals::blocked_by(&app, &known.id).await?,
        "history": history::told(&app, happened, &known.id).await?,
        "account": Overview::of(&app, &caller, known),
    });
    let mut response = private_json(&document);
    let attached = HeaderValue::from_static("attachment; filename=\"account.json\"");
    response.headers_mut().insert(header::CONTENT_DISPOSITION, attached);
    Ok(response)
}
