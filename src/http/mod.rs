//! HTTP: standards into commands, outcomes into standard answers.
//!
//! A handler has four movements: read the request, build a command, ask, dress the answer. It decides
//! nothing that a machine decides, holds no actor and writes no SQL.

mod answer;
pub mod attempts;
mod authorization_facts;
mod bearer;
mod body;
mod client_auth;
mod code;
pub mod error;
mod flows;
mod form;
pub mod json;
mod layers;
mod oauth;
pub mod operator;
mod options;
pub mod origin;
pub mod pace;
mod request_permits;
mod request_source;
pub mod retry_after;
pub mod routes;
mod sessions;
mod target;
mod time;
mod token_validity;
pub mod vitals;

pub use layers::host::Hosts;
pub use options::{AppOptions, Lifetimes, Limits, Links};

use crate::{
    actors::{Entities, Holders, KeySnapshot, ListView, StartError, View, hashing::HashingPool},
    crypto::{Dice, SharedVault},
    domain::{
        Clock,
        access_token::{AccessToken, Claims},
        account::Account,
        client::{self, Client, KnownClient},
        consent::Consent,
        flow::Flow,
        id_token::IdToken,
        membership::{MEMBERSHIPS, Membership},
        organization::Organization,
        resource::{Resource, SCOPE_OWNERS},
        session::Session,
        signing_keys::SigningAlgorithm,
        token_family::TokenFamily,
    },
    store::Store,
    system::System,
};
use attempts::Attempts;
use axum::{
    Router,
    http::{HeaderValue, Uri},
    middleware::from_fn_with_state,
    response::Response,
    routing::{get, post},
};
use bytes::Bytes;
use error::{OAuthError, Problem, Stopped, Voice};
use layers::{
    admission::{self, Admission},
    cors::Cors,
    envelope::{self, Envelope, EnvelopeOptions},
};
use oauth::{authorize, introspect, jwks, metadata, register, revoke, token, userinfo};
use pace::Pace;
use request_permits::RequestPermits;
use request_source::CookieNames;
use serde::Serialize;
use std::{ops::Deref, sync::Arc};
use tokio::sync::watch;
use tower::ServiceBuilder;
use vitals::Vitals;

/// What handlers share; clones are the same.
#[derive(Clone)]
pub struct App(Arc<Inner>);

pub struct Inner {
    issuer: String,
    lifetimes: Lifetimes,
    clock: Arc<dyn Clock>,
    dice: Arc<dyn Dice>,
    store: Store,
    keys: watch::Receiver<KeySnapshot>,
    clients: View<Client>,
    registry: Entities<Client>,
    organizations: View<Organization>,
    resources: View<Resource>,
    scope_owners: Holders,
    access_tokens: Entities<AccessToken>,
    accounts: View<Account>,
    account_entities: Entities<Account>,
    memberships: View<Membership>,
    /// The memberships of each account, ended ones too.
    memberships_of: ListView<Membership>,
    sessions: Entities<Session>,
    session_views: View<Session>,
    consents: Entities<Consent>,
    consent_views: View<Consent>,
    flows: Entities<Flow>,
    flow_views: View<Flow>,
    families: Entities<TokenFamily>,
    hashing: Arc<HashingPool>,
    vault: SharedVault,
    cookies: CookieNames,
    links: Links,
    /// Where pages of ours come from beside the issuer.
    origins: Arc<[HeaderValue]>,
    registration: bool,
    vitals: Arc<Vitals>,
    fixed: Fixed,
    request_permits: RequestPermits,
    pace: Pace,
    attempts: Attempts,
    /// Of endpoints that are not for browsers.
    admission: Admission,
}

/// What is the same in every answer.
struct Fixed {
    metadata: Bytes,
    jwks_type: HeaderValue,
    jwks_caching: HeaderValue,
}

impl Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl App {
    /// Opens the doors of a running system.
    pub async fn new(system: &System, options: AppOptions) -> Result<Self, StartError> {
        let caching = format!("public, max-age={}", options.key_set_age.as_secs());
        let fixed = Fixed {
            metadata: metadata::document(&options.issuer, options.registration).into(),
            jwks_type: HeaderValue::from_static("application/jwk-set+json"),
            jwks_caching: HeaderValue::try_from(caching).expect("a number is a header value"),
        };
        let cookies = CookieNames::new(&options.issuer);
        let origins: Arc<[HeaderValue]> = request_source::origins(&options.links);
        let vitals = Arc::<Vitals>::default();
        Ok(Self(Arc::new(Inner {
            issuer: options.issuer,
            lifetimes: options.lifetimes,
            clock: system.clock(),
            dice: system.dice(),
            store: system.store().clone(),
            keys: system.keys(),
            clients: system.view(),
            registry: system.host().await?,
            organizations: system.view(),
            resources: system.view(),
            scope_owners: system.holders(SCOPE_OWNERS),
            access_tokens: system.host().await?,
            accounts: system.view(),
            account_entities: system.host().await?,
            memberships: system.view(),
            memberships_of: system.list_view(MEMBERSHIPS),
            sessions: system.host().await?,
            session_views: system.view(),
            consents: system.host().await?,
            consent_views: system.view(),
            flows: system.host().await?,
            flow_views: system.view(),
            families: system.host().await?,
            hashing: system.hashing().clone(),
            vault: system.vault(),
            cookies,
            links: options.links,
            origins: origins.clone(),
            registration: options.registration,
            request_permits: RequestPermits::new(&options.limits, options.addresses.clone()),
            pace: Pace::new(options.rates, options.addresses, vitals.clone()),
            attempts: Attempts::new(system, vitals.clone(), options.rates.is_some()).await?,
            vitals,
            fixed,
            admission: Admission {
                hosts: options.hosts,
                deadline: options.limits.deadline,
                cors: Cors::Nobody,
            },
        })))
    }

    pub fn vitals(&self) -> Arc<Vitals> {
        self.vitals.clone()
    }

    /// How often one address may ask.
    pub fn pace(&self) -> &Pace {
        &self.pace
    }

    /// How often anybody may try to be somebody.
    pub fn attempts(&self) -> &Attempts {
        &self.attempts
    }

    /// Signs with the key that signs now.
    fn sign(
        &self,
        algorithm: SigningAlgorithm,
        typ: &str,
        claims: &impl Serialize,
    ) -> Result<String, OAuthError> {
        let signer = self.keys.borrow().signer(algorithm).cloned();
        let signer = signer.ok_or_else(OAuthError::unavailable)?;
        signer.sign(typ, claims).map_err(|error| {
            tracing::error!(%error, "a token could not be signed");
            OAuthError::unavailable()
        })
    }

    /// Reads an access token of ours that has not expired; says nothing of revocation.
    fn read_access_token(&self, token: &str) -> Option<Claims<'static>> {
        let verifiers = self.keys.borrow().verifiers.clone();
        let claims: Claims<'static> = verifiers.read("at+jwt", token).ok()?;
        let now = self.clock.now().seconds();
        (claims.iss == self.issuer && now < claims.exp).then_some(claims)
    }

    /// Reads an ID token of ours for this client, be it expired, and returns whom it names.
    fn subject_of_id_token(&self, token: &str, client: &KnownClient) -> Option<String> {
        let verifiers = self.keys.borrow().verifiers.clone();
        let claims: IdToken<'static> = verifiers.read("JWT", token).ok()?;
        let ours = claims.iss == self.issuer && claims.aud == client.client_id;
        ours.then(|| claims.sub.into_owned())
    }

    /// Notes that a client which registered itself is used, so that it is not forgotten.
    async fn note_use_of(&self, client: &KnownClient) {
        if client.is_awaited() {
            // If this fails there are thirty days to come back in.
            self.registry.ask(&client.client_id, client::Command::Use).await.ok();
        }
    }

    /// Returns everything that is served on the public listener.
    pub fn router(&self) -> Router {
        let register =
            if self.registration { post(register::post) } else { post(register::closed) };
        // What a program in a browser may call from anywhere: none of it looks at cookies.
        let open = Router::new()
            .route(routes::OPENID_CONFIGURATION, get(metadata::get))
            .route(routes::AUTHORIZATION_SERVER, get(metadata::get))
            .route(routes::JWKS, get(jwks::get))
            .route(routes::USERINFO, get(userinfo::get).post(userinfo::post))
            .route(routes::TOKEN, post(token::post))
            .route(routes::REVOKE, post(revoke::post))
            .route(routes::REGISTER, register)
            .route(routes::REGISTERED, get(register::read))
            .method_not_allowed_fallback(refuse_method);
        let closed = Router::new()
            .route(
                routes::AUTHORIZE,
                get(authorize::get)
                    .head(authorize::refuse_method)
                    .post(authorize::post)
                    .fallback(authorize::refuse_method),
            )
            .route(routes::INTROSPECT, post(introspect::post))
            .method_not_allowed_fallback(refuse_method)
            .fallback(async || Problem::NOT_FOUND);
        let envelope = Envelope::new(EnvelopeOptions {
            dice: &*self.dice,
            vitals: self.vitals.clone(),
            addresses: self.request_permits.addresses.clone(),
            strict_transport: self.issuer.starts_with("https://"),
        });
        // What our own pages call, with the cookies of whoever looks at them.
        let own = Router::new()
            .route(routes::FLOWS, post(flows::begin))
            .route(routes::FLOW, get(flows::show))
            .route(routes::FLOW_IDENTIFIER, post(flows::identifier))
            .route(routes::FLOW_PASSWORD, post(flows::password))
            .route(routes::FLOW_TOTP, post(flows::totp))
            .route(routes::FLOW_ORGANIZATION, post(flows::organization))
            .route(routes::FLOW_CONSENT, post(flows::consent))
            .method_not_allowed_fallback(refuse_method);
        let with = |cors| Admission { cors, ..self.admission.clone() };
        let open = stack(open, envelope.clone(), with(Cors::Anyone));
        let own = stack(own, envelope.clone(), with(Cors::Ours(self.origins.clone())));
        let closed = stack(closed, envelope, with(Cors::Nobody));
        open.merge(own).merge(closed).with_state(self.clone())
    }
}

/// Puts around the endpoints what stands around every one of them, outermost first.
fn stack(served: Router<App>, envelope: Envelope, admission: Admission) -> Router<App> {
    served.layer(
        ServiceBuilder::new()
            // Outermost, so that no answer leaves without request id and security headers, whoever
            // gave it, a panic included; and counted, whatever it is.
            .layer(from_fn_with_state(envelope, envelope::envelope))
            // Is this meant for us? Then it is answered in time, and readable for a program in a
            // browser where the endpoint is for such. Forms take a place of their own while their
            // body comes in, and another to be worked on (http::request_permits).
            .layer(from_fn_with_state(admission, admission::admit)),
    )
}

/// Refuses a method that is not served, in the endpoint's own voice.
async fn refuse_method(uri: Uri) -> Response {
    Voice::of(uri.path()).word(Stopped::MethodNotAllowed)
}
