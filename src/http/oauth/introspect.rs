//! Token introspection: RFC 7662.
//!
//! A confidential client sees its own tokens and those of the resources it guards; of all others it
//! learns nothing but `{"active": false}`. What is answered is fresh: the standing of everything the
//! token rests on is read in one query, and authority is narrowed once more over what is true now.

use crate::{
    domain::{
        Machine as _,
        access_token::{AccessToken, Claims},
        authority::{Asked, Audience, Scopes},
        client::{Client, KnownClient},
        organization::Organization,
    },
    http::{
        App, client_auth,
        error::{Code, OAuthError, never_stored},
        form::Form,
    },
};
use axum::{
    Json,
    extract::State,
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use serde::Serialize;

/// What a token's holder may do, or that it may do nothing (RFC 7662 §2.2).
#[derive(Serialize)]
#[serde(untagged)]
pub enum Introspected {
    Active {
        active: bool,
        token_type: &'static str,
        #[serde(flatten)]
        claims: Box<Claims>,
    },
    Inactive {
        active: bool,
    },
}

const INACTIVE: Introspected = Introspected::Inactive { active: false };

impl IntoResponse for Introspected {
    fn into_response(self) -> Response {
        let mut response = Json(self).into_response();
        never_stored(&mut response);
        response
    }
}

pub async fn post(
    State(app): State<App>,
    headers: HeaderMap,
    form: Form,
) -> Result<Introspected, OAuthError> {
    // RFC 7662 §2.1: some form of authorization, or anyone could scan for tokens.
    let caller = client_auth::authenticate(&app, &headers, &form).await?.confidential()?;
    let missing = OAuthError::new(Code::InvalidRequest, "the parameter token is missing");
    let token = form.get("token").ok_or(missing)?;
    let Some(claims) = app.read_access_token(token) else { return Ok(INACTIVE) };
    if !may_see(caller.client(), &claims) || !is_good(&app, &claims).await? {
        return Ok(INACTIVE);
    }
    Ok(Introspected::Active { active: true, token_type: "Bearer", claims: Box::new(claims) })
}

fn may_see(caller: &KnownClient, claims: &Claims) -> bool {
    claims.client_id == caller.client_id || caller.introspects.contains(&claims.aud)
}

/// Tells whether everything the token says is still true.
async fn is_good(app: &App, claims: &Claims) -> Result<bool, OAuthError> {
    let unavailable = |_| OAuthError::unavailable();
    let now = app.clock.now();
    let mut asked = vec![(AccessToken::KIND, &*claims.jti), (Client::KIND, &*claims.client_id)];
    asked.extend(claims.org.as_deref().map(|slug| (Organization::KIND, slug)));
    let found = app.store.standing(&asked).await.map_err(|_| OAuthError::unavailable())?;
    // A row of the token itself says that it was revoked.
    if found[0].is_some() {
        return Ok(false);
    }
    let Some(client) = found[1].filter(|standing| standing.is_live(now)) else { return Ok(false) };
    let client = app.clients.at_version(&claims.client_id, client.version).await;
    let client = client.map_err(unavailable)?;
    let Some(client) = client.machine.known() else { return Ok(false) };
    if claims.org != client.organization {
        return Ok(false);
    }
    let Some(slug) = &claims.org else { return Ok(still_covered(client, None, claims)) };
    let Some(home) = found[2].filter(|standing| standing.is_live(now)) else { return Ok(false) };
    let home = app.organizations.at_version(slug, home.version).await.map_err(unavailable)?;
    Ok(home.machine.known().is_some_and(|home| still_covered(client, Some(home), claims)))
}

fn still_covered(
    client: &KnownClient,
    home: Option<&crate::domain::organization::Known>,
    claims: &Claims,
) -> bool {
    let Ok(scopes) = Scopes::parse(&claims.scope) else { return false };
    let (organization, audience) = (claims.org.clone(), Audience::Resource(claims.aud.clone()));
    let held = client.roles_at(home);
    claims.roles().all(|role| held.iter().any(|one| one == role))
        && client.narrow(home, Asked { organization, audience, scopes }).is_ok()
}
