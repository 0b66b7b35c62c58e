//! The token endpoint: client authentication, then the grant by its name (RFC 6749 §3.2).

mod authorization_code;
mod client_credentials;
mod issue;
mod refresh_token;

use crate::{
    domain::client::GrantType,
    http::{
        answer::{
            error::{Code, OAuthError},
            private_json,
        },
        app::App,
        extract::{client_auth, context::RequestContext, form::Posted},
    },
};
use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use serde::Serialize;
use zeroize::Zeroizing;

/// A successful answer (RFC 6749 §5.1).
#[derive(Serialize)]
pub struct Issued {
    access_token: String,
    token_type: &'static str,
    expires_in: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<Zeroizing<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id_token: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    scope: String,
}

impl IntoResponse for Issued {
    fn into_response(self) -> Response {
        private_json(&self)
    }
}

/// The grants that are served here.
pub const GRANTS: [GrantType; 3] =
    [GrantType::AuthorizationCode, GrantType::RefreshToken, GrantType::ClientCredentials];

pub async fn post(
    State(app): State<App>,
    RequestContext(context): RequestContext,
    posted: Posted,
) -> Result<Issued, OAuthError> {
    const UNSUPPORTED: OAuthError =
        OAuthError::new(Code::UnsupportedGrantType, "this grant type is not offered");
    let caller = client_auth::authenticate(&app, context, &posted).await?;
    let form = &posted.form;
    let missing = OAuthError::new(Code::InvalidRequest, "the parameter grant_type is missing");
    let grant = GrantType::by_name(form.get("grant_type").ok_or(missing)?);
    let grant = grant.filter(|grant| GRANTS.contains(grant)).ok_or(UNSUPPORTED)?;
    if !caller.client().may_use(grant) {
        let why = "the client is not registered for this grant type";
        return Err(OAuthError::new(Code::UnauthorizedClient, why));
    }
    let issued = match grant {
        GrantType::AuthorizationCode => authorization_code::grant(&app, &caller, form).await?,
        GrantType::RefreshToken => refresh_token::grant(&app, &caller, form).await?,
        GrantType::ClientCredentials => client_credentials::grant(&app, &caller, form).await?,
        _ => return Err(UNSUPPORTED),
    };
    // Not before something was granted: anyone may name a public client.
    match grant {
        GrantType::ClientCredentials => app.note_own_use_of(&caller.context, caller.client()),
        _ => app.note_use_of(&caller.context, caller.client()),
    }
    app.vitals.issued(grant);
    Ok(issued)
}
