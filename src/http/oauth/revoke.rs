//! Token revocation: RFC 7009.

use crate::{
    actors::{Entities, Failure},
    crypto::OpaqueKind,
    domain::{Machine, access_token::Command, token_family},
    http::{
        answer::{
            error::{Code, OAuthError},
            never_stored,
        },
        app::App,
        extract::{client_auth, form::Posted},
        facts::tries::{Stopped, Tries},
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
    Posted { headers, form, .. }: Posted,
) -> Result<Response, OAuthError> {
    let caller = client_auth::authenticate(&app, &headers, &form).await?;
    let token = form.token()?;
    let client_id = &caller.client().client_id;
    if let Some(token) = OpaqueKind::RefreshToken.read(token, &app.vault.now()) {
        let revoke = token_family::Command::Revoke { client_id: client_id.clone() };
        return match insist(&app.families, &token.id, revoke).await {
            Err(Stopped::Failed(Failure::Refused(token_family::Refusal::WrongClient))) => {
                Err(FOREIGN)
            }
            // Nothing of it is left, which is what was wanted.
            Ok(()) | Err(Stopped::Failed(Failure::Refused(_))) => Ok(done()),
            // To revoke it again changes nothing: the caller may come back.
            Err(_) => Err(OAuthError::unavailable()),
        };
    }
    // RFC 7009 §2.2: what is no token of ours needs no revocation, which is what was wanted.
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
        let revoked = insist(&app.access_tokens, &claims.jti, revoke).await;
        revoked.map_err(|_| OAuthError::unavailable())?;
    }
    Ok(done())
}

/// Has it carried out though the caller hangs up, and asks again where that is in doubt.
async fn insist<M: Machine>(
    entities: &Entities<M>,
    id: &str,
    revoke: M::Command,
) -> Result<(), Stopped<M::Refusal>>
where
    M::Command: Clone,
{
    let mut tries = Tries::new();
    while let Err(failure) = entities.insist(id, revoke.clone()).await {
        tries.after(failure).await?;
    }
    Ok(())
}

fn done() -> Response {
    let mut response = StatusCode::OK.into_response();
    never_stored(&mut response);
    response
}
