//! Pushed authorization requests: RFC 9126.
//!
//! 1. the client authenticates as at the token endpoint;
//! 2. the request passes the same table of checks as at the authorization endpoint; an error is
//!    answered here, in JSON;
//! 3. the parameters are sealed in a `request_uri`. Nothing is written (adr/0068).

use super::authorize::{
    checks::{self, Endpoint},
    proof,
    pushed::{self, PushedContent},
    source,
};
use crate::http::{
    answer::{
        error::{Code, OAuthError},
        private_json,
    },
    app::App,
    extract::{
        client_auth,
        context::RequestContext,
        form::PostedForm,
        possession::{self, INVALID_PROOF},
    },
};
use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde::Serialize;

/// RFC 9126 §2.2.
#[derive(Serialize)]
struct ParAnswer {
    request_uri: String,
    expires_in: u64,
}

pub async fn post(
    State(app): State<App>,
    RequestContext(context): RequestContext,
    posted: PostedForm,
) -> Result<Response, OAuthError> {
    let caller = client_auth::authenticate_to_begin(&app, context, &posted).await?;
    let client = caller.client();
    let form = &posted.form;
    if form.get("request_uri").is_some() {
        let why = "a request_uri cannot be pushed";
        return Err(OAuthError::new(Code::InvalidRequest, why));
    }
    let source = source::resolve(&app, client, form).await?;
    if let Some(flaw) = source.flaw {
        return Err(flaw);
    }
    let form = source.form();
    // The client is the one that has authenticated, however it named itself.
    let proven = proof::prove(caller.seen().clone(), form)?;
    let request = checks::run(&app, &source, &proven, Endpoint::Pushed).await?;
    let key = caller.proved.held.key;
    // RFC 9449 §10.1: a proof says the same as `dpop_jkt`.
    if key.is_some() && request.key.is_some() && key != request.key {
        return Err(INVALID_PROOF.because("dpop_jkt is another key"));
    }
    possession::spend(&app, &caller.context, caller.proved.proof.as_ref()).await?;
    let lives = client.rules().pushed_for(app.settings.lifetimes.par);
    let content = PushedContent { form, key, is_signed: source.is_signed, lives };
    let request_uri = pushed::seal(&app, &client.client_id, &content)?;
    let expires_in = lives.as_secs();
    Ok((StatusCode::CREATED, private_json(&ParAnswer { request_uri, expires_in })).into_response())
}
