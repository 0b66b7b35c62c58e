//! Token revocation: RFC 7009.

use crate::{
    actors::Failure,
    crypto::OpaqueKind,
    domain::{access_token::Command, token_family},
    http::{
        answer::{
            error::{Code, OAuthError},
            never_stored,
        },
        app::App,
        extract::{client_auth, context::RequestContext, form::Posted},
    },
};
use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use std::borrow::Cow;

const FOREIGN: OAuthError =
    OAuthError::new(Code::InvalidRequest, "the token was issued to another client");

pub async fn post(
    State(app): State<App>,
    RequestContext(context): RequestContext,
    posted: Posted,
) -> Result<Response, OAuthError> {
    let caller = client_auth::authenticate(&app, context, &posted).await?;
    let token = posted.form.token()?;
    let client_id = &caller.client().client_id;
    if let Some(token) = OpaqueKind::RefreshToken.read(token, &app.vault.now()) {
        let revoke = token_family::Command::Revoke { client_id: client_id.clone() };
        // Carried out even if the caller closes the connection.
        return match app.families.ask_detached(&caller.context, &token.id, revoke).await {
            Err(Failure::Refused(token_family::Refusal::WrongClient)) => Err(FOREIGN),
            // The family has ended already.
            Ok(_) | Err(Failure::Refused(_)) => Ok(done()),
            Err(failure) => Err(OAuthError::unavailable().because(failure.to_string())),
        };
    }
    // RFC 7009 §2.2: a token that is not ours, or no longer, needs no revocation.
    if let Some(claims) = app.read_access_token(token) {
        // RFC 7009 §2.1: it must have been issued to the client that asks.
        if claims.client_id != *client_id {
            return Err(FOREIGN);
        }
        let revoke = Command::Revoke {
            expires_at: claims.expires_at(),
            client_id: claims.client_id.into_owned(),
            organization: claims.org.map(Cow::into_owned),
        };
        // Carried out even if the caller closes the connection.
        app.access_tokens
            .ask_detached(&caller.context, &claims.jti, revoke)
            .await
            .map_err(|failure| OAuthError::unavailable().because(failure.to_string()))?;
    }
    Ok(done())
}

fn done() -> Response {
    let mut response = StatusCode::OK.into_response();
    never_stored(&mut response);
    response
}
