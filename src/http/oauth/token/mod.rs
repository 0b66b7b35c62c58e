//! The token endpoint: client authentication, then the grant by its name (RFC 6749 §3.2).
//!
//! A grant is a file here and a line in [`GRANTS`]. It reads what is presented, and has the tokens
//! issued by [`issue`].

mod authorization_code;
mod ciba;
mod client_credentials;
mod device_code;
mod issue;
mod polled;
mod refresh_token;
mod token_exchange;

use crate::{
    domain::client::GrantType,
    http::{
        answer::error::{Code, OAuthError},
        app::App,
        extract::{
            client_auth::{self, Caller},
            context::RequestContext,
            form::{Form, PostedForm},
        },
        issuing::TokenResponse,
    },
};
use axum::extract::State;
use std::pin::Pin;

type Issuance<'a> = Pin<Box<dyn Future<Output = Result<TokenResponse, OAuthError>> + Send + 'a>>;

/// A grant type and what serves it.
struct Grant {
    kind: GrantType,
    serve: for<'a> fn(&'a App, &'a Caller, &'a Form) -> Issuance<'a>,
}

/// Every grant that is served; metadata and metrics are read from it.
static GRANTS: [Grant; 6] = [
    authorization_code::GRANT,
    refresh_token::GRANT,
    client_credentials::GRANT,
    device_code::GRANT,
    ciba::GRANT,
    token_exchange::GRANT,
];

/// Lists the grant types that are served.
pub fn grants() -> impl Iterator<Item = GrantType> {
    GRANTS.iter().map(|grant| grant.kind)
}

pub async fn post(
    State(app): State<App>,
    RequestContext(context): RequestContext,
    posted: PostedForm,
) -> Result<TokenResponse, OAuthError> {
    const UNSUPPORTED: OAuthError =
        OAuthError::new(Code::UnsupportedGrantType, "this grant type is not offered");
    let caller = client_auth::authenticate(&app, context, &posted).await?;
    let form = &posted.form;
    let missing = OAuthError::new(Code::InvalidRequest, "the parameter grant_type is missing");
    let kind = match form.get("grant_type").ok_or(missing)? {
        // Contract §4: the short name is accepted as well.
        "token-exchange" => Some(GrantType::TokenExchange),
        name => GrantType::by_name(name),
    };
    let grant = GRANTS.iter().find(|grant| Some(grant.kind) == kind).ok_or(UNSUPPORTED)?;
    if !caller.client().may_use(grant.kind) {
        let why = "the client is not registered for this grant type";
        return Err(OAuthError::new(Code::UnauthorizedClient, why));
    }
    let issued = (grant.serve)(&app, &caller, form).await?;
    // Not before something was granted: any caller may name a public client.
    match grant.kind {
        GrantType::ClientCredentials => app.note_own_use_of(&caller.context, caller.client()),
        _ => app.note_use_of(&caller.context, caller.client()),
    }
    app.vitals.issued(grant.kind);
    Ok(issued)
}
