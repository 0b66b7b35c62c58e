//! The token endpoint: client authentication, then the grant by its name (RFC 6749 §3.2).

mod client_credentials;

use crate::{
    domain::client::GrantType,
    http::{
        App,
        answer::private_json,
        client_auth,
        error::{Code, OAuthError},
        form::Posted,
    },
};
use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use serde::Serialize;

/// A successful answer (RFC 6749 §5.1).
#[derive(Serialize)]
pub struct Issued {
    access_token: String,
    token_type: &'static str,
    expires_in: u64,
    #[serde(skip_serializing_if = "String::is_empty")]
    scope: String,
}

impl IntoResponse for Issued {
    fn into_response(self) -> Response {
        private_json(&self)
    }
}

/// The grants that are served here.
pub const GRANTS: [GrantType; 1] = [GrantType::ClientCredentials];

pub async fn post(
    State(app): State<App>,
    Posted { headers, form, .. }: Posted,
) -> Result<Issued, OAuthError> {
    const UNSUPPORTED: OAuthError =
        OAuthError::new(Code::UnsupportedGrantType, "this grant type is not offered");
    let caller = client_auth::authenticate(&app, &headers, &form).await?;
    let missing = OAuthError::new(Code::InvalidRequest, "the parameter grant_type is missing");
    let grant = GrantType::by_name(form.get("grant_type").ok_or(missing)?);
    let grant = grant.filter(|grant| GRANTS.contains(grant)).ok_or(UNSUPPORTED)?;
    if !caller.client().may_use(grant) {
        let why = "the client is not registered for this grant type";
        return Err(OAuthError::new(Code::UnauthorizedClient, why));
    }
    let issued = match grant {
        GrantType::ClientCredentials => client_credentials::grant(&app, caller, &form).await?,
        _ => return Err(UNSUPPORTED),
    };
    app.vitals.issued(grant);
    Ok(issued)
}
