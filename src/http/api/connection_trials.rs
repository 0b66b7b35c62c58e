//! `/api/organizations/{organization}/connections/{connection}/test`: an administrator tries a connection, and sees each
//! message and what the sign-in would have become.

use super::{
    admission::PERSON_REQUIRED,
    call::{Answer, Call, shown},
    connections::own,
};
use crate::http::{
    answer::{error::Problem, private_json},
    flows::sign_on::trial::{self, TrialReport, TrialRequest},
};
use axum::http::StatusCode;

pub async fn begin(call: Call) -> Answer {
    let caller = &call.caller;
    // The answer comes back to the session that has asked.
    let session = caller.session().filter(|_| caller.is_person() && !caller.is_delegate());
    let session = session.ok_or(PERSON_REQUIRED)?;
    let seen = call.app.views.connections.look_anew(call.param("connection")).await?;
    let connection = own(&call, seen.machine.known())?;
    let organization = &*caller.organization;
    call.app.limits.attempts.charge_connection_trial(&caller.context, organization).await?;
    let request = TrialRequest { connection, organization, session };
    let begun = trial::begin(&call.app, &caller.context, request).await?;
    let mut response = private_json(&begun);
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

pub async fn show(call: Call) -> Answer {
    let id = call.param("connection");
    let seen = call.app.views.connections.look_anew(id).await?;
    own(&call, seen.machine.known())?;
    let seen = call.app.views.connection_trials.look_anew(id).await?;
    let report = TrialReport::of(&seen.machine).ok_or(Problem::NOT_FOUND)?;
    Ok(shown(StatusCode::OK, seen.version, &report))
}
