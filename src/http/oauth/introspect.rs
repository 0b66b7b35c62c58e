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
        client::{Client, GrantType, KnownClient},
        organization::{self, Organization},
        resource::Resource,
    },
    http::{App, answer::private_json, client_auth, error::OAuthError, form::Posted, target},
};
use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use serde::Serialize;
use std::borrow::Cow;

/// What a token's holder may do, or that it may do nothing (RFC 7662 §2.2).
#[derive(Serialize)]
#[serde(untagged)]
pub enum Introspected {
    Active {
        active: bool,
        token_type: &'static str,
        #[serde(flatten)]
        claims: Box<Claims<'static>>,
    },
    Inactive {
        active: bool,
    },
}

const INACTIVE: Introspected = Introspected::Inactive { active: false };

impl IntoResponse for Introspected {
    fn into_response(self) -> Response {
        private_json(&self)
    }
}

pub async fn post(
    State(app): State<App>,
    Posted { headers, form, .. }: Posted,
) -> Result<Introspected, OAuthError> {
    // RFC 7662 §2.1: some form of authorization, or anyone could scan for tokens.
    let caller = client_auth::authenticate(&app, &headers, &form).await?.confidential()?;
    let token = form.token()?;
    let Some(claims) = app.read_access_token(token) else { return Ok(INACTIVE) };
    let caller = caller.client();
    if !may_see(&app, caller, &claims) || !is_good(&app, caller, &claims).await? {
        return Ok(INACTIVE);
    }
    Ok(Introspected::Active { active: true, token_type: "Bearer", claims: Box::new(claims) })
}

fn may_see(app: &App, caller: &KnownClient, claims: &Claims<'_>) -> bool {
    // What is for the issuer is guarded by nobody else.
    let guarded =
        claims.aud != app.issuer && caller.introspects.iter().any(|one| *one == claims.aud);
    claims.client_id == caller.client_id || guarded
}

/// Tells whether everything the token says is still true, and whether its asker may still ask.
async fn is_good(app: &App, caller: &KnownClient, claims: &Claims<'_>) -> Result<bool, OAuthError> {
    let now = app.clock.now();
    let to_an_api = claims.aud != app.issuer;
    let mut asked = vec![(AccessToken::KIND, &*claims.jti), (Client::KIND, &*claims.client_id)];
    asked.extend(to_an_api.then_some((Resource::KIND, &*claims.aud)));
    asked.extend(claims.org.as_deref().map(|slug| (Organization::KIND, slug)));
    asked.extend(caller.organization.as_deref().map(|slug| (Organization::KIND, slug)));
    let found = app.store.standing(&asked).await?;
    // A row of the token itself says that it was revoked; of everything else, that it is there.
    let all_live = found[1..].iter().all(|found| found.is_some_and(|found| found.is_live(now)));
    if found[0].is_some() || !all_live {
        return Ok(false);
    }
    let version = |kind: &str, id: &str| {
        let place = asked.iter().position(|(of, name)| (*of, *name) == (kind, id));
        place.and_then(|place| found[place]).map_or(0, |found| found.version)
    };
    let id = &claims.client_id;
    let client = app.clients.at_version(id, version(Client::KIND, id)).await?;
    let Some(client) = client.machine.known() else { return Ok(false) };
    let home = match &claims.org {
        None => None,
        Some(slug) => {
            let version = version(Organization::KIND, slug);
            Some(app.organizations.at_version(slug, version).await?)
        }
    };
    let (audience, offered) = if to_an_api {
        let version = version(Resource::KIND, &claims.aud);
        let resource = app.resources.at_version(&claims.aud, version).await?;
        let Some(known) = resource.machine.known() else { return Ok(false) };
        let offered = target::scopes_of(known).map(str::to_owned).collect();
        (Audience::Resource(claims.aud.clone().into_owned()), offered)
    } else {
        (Audience::Issuer, Vec::new())
    };
    let home = home.as_ref().and_then(|home| home.machine.known());
    let Ok(scopes) = Scopes::parse(&claims.scope) else { return Ok(false) };
    let organization = claims.org.clone().map(Cow::into_owned);
    let asked = Asked { organization, audience, offered, scopes };
    Ok(still_holds(client, home, asked, claims))
}

/// Narrows once more what the token says, over what is true now.
fn still_holds(
    client: &KnownClient,
    home: Option<&organization::Known>,
    asked: Asked,
    claims: &Claims<'_>,
) -> bool {
    let held = client.roles_at(home);
    let owned = |scope: &str| asked.offered.iter().any(|one| one == scope);
    asked.scopes.of_apis().all(owned)
        && claims.org.as_deref() == client.organization.as_deref()
        && client.may_use(GrantType::ClientCredentials)
        && claims.roles().all(|role| held.contains(&role))
        && client.narrow(home, asked).is_ok()
}
