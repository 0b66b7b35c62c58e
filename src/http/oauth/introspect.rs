//! Token introspection: RFC 7662, and RFC 9701 for callers that want it signed.
//!
//! A confidential client sees its own tokens, those of the resources in its `introspects`, and API keys
//! that may do something there; of others it learns nothing but `{"active": false}`. What is answered is
//! fresh (`grants::token_validity`, `grants::api_key`).

mod api_key;

use crate::{
    actors::{Failure, VersionedReply},
    crypto::{API_KEY_PREFIX, OpaqueKind},
    domain::{
        access_token::Claims,
        assurance::Level,
        authorization_details::Details,
        client::KnownClient,
        signing_keys::SigningAlgorithm,
        token_family::{Command, Reply},
    },
    http::{
        answer::{error::OAuthError, never_stored, private_json},
        app::App,
        extract::{
            client_auth::{self, Caller},
            context::RequestContext,
            form::PostedForm,
        },
        grants::token_validity,
        issuing::token_type,
        reading::read_token::ReadToken,
    },
};
use axum::{
    extract::State,
    http::{HeaderMap, HeaderValue, header},
    response::{IntoResponse, Response},
};
use serde::{Serialize, Serializer};
use std::sync::Arc;

/// What a token's holder may do, or that it may do nothing (RFC 7662 §2.2).
#[derive(Serialize)]
#[serde(untagged)]
pub enum IntrospectionAnswer {
    Active {
        active: bool,
        token_type: &'static str,
        /// The e-mail of the person, where the token has the scope `email`.
        #[serde(skip_serializing_if = "Option::is_none")]
        username: Option<String>,
        #[serde(flatten)]
        claims: TokenClaims,
    },
    Refresh {
        active: bool,
        iss: String,
        client_id: String,
        sub: String,
        scope: String,
        exp: i64,
        #[serde(skip_serializing_if = "Option::is_none")]
        org: Option<String>,
        #[serde(skip_serializing_if = "Details::is_empty")]
        authorization_details: Details,
    },
    ApiKey {
        active: bool,
        token_type: &'static str,
        iss: String,
        sub: String,
        org: String,
        scope: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        exp: Option<i64>,
    },
    Inactive {
        active: bool,
    },
}

/// The claims that are told of an access token.
pub enum TokenClaims {
    AsRead(Arc<ReadToken>),
    Changed(Box<Claims<'static>>),
}

impl Serialize for TokenClaims {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::AsRead(token) => Claims::serialize(token, serializer),
            Self::Changed(claims) => claims.serialize(serializer),
        }
    }
}

const INACTIVE: IntrospectionAnswer = IntrospectionAnswer::Inactive { active: false };

impl IntoResponse for IntrospectionAnswer {
    fn into_response(self) -> Response {
        private_json(&self)
    }
}

/// What a signed answer says (RFC 9701 §5): neither `sub` nor `exp`, so that it is no token itself.
#[derive(Serialize)]
struct SignedIntrospection<'a> {
    iss: &'a str,
    aud: &'a str,
    iat: i64,
    token_introspection: &'a IntrospectionAnswer,
}

/// The type of a signed answer, without `application/`.
const SIGNED: &str = "token-introspection+jwt";

pub async fn post(
    State(app): State<App>,
    RequestContext(context): RequestContext,
    posted: PostedForm,
) -> Result<Response, OAuthError> {
    // RFC 7662 §2.1: some form of authorization, or anyone could scan for tokens.
    let caller = client_auth::authenticate(&app, context, &posted).await?;
    let client = caller.confidential()?;
    let token = posted.form.token()?;
    let introspected = introspect(&app, &caller, token).await?;
    if !wants_signed(&posted.headers) {
        return Ok(introspected.into_response());
    }
    let algorithm = client.metadata.introspection_signed_response_alg;
    let claims = SignedIntrospection {
        iss: &app.issuer,
        aud: &client.client_id,
        iat: app.clock.now().seconds(),
        token_introspection: &introspected,
    };
    let signed = app.sign(algorithm.unwrap_or(SigningAlgorithm::Rs256), SIGNED, &claims)?;
    let kind = HeaderValue::from_static("application/token-introspection+jwt");
    let mut response = ([(header::CONTENT_TYPE, kind)], signed).into_response();
    never_stored(&mut response);
    Ok(response)
}

async fn introspect(
    app: &App,
    caller: &Caller,
    token: &str,
) -> Result<IntrospectionAnswer, OAuthError> {
    let client = caller.client();
    if token.starts_with(OpaqueKind::RefreshToken.prefix()) {
        return refresh_token(app, caller, token).await;
    }
    if token.starts_with(API_KEY_PREFIX) {
        return api_key::introspect(app, caller, token).await;
    }
    let Some(claims) = app.read_token_of_another(token) else { return Ok(INACTIVE) };
    if !may_see(app, client, &claims) {
        return Ok(INACTIVE);
    }
    // A client of a suspended organization may not ask either.
    let organization = client.organization.as_deref();
    let Some(good) = token_validity::of_token(app, &claims, organization).await? else {
        return Ok(INACTIVE);
    };
    let tells_email = claims.scope.split(' ').any(|scope| scope == "email");
    let username = good.account().filter(|_| tells_email).map(|known| known.email.clone());
    let token_type = token_type(claims.cnf);
    // The token says what the person had proved; here it is said what is left of that.
    let left = claims.level(app.clock.now()).map(Level::name);
    let claims = if claims.acr.as_deref() == left {
        TokenClaims::AsRead(claims)
    } else {
        let acr = left.map(Into::into);
        TokenClaims::Changed(Box::new(Claims { acr, ..Claims::clone(&claims) }))
    };
    Ok(IntrospectionAnswer::Active { active: true, token_type, username, claims })
}

/// Tells whether the caller names the signed form; one that likes both gets the signed one.
fn wants_signed(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut ranges = lines.flat_map(|line| line.split(',')).map(str::trim);
    ranges.any(|range| {
        let (name, parameters) = range.split_once(';').unwrap_or((range, ""));
        let refused = parameters.split(';').map(str::trim).any(|one| matches!(one, "q=0" | "Q=0"));
        name.trim().eq_ignore_ascii_case("application/token-introspection+jwt") && !refused
    })
}

fn may_see(app: &App, caller: &KnownClient, claims: &Claims<'_>) -> bool {
    // A token for the issuer is introspected by no API.
    let guarded =
        claims.aud != app.issuer && caller.introspects.iter().any(|one| *one == claims.aud);
    claims.client_id == caller.client_id || guarded
}

/// A client may ask whether a refresh token of its own is good; a spent one is not touched by that.
async fn refresh_token(
    app: &App,
    caller: &Caller,
    token: &str,
) -> Result<IntrospectionAnswer, OAuthError> {
    let client = caller.client();
    let Some(token) = OpaqueKind::RefreshToken.read(token, &app.crypto.vault.now()) else {
        return Ok(INACTIVE);
    };
    let shown = match app.entities.families.ask(&caller.context, &token.id, Command::ShowNow).await
    {
        Ok(VersionedReply { reply: Reply::Shown(shown), .. }) => shown,
        Ok(_) | Err(Failure::Refused(_) | Failure::Unmet { .. }) => {
            return Ok(INACTIVE);
        }
        Err(failure) => return Err(OAuthError::unavailable().because(failure.to_string())),
    };
    let grant = &shown.grant;
    let good = shown.refresh.filter(|present| {
        present.fingerprint == token.fingerprint && app.clock.now() < present.expires_at
    });
    let Some(present) = good.filter(|_| grant.client_id == client.client_id) else {
        return Ok(INACTIVE);
    };
    // What it rests on must still be live, as for an access token.
    let organization = client.organization.as_deref();
    if token_validity::of_grant(app, grant, &token.id, organization).await?.is_none() {
        return Ok(INACTIVE);
    }
    Ok(IntrospectionAnswer::Refresh {
        active: true,
        iss: app.issuer.clone(),
        client_id: grant.client_id.clone(),
        sub: grant.account.as_deref().map(|one| app.subject(client, one)).unwrap_or_default(),
        scope: grant.scopes.to_string(),
        exp: present.expires_at.seconds(),
        org: grant.organization().map(str::to_owned),
        authorization_details: grant.details.clone(),
    })
}
