//! What a person's grant costs at the least: a durable commit for the code, another for the tokens,
//! and two signatures.
//!
//! Nobody is looked up and nothing is compared. The code and the refresh token say which row they
//! belong to and which version of it was written last, so that nothing need be remembered either.

use crate::{
    Outcome,
    families::{Families, Written, grant},
    portal::NONCE,
    scene::Placed,
};
use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use porteiro::{
    clock::SystemClock,
    crypto::{Signer, SystemDice, draw_text},
    domain::{
        Clock as _,
        access_token::Claims,
        grant::Grant,
        id_token::{IdToken, Mint},
    },
};
use serde::Serialize;
use serde_json::json;
use std::{borrow::Cow, sync::Arc, time::Duration};

pub struct Person {
    families: Arc<Families>,
    issuer: String,
    redirect_uri: String,
    grant: Grant,
    claims: Claims<'static>,
    access: Arc<Signer>,
    identity: Arc<Signer>,
    /// The client whose ID tokens are signed as access tokens are, and how it authenticates.
    es256: (String, String),
    lifetime: u32,
}

/// As Porteiro answers.
#[derive(Serialize)]
struct Issued<'a> {
    access_token: &'a str,
    token_type: &'static str,
    expires_in: u32,
    refresh_token: String,
    id_token: String,
    scope: &'a str,
}

impl Person {
    pub fn new(
        placed: &Placed,
        families: Arc<Families>,
        (access, identity): (Arc<Signer>, Arc<Signer>),
    ) -> Outcome<Self> {
        let (scene, grant) = (&placed.scene, grant(&placed.scene)?);
        let membership = grant.membership.as_ref().and_then(|one| one.id.clone()).map(Into::into);
        let claims = Claims {
            sso: false,
            iss: placed.issuer.clone().into(),
            sub: grant.account.clone().unwrap_or_default().into(),
            aud: scene.resource.clone().into(),
            exp: 0,
            iat: 0,
            jti: String::new(),
            client_id: scene.portal.clone().into(),
            scope: scene.personal_scope(),
            org: Some(scene.organization.clone().into()),
            role: Some(scene.role.clone()),
            membership,
            epoch: 0,
            sid: grant.session.clone().map(Into::into),
            acr: Some(grant.level.name().into()),
            auth_time: Some(grant.authenticated_at.seconds()),
            userinfo_claims: None,
            authorization_details: grant.details.clone(),
            act: None,
            may_act: None,
            cnf: None,
        };
        Ok(Self {
            families,
            issuer: placed.issuer.clone(),
            redirect_uri: scene.redirect_uri.clone(),
            grant,
            claims,
            access,
            identity,
            es256: (scene.portal_es256.clone(), scene.credentials(&scene.portal_es256)),
            lifetime: scene.lifetime,
        })
    }

    pub fn claims(&self) -> &Claims<'static> {
        &self.claims
    }

    /// Commits once and signs twice, for whatever row a code or a refresh token names.
    pub async fn issue(&self, named: &str, nonce: Option<&str>, credentials: &[u8]) -> Response {
        let Some(written) = Written::read(named) else {
            return StatusCode::BAD_REQUEST.into_response();
        };
        let written = self.families.change(written).await.unwrap();
        let now = SystemClock.now();
        let iat = now.seconds();
        let mut claims = Claims {
            iat,
            exp: iat + i64::from(self.lifetime),
            jti: format!("{}.{}", written.id, draw_text(&SystemDice, 16)),
            ..self.claims.clone()
        };
        let mut grant = Cow::Borrowed(&self.grant);
        let mut signer = &self.identity;
        let (es256, authenticated) = &self.es256;
        if credentials == authenticated.as_bytes() {
            claims.client_id = es256.clone().into();
            grant.to_mut().client_id.clone_from(es256);
            signer = &self.access;
        }
        let access_token = &*self.access.sign("at+jwt", &claims).unwrap();
        let identity = IdToken::from(Mint {
            issuer: &self.issuer,
            subject: self.grant.account.as_deref().unwrap_or_default(),
            grant: &grant,
            nonce,
            access_token: Some(access_token),
            profile: serde_json::Map::new(),
            now,
            lifetime: Duration::from_secs(self.lifetime.into()),
        });
        let issued = Issued {
            access_token,
            token_type: "Bearer",
            expires_in: self.lifetime,
            refresh_token: written.text(),
            id_token: signer.sign("JWT", &identity).unwrap(),
            scope: &claims.scope,
        };
        ([(header::CACHE_CONTROL, "no-store")], Json(issued)).into_response()
    }
}

/// Commits once and sends whoever asks back with a code.
pub async fn authorize(State(limit): State<Arc<super::Limit>>) -> Response {
    let person = &limit.person;
    let written = person.families.begin().await.unwrap();
    let to = format!(
        "{}?code={}&state=af0ifjsldkj&iss={}",
        person.redirect_uri,
        written.text(),
        person.issuer
    );
    (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response()
}

/// Answers that a request was taken; Porteiro commits nothing for it either.
pub async fn push() -> Response {
    let sealed = draw_text(&SystemDice, 480);
    let request_uri = format!("urn:ietf:params:oauth:request_uri:{sealed}");
    let said = json!({ "request_uri": request_uri, "expires_in": 60 });
    (StatusCode::CREATED, Json(said)).into_response()
}

/// Commits once and tells a device what to show.
pub async fn device(State(limit): State<Arc<super::Limit>>) -> Response {
    let written = limit.person.families.begin().await.unwrap();
    Json(json!({
        "device_code": written.text(), "user_code": "BCDF-GHJK", "expires_in": 600,
        "verification_uri": "https://id.bench.test/device", "interval": 5,
    }))
    .into_response()
}

/// Commits once and tells a client how to ask what the person has decided.
pub async fn ask(State(limit): State<Arc<super::Limit>>, _body: Bytes) -> Response {
    let written = limit.person.families.begin().await.unwrap();
    let said = json!({ "auth_req_id": written.text(), "expires_in": 300, "interval": 5 });
    ([(header::CACHE_CONTROL, "no-store")], Json(said)).into_response()
}

/// Tells a device or a client that the person has not decided.
pub fn pending() -> Response {
    (StatusCode::BAD_REQUEST, Json(json!({ "error": "authorization_pending" }))).into_response()
}

impl Person {
    /// Commits a row as large as any, for an assertion that is used once.
    pub async fn note_assertion(&self) {
        self.families.begin().await.unwrap();
    }
}

/// Commits once for a token that is given back.
pub async fn revoke(State(limit): State<Arc<super::Limit>>, _body: Bytes) -> Response {
    limit.person.note_assertion().await;
    StatusCode::OK.into_response()
}

/// Commits once for a client, and says what it is.
pub async fn register(State(limit): State<Arc<super::Limit>>, _body: Bytes) -> Response {
    limit.person.note_assertion().await;
    let said = json!({
        "client_id": draw_text(&SystemDice, 24), "client_secret": draw_text(&SystemDice, 43),
        "client_id_issued_at": SystemClock.now().seconds(), "client_secret_expires_at": 0,
        "registration_access_token": draw_text(&SystemDice, 60),
        "registration_client_uri": format!("{}/connect/register/x", limit.person.issuer),
        "client_name": "Reports", "redirect_uris": [limit.person.redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
        "token_endpoint_auth_method": "client_secret_basic",
        "id_token_signed_response_alg": "RS256", "application_type": "web",
    });
    let no_store = [(header::CACHE_CONTROL, "no-store")];
    (StatusCode::CREATED, no_store, Json(said)).into_response()
}

/// Finds what the form presents; of the rest nothing is read.
pub fn presented(form: &str) -> Option<(&str, Option<&'static str>)> {
    match value_of(form, "code=") {
        Some(code) => Some((code, Some(NONCE))),
        None => value_of(form, "refresh_token=").map(|token| (token, None)),
    }
}

/// Finds a value that needs no escaping, by its name with the equals sign.
pub fn value_of<'a>(form: &'a str, name: &str) -> Option<&'a str> {
    form.split('&').find_map(|pair| pair.strip_prefix(name))
}
