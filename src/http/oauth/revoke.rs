//! Token revocation: RFC 7009.

use crate::{
    actors::{Entities, Failure},
    crypto::OpaqueKind,
    domain::{Context, Machine, access_token::Command, token_family},
    http::{
        answer::{
            error::{Code, OAuthError},
            never_stored,
        },
        app::App,
        extract::{client_auth, context::RequestContext, form::PostedForm},
        reading::retries::{FinalFailure, Retries},
    },
};
use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};

const FOREIGN: OAuthError =
    OAuthError::new(Code::InvalidRequest, "the token was issued to another client");

pub async fn post(
    State(app): State<App>,
    RequestContext(context): RequestContext,
    posted: PostedForm,
) -> Result<Response, OAuthError> {
    let caller = client_auth::authenticate(&app, context, &posted).await?;
    let token = posted.form.token()?;
    let client_id = &caller.client().client_id;
    if let Some(token) = OpaqueKind::RefreshToken.read(token, &app.crypto.vault.now()) {
        let revoke = token_family::Command::Revoke { client_id: client_id.clone() };
        return match insist(&app.entities.families, &caller.context, &token.id, revoke).await {
            Err(FinalFailure::Failed(Failure::Refused(token_family::Refusal::WrongClient))) => {
                Err(FOREIGN)
            }
            // The family has ended already.
            Ok(()) | Err(FinalFailure::Failed(Failure::Refused(_))) => Ok(done()),
            // To revoke it again changes nothing: the caller may come back.
            Err(_) => Err(OAuthError::unavailable()),
        };
    }
    // RFC 7009 §2.2: a token that is not ours, or no longer, needs no revocation.
    if let Some(claims) = app.read_token_of_another(token) {
        // RFC 7009 §2.1: it must have been issued to the client that asks.
        if claims.client_id != *client_id {
            return Err(FOREIGN);
        }
        // What is held for another is one token, and what was exchanged for it ends with its family.
        if let Some(family) = claims.family().filter(|_| claims.act.is_some()) {
            let revoke = token_family::Command::Revoke { client_id: client_id.clone() };
            return match insist(&app.entities.families, &caller.context, family, revoke).await {
                Ok(()) | Err(FinalFailure::Failed(Failure::Refused(_))) => Ok(done()),
                Err(_) => Err(OAuthError::unavailable()),
            };
        }
        let revoke = Command::Revoke {
            expires_at: claims.expires_at(),
            client_id: claims.client_id.to_string(),
            organization: claims.org.as_deref().map(str::to_owned),
        };
        let (tokens, context) = (&app.entities.access_tokens, &caller.context);
        // Most tokens are given back once, and have no row.
        if tokens.ask_new(context, &claims.jti, revoke.clone()).await.is_err() {
            let revoked = insist(tokens, context, &claims.jti, revoke).await;
            revoked.map_err(|_| OAuthError::unavailable())?;
        }
    }
    Ok(done())
}

/// Has it carried out even if the caller closes the connection, and asks again where that is in doubt.
async fn insist<M: Machine>(
    entities: &Entities<M>,
    context: &Context,
    id: &str,
    revoke: M::Command,
) -> Result<(), FinalFailure<M::Refusal>>
where
    M::Command: Clone,
{
    let mut tries = Retries::new();
    while let Err(failure) = entities.ask_detached(context, id, revoke.clone()).await {
        tries.after(failure).await?;
    }
    Ok(())
}

fn done() -> Response {
    let mut response = StatusCode::OK.into_response();
    never_stored(&mut response);
    response
}
