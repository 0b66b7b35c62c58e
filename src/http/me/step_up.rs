//! Whether a person has proved enough to change the ways into their account; a caller who has not is
//! led to a flow in which they can (contract §6).

use super::caller::Caller;
use crate::{
    domain::{
        account::Known,
        assurance::{Acr, FRESH_FOR, Method},
        flow::{InSession, StepUpRequest},
    },
    http::{
        answer::error::Problem,
        app::App,
        extract::cookies::with_cookie,
        flows::{self, Document, StepUp},
        people::session::Present,
    },
};
use axum::{
    http::{HeaderValue, StatusCode},
    response::Response,
};

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
    if is_fresh(app, caller, account) {
        return Ok(None);
    }
    let (document, cookie) = begin(app, caller, account, None).await?;
    Ok(Some(refused(&document, cookie)))
}

/// Answers with a refusal where the person has come by the single sign-on of an organization alone: that counts there,
/// and changes nothing of the account (adr/0135).
pub async fn demand_own(app: &App, caller: &mut Caller) -> Result<Option<Response>, Problem> {
    if caller.present.person.evidence.level(app.clock.now()).is_some() {
        return Ok(None);
    }
    let account = caller.known(app).await?;
    let wanted = StepUpRequest { acr: Acr::Aal1, since: None };
    let asked = StepUp { present: &caller.present, account: &account, wanted, back: None };
    let (document, cookie) = flows::step_up(app, &mut caller.source, asked).await?;
    Ok(Some(refused(&document, cookie)))
}

fn refused(document: &Document, cookie: Option<HeaderValue>) -> Response {
    let flow = serde_json::to_value(document).expect("plain data with text keys is JSON");
    with_cookie(STEP_UP_REQUIRED.with_member("flow", flow), cookie)
}

/// Tells whether the person has proved enough a moment ago.
///
/// Who has made the account in this very session has made its authenticators as well: the proof of the
/// address is enough while it is fresh (adr/0120).
pub fn is_fresh(app: &App, caller: &Caller, account: &Known) -> bool {
    let methods = if made_account(caller, account) { Vec::new() } else { account.methods() };
    let now = app.clock.now();
    InSession { person: &caller.present.person, methods: &methods, now }.is_fresh()
}

/// Tells whether the session began in the commit that made its account, with a proof of the address and no other.
fn made_account(caller: &Caller, account: &Known) -> bool {
    let Present { person, created_at, .. } = &caller.present;
    let by_mail = |method: &Method| matches!(method, Method::EmailCode | Method::MagicLink);
    *created_at == account.created_at && person.evidence.methods().iter().all(by_mail)
}

/// Begins a flow in which the person proves it, and after which they come back to a page of ours, where one
/// asks; returns the cookie that a browser needs for it as well.
pub async fn begin(
    app: &App,
    caller: &mut Caller,
    account: &Known,
    back: Option<String>,
) -> Result<(Document, Option<HeaderValue>), Problem> {
    let now = app.clock.now();
    let acr = if account.credentials.reach_aal2() { Acr::Aal2 } else { Acr::Aal1 };
    let wanted = StepUpRequest { acr, since: Some(now - FRESH_FOR) };
    let asked = StepUp { present: &caller.present, account, wanted, back };
    flows::step_up(app, &mut caller.source, asked).await
}
