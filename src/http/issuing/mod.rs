//! Signs what was granted: the last step of every grant, and of an impersonation.

mod start;

pub use start::{DelegatedGrant, IssuanceFailure, SubjectToken, start};

use crate::{
    actors::EntitySnapshot,
    crypto::draw_id_at,
    domain::{
        access_token::{self, Claims, Mint},
        authority::{Audience, GROUPS, GrantedAuthority},
        authorization_details::Details,
        client::{Client, KnownClient},
        grant::Grant,
        id_token::{self, IdToken},
        possession::Confirmation,
        signing_keys::SigningAlgorithm,
        token_family::{Lifetimes, Reply},
    },
    http::{
        answer::{
            error::{Code, OAuthError},
            private_json,
        },
        app::App,
    },
};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::Arc;
use zeroize::Zeroizing;

/// A token response: the successful answer (RFC 6749 §5.1).
#[derive(Serialize)]
pub struct TokenResponse {
    pub access_token: String,
    /// RFC 8693 §2.2.1.
    #[serde(rename = "issued_token_type", skip_serializing_if = "Option::is_none")]
    pub exchanged_for: Option<&'static str>,
    pub token_type: &'static str,
    pub expires_in: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<Zeroizing<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_token: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub scope: String,
    /// RFC 9396 §7.
    #[serde(skip_serializing_if = "Details::is_empty")]
    pub authorization_details: Details,
}

impl IntoResponse for TokenResponse {
    fn into_response(self) -> Response {
        private_json(&self)
    }
}

/// What is signed.
#[derive(Clone, Copy)]
pub struct TokenContent<'a> {
    pub client: &'a KnownClient,
    pub granted: &'a GrantedAuthority,
    pub roles: &'a [String],
    /// Of everything that the grant rests on.
    pub epoch: u64,
    /// The grant of a person, if there is one.
    pub under: Option<Under<'a>>,
    /// The key that the access token is bound to.
    pub bound: Option<Confirmation>,
}

/// A grant of a person, and its family.
#[derive(Clone, Copy)]
pub struct Under<'a> {
    pub grant: &'a Grant,
    pub family: &'a str,
    pub nonce: Option<&'a str>,
    /// The claims of the person that the ID token tells.
    pub profile: &'a Map<String, Value>,
}

/// What signs the reply of a family, while the family commits it.
pub struct FamilySigner {
    pub app: App,
    pub client: Arc<EntitySnapshot<Client>>,
    pub family: String,
    pub nonce: Option<String>,
    /// The claims of the person that the ID token tells.
    pub profile: Arc<Map<String, Value>>,
    pub roles: Vec<String>,
    /// The key that the access token is bound to.
    pub bound: Option<Confirmation>,
}

impl FamilySigner {
    /// Signs what a family has decided to issue; `None` for any other reply.
    pub fn sign(&self, reply: &Reply) -> Option<Result<TokenResponse, OAuthError>> {
        let (Reply::Issue(issue), Some(client)) = (reply, self.client.machine.known()) else {
            return None;
        };
        let Self { app, family, nonce, profile, roles, bound, .. } = self;
        let under = Under { grant: &issue.grant, family, nonce: nonce.as_deref(), profile };
        let epoch = issue.grant.epochs();
        let granted = &issue.granted;
        let (under, bound) = (Some(under), *bound);
        Some(sign(app, TokenContent { client, granted, roles, epoch, under, bound }))
    }
}

/// How a token is presented (RFC 6750, RFC 9449 §5).
pub fn token_type(bound: Option<Confirmation>) -> &'static str {
    match bound {
        Some(Confirmation::Key(_)) => "DPoP",
        Some(Confirmation::Certificate(_)) | None => "Bearer",
    }
}

/// The recipient of this name.
pub fn audience(app: &App, name: &str) -> Audience {
    if name == app.issuer { Audience::Issuer } else { Audience::Resource(name.to_owned()) }
}

/// Refuses a client that must not get the tokens that are issued here.
pub fn check_client(app: &App, client: &KnownClient) -> Result<(), OAuthError> {
    // A token that any holder could use is not what such a client has asked for.
    if client.demands_certificates() && app.settings.mutual_tls.is_none() {
        let why = "the client wants tokens bound to certificates, which are not offered here";
        return Err(OAuthError::new(Code::UnauthorizedClient, why));
    }
    Ok(())
}

/// How long tokens live.
pub fn lifetimes(app: &App) -> Lifetimes {
    Lifetimes {
        access_token: app.settings.lifetimes.access_token,
        refresh_idle: app.settings.lifetimes.refresh_idle,
        refresh_ceiling: app.settings.lifetimes.refresh_ceiling,
    }
}

/// Signs what was granted: an access token, and an ID token where a person granted `openid`.
pub fn sign(app: &App, signing: TokenContent<'_>) -> Result<TokenResponse, OAuthError> {
    let TokenContent { client, granted, roles, epoch, under, bound } = signing;
    let now = app.clock.now();
    let person = under.and_then(|under| under.grant.account.as_deref());
    let pseudonym = person.map(|account| app.subject(client, account));
    let delegation = under.and_then(|under| under.grant.delegation.as_deref());
    let other = delegation.and_then(|one| one.subject.as_deref());
    let subject = pseudonym.as_deref().or(other).unwrap_or(&client.client_id);
    let claims = Claims::from(Mint {
        issuer: &app.issuer,
        client_id: &client.client_id,
        subject,
        granted,
        roles,
        epoch,
        may_act: client.may_act.as_deref(),
        id: draw_id_at(&*app.dice, now),
        under: under.map(|under| (under.grant, under.family)),
        bound,
        now,
        lifetime: app.settings.lifetimes.access_token,
    });
    let access_token = app.sign(SigningAlgorithm::Es256, access_token::TYPE, &claims)?;
    let scope = claims.scope;
    // An ID token is for the client that a person signs into, and for no party that acts for them.
    let signed_into = under.filter(|_| delegation.is_none());
    let id_token = match signed_into.filter(|_| granted.scopes().contains("openid")) {
        None => None,
        Some(Under { grant, nonce, profile, .. }) => {
            let algorithm = client.id_token_algorithm();
            let hashed = (algorithm != SigningAlgorithm::EdDsa).then_some(access_token.as_str());
            let mut profile = profile.clone();
            if granted.scopes().contains(GROUPS) && grant.organization().is_some() {
                profile.insert(GROUPS.to_owned(), roles.into());
            }
            let claims = IdToken::from(id_token::Mint {
                issuer: &app.issuer,
                subject,
                grant,
                nonce,
                access_token: hashed,
                profile,
                now,
                lifetime: app.settings.lifetimes.id_token,
            });
            Some(app.sign(algorithm, "JWT", &claims)?)
        }
    };
    Ok(TokenResponse {
        access_token,
        exchanged_for: None,
        token_type: token_type(bound),
        expires_in: u64::try_from(claims.exp - claims.iat).unwrap_or_default(),
        refresh_token: None,
        id_token,
        scope,
        authorization_details: claims.authorization_details,
    })
}
