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
use std::{path::Path, sync::Arc, time::Duration};

pub struct Person {
    families: Families,
    issuer: String,
    redirect_uri: String,
    grant: Grant,
    claims: Claims<'static>,
    access: Arc<Signer>,
    identity: Arc<Signer>,
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
    pub async fn new(
        placed: &Placed,
        database: &Path,
        (access, identity): (Arc<Signer>, Arc<Signer>),
    ) -> Outcome<Self> {
        let (scene, grant) = (&placed.scene, grant(&placed.scene)?);
        let membership = grant.membership.as_ref().and_then(|one| one.id.clone()).map(Into::into);
        let claims = Claims {
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
        };
        Ok(Self {
            families: Families::open(database, scene).await?,
            issuer: placed.issuer.clone(),
            redirect_uri: scene.redirect_uri.clone(),
            grant,
            claims,
            access,
            identity,
            lifetime: scene.lifetime,
        })
    }

    /// Commits once and signs twice, for whatever row a code or a refresh token names.
    pub async fn issue(&self, named: &str, nonce: Option<&str>) -> Response {
        let Some(written) = Written::read(named) else {
            return StatusCode::BAD_REQUEST.into_response();
        };
        let written = self.families.change(written).await.unwrap();
        let now = SystemClock.now();
        let iat = now.seconds();
        let claims = Claims {
            iat,
            exp: iat + i64::from(self.lifetime),
            jti: format!("{}.{}", written.id, draw_text(&SystemDice, 16)),
            ..self.claims.clone()
        };
        let access_token = &*self.access.sign("at+jwt", &claims).unwrap();
        let identity = IdToken::from(Mint {
            issuer: &self.issuer,
            subject: self.grant.account.as_deref().unwrap_or_default(),
            grant: &self.grant,
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
            id_token: self.identity.sign("JWT", &identity).unwrap(),
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

/// Finds what the form presents; of the rest nothing is read.
pub fn presented(form: &str) -> Option<(&str, Option<&'static str>)> {
    let value = |name| form.split('&').find_map(|pair| pair.strip_prefix(name));
    match value("code=") {
        Some(code) => Some((code, Some(NONCE))),
        None => value("refresh_token=").map(|token| (token, None)),
    }
}
