//! Whether a person has proved enough to change the ways into their account; a caller who has not is
//! led to a flow in which they can (contract §6).

use super::caller::Caller;
use crate::{
    domain::{
        account::Known,
        assurance::{Acr, FRESH_FOR},
        flow::{InSession, Wanted},
    },
    http::{
        answer::error::Problem,
        app::App,
        extract::cookies::with_cookie,
        flows::{self, StepUp},
    },
};
use axum::{http::StatusCode, response::Response};

const STEP_UP_REQUIRED: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "step_up_required",
    "prove once more who you are: go through the flow, and ask again with the new session",
);

/// Answers with a refusal, unless the person has proved enough a moment ago.
pub async fn demand(
    app: &App,
    caller: &mut Caller,
    account: &Known,
) -> Result<Option<Response>, Problem> {
    let (methods, now) = (account.credentials.methods(), app.clock.now());
    let asked = InSession { person: &caller.present.person, methods: &methods, now };
    if asked.is_fresh() {
        return Ok(None);
    }
    let acr = if account.credentials.reach_aal2() { Acr::Aal2 } else { Acr::Aal1 };
    let wanted = Wanted { acr, since: Some(now - FRESH_FOR) };
    let asked = StepUp { present: &caller.present, account, wanted };
    let (document, cookie) = flows::step_up(app, &mut caller.source, asked).await?;
    let flow = serde_json::to_value(document).expect("plain data with text keys is JSON");
    Ok(Some(with_cookie(STEP_UP_REQUIRED.with_member("flow", flow), cookie)))
}
