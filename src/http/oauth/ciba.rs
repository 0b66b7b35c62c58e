//! The backchannel authentication endpoint: OpenID CIBA Core 1.0 §7 (adr/0090).
//!
//! 1. the client authenticates as at the token endpoint;
//! 2. the request, which may be signed, passes the same table of checks as at the authorization endpoint;
//! 3. the person is found. One who does not exist and one whom the client must not reach are answered
//!    alike, after as many readings;
//! 4. what the person could not grant is refused before they hear of it, and so is too much at once;
//! 5. a request begins to wait, and the person is written to.

mod parameters;
mod person;
mod places;

use super::authorize::{
    checks::{self, Endpoint},
    source,
};
use crate::{
    crypto::{OpaqueKind, draw_id_at},
    domain::{
        backchannel_request::{ApprovalRequest, PING_PURPOSE, Pending, PingContent},
        client::KnownClient,
    },
    http::{
        answer::{
            error::{Code, OAuthError},
            private_json,
        },
        app::App,
        authorization::approval_notice,
        clients,
        extract::{client_auth, context::RequestContext, form::PostedForm, origin::Origin},
        limits::{polls, purpose::Purpose},
    },
};
use axum::{extract::State, response::Response};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use parameters::Parameters;
use places::Places;
use serde::Serialize;
use zeroize::Zeroizing;

/// CIBA Core §7.3.
#[derive(Serialize)]
struct CibaAnswer {
    auth_req_id: Zeroizing<String>,
    expires_in: u64,
    interval: u64,
}

pub async fn post(
    State(app): State<App>,
    Origin(address): Origin,
    RequestContext(context): RequestContext,
    posted: PostedForm,
) -> Result<Response, OAuthError> {
    let caller = client_auth::authenticate_to_begin(&app, context, &posted).await?;
    let client = caller.confidential()?;
    let now = app.clock.now();
    app.limits.pace.take(Purpose::Flow, address, now)?;
    if posted.form.get("request_uri").is_some() {
        let why = "a request is signed by value here";
        return Err(OAuthError::new(Code::InvalidRequest, why));
    }
    let source = source::of_back_channel(&app, client, &posted.form).await?;
    let mut wanted = checks::run_without_code(&app, &source, client, Endpoint::BackChannel).await?;
    let parameters = Parameters::read(&app, client, source.form())?;
    let seen = caller.seen();
    let account = person::find(&app, (client, seen.version), &parameters.hint, &mut wanted).await?;
    wanted.hint = Some(account.id.clone());
    let places = Places { app: &app, context: &caller.context, client_id: &client.client_id };
    places.find(&account.id).await?;
    clients::keep_to_wait(&app, &caller.context, seen, address).await?;
    app.limits.attempts.charge_approval(&caller.context, &client.client_id, &account.id).await?;

    let id = draw_id_at(&*app.dice, now);
    let auth_req_id = OpaqueKind::BackchannelRequest.mint(&id, &app.crypto.vault.now(), &*app.dice);
    let ping = parameters.notification_token.map(|token| {
        let content = PingContent { auth_req_id: auth_req_id.text.to_string(), token };
        sealed(&app, client, &content)
    });
    let request = ApprovalRequest {
        account: account.id.clone(),
        wanted,
        binding_message: parameters.binding_message,
        from: caller.context.device(),
        asked_at: now,
        expires_at: now + parameters.lives,
    };
    let expires_at = request.expires_at;
    let message =
        approval_notice::message(&app, &caller.context, client, (&account, &id, expires_at)).await;
    let pending = Pending { code: auth_req_id.fingerprint, request, ping, place: None };
    places.begin(&id, pending, message).await?;
    Ok(private_json(&CibaAnswer {
        auth_req_id: auth_req_id.text,
        expires_in: parameters.lives.as_secs(),
        interval: polls::INTERVAL.as_secs(),
    }))
}

/// Keeps what a ping will say where only this installation can read it.
fn sealed(app: &App, client: &KnownClient, content: &PingContent) -> String {
    let content = serde_json::to_vec(content).expect("plain data with text keys is JSON");
    let content = Zeroizing::new(content);
    let context = client.client_id.as_bytes();
    let sealed = app.crypto.vault.now().seal(PING_PURPOSE, context, &content, &*app.dice);
    URL_SAFE_NO_PAD.encode(sealed)
}
