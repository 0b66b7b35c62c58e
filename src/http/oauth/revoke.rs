//! Token revocation: RFC 7009.

use crate::{
    domain::access_token::Command,
    http::{
        App,
        answer::never_stored,
        client_auth,
        error::{Code, OAuthError},
        form::Posted,
    },
};
use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use std::borrow::Cow;

pub async fn post(
    State(app): State<App>,
    Posted { headers, form, .. }: Posted,
) -> Result<Response, OAuthError> {
    let caller = client_auth::authenticate(&app, &headers, &form).await?;
    let token = form.token()?;
    // RFC 7009 §2.2: what is no token of ours needs no revocation, which is what was wanted.
    if let Some(claims) = app.read_access_token(token) {
        // RFC 7009 §2.1: it must have been issued to the client that asks.
        if claims.client_id != caller.client().client_id {
            let why = "the token was issued to another client";
            return Err(OAuthError::new(Code::InvalidRequest, why));
        }
        let revoke = Command::Revoke {
            expires_at: claims.expires_at(),
            client_id: claims.client_id.into_owned(),
            organization: claims.org.map(Cow::into_owned),
        };
        // Carried out though the caller hangs up.
        app.access_tokens
            .insist(&claims.jti, revoke)
            .await
            .map_err(|failure| OAuthError::unavailable().because(failure.to_string()))?;
    }
    let mut response = StatusCode::OK.into_response();
    never_stored(&mut response);
    Ok(response)
}
