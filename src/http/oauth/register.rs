//! Dynamic client registration: RFC 7591, OIDC Dynamic Client Registration 1.0.
//!
//! A client is given an id, and a secret if it authenticates by one. That and the token by which it
//! manages itself are told once and kept as hashes. What this installation could not serve to it is
//! refused now, and not when a person signs in. How many clients may register is bounded.

mod manage;
mod refusal;
mod sector;
mod statement;

pub use manage::{delete, read, replace};

use self::statement::StatedMetadata;
use super::metadata::auth_methods;
use crate::{
    actors::Failure,
    crypto::{draw_client_secret, draw_id_at, draw_text},
    domain::{
        Fingerprint,
        authority::{Permission, Scopes},
        client::{AuthMethod, ClientMetadata, Command, Refusal, Registrant},
        installation::SelfService,
        signing_keys::SigningAlgorithm,
    },
    http::{
        answer::{
            error::{Code, OAuthError},
            private_json,
        },
        app::App,
        extract::{context::RequestContext, json::PostedJson, origin::Origin},
        grants::target,
        limits::{purpose::Purpose, registrations::RegistrationRefusal},
        reading::{new_entity, retries::FinalFailure},
        routes,
    },
};
use axum::{
    extract::{FromRequest as _, Request, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::Serialize;
use serde_json::{Map, Value};
use std::{net::IpAddr, time::Duration};

const fn unfit(description: &'static str) -> OAuthError {
    OAuthError::new(Code::InvalidClientMetadata, description)
}

/// What a client is told of itself (RFC 7591 §3.2.1, RFC 7592 §3); its secret only once.
#[derive(Serialize)]
pub struct ClientInformation {
    client_id: String,
    client_id_issued_at: i64,
    #[serde(flatten)]
    secret: Option<GivenSecret>,
    registration_access_token: String,
    /// Never one without the other (OIDC Registration §3.2).
    registration_client_uri: String,
    #[serde(flatten)]
    metadata: Map<String, Value>,
}

#[derive(Serialize)]
struct GivenSecret {
    client_secret: String,
    /// Zero: it does not expire.
    client_secret_expires_at: i64,
}

impl GivenSecret {
    fn new(client_secret: String) -> Self {
        Self { client_secret, client_secret_expires_at: 0 }
    }
}

impl IntoResponse for ClientInformation {
    fn into_response(self) -> Response {
        private_json(&self)
    }
}

pub async fn post(
    State(app): State<App>,
    Origin(address): Origin,
    RequestContext(context): RequestContext,
    request: Request,
) -> Result<(StatusCode, ClientInformation), OAuthError> {
    if !app.is_open(SelfService::Registration).await? {
        return Err(CLOSED);
    }
    let PostedJson { body, .. } = PostedJson::from_request(request, &app).await?;
    app.limits.pace.take(Purpose::Registration, address, app.clock.now())?;
    let RegistrationRequest { metadata, statement } = checked(&app, &body).await?;
    let kept_for = admit(&app, address).await?;
    let client_id = draw_id_at(&*app.dice, app.clock.now());
    let secret = metadata.may_use_secret().then(|| draw_secret(&app));
    let token = draw_token(&app);
    let members = members(&metadata, statement.as_deref());
    let registrant = Registrant {
        client_id: client_id.clone(),
        metadata,
        secret: secret.as_deref().map(|secret| Fingerprint::of(secret.as_bytes())),
        token: Fingerprint::of(token.as_bytes()),
        statement,
        kept_for,
    };
    let register = Command::Register(Box::new(registrant));
    let is_there = |refusal: &Refusal| *refusal == Refusal::Exists;
    let (clients, asked) = (&app.entities.clients, (&context, &*client_id));
    let begun = new_entity::begin(clients, asked, register, is_there).await;
    begun.map_err(|stopped| match stopped {
        FinalFailure::Failed(Failure::Refused(Refusal::Metadata(faults))) => refusal::of(&faults),
        stopped => stopped.into(),
    })?;
    let registered = ClientInformation {
        registration_client_uri: own_address(&app, &client_id),
        client_id,
        client_id_issued_at: app.clock.now().seconds(),
        secret: secret.map(GivenSecret::new),
        registration_access_token: token,
        metadata: members,
    };
    Ok((StatusCode::CREATED, registered))
}

/// Draws a client secret.
pub(in crate::http) fn draw_secret(app: &App) -> String {
    draw_client_secret(&*app.dice)
}

/// Draws a registration token.
fn draw_token(app: &App) -> String {
    format!("prt_{}", draw_text(&*app.dice, 32))
}

/// A request for registration that was checked: what a client may be registered with.
struct RegistrationRequest {
    metadata: ClientMetadata,
    /// The software statement that it rests on.
    statement: Option<String>,
}

/// Reads what a client wants to be registered with; refuses what cannot stand, or is not served.
async fn checked(app: &App, body: &Map<String, Value>) -> Result<RegistrationRequest, OAuthError> {
    let StatedMetadata { members, statement } = statement::read(app, body)?;
    let metadata = ClientMetadata::to_register(&members).map_err(|faults| refusal::of(&faults))?;
    check_metadata(app, &metadata, &members).await?;
    // What registered itself manages nothing (adr/0079).
    let scopes = Scopes::parse(metadata.scope.as_deref().unwrap_or_default()).unwrap_or_default();
    let names = app.reserved_names().await?;
    let mut asked = scopes.of_apis().filter_map(|scope| Permission::parse(scope).ok());
    if asked.any(|one| names.machine.reserve(&one)) {
        return Err(unfit("a scope is not for clients that register themselves"));
    }
    Ok(RegistrationRequest { metadata, statement })
}

/// Refuses metadata that this installation could not serve, or that names what no API has.
pub(in crate::http) async fn check_metadata(
    app: &App,
    metadata: &ClientMetadata,
    said: &Map<String, Value>,
) -> Result<(), OAuthError> {
    check_served(app, metadata, said)?;
    check_scopes(app, metadata.scope.as_deref()).await?;
    check_types(app, &metadata.authorization_details_types).await?;
    // Last, for it calls another server.
    sector::check(app, metadata).await
}

/// What a client is told of what it said (RFC 7591 §3.2.1: a statement as it was sent).
fn members(metadata: &ClientMetadata, statement: Option<&str>) -> Map<String, Value> {
    let mut members = metadata.registered_members();
    members.extend(statement.map(|text| ("software_statement".to_owned(), text.into())));
    members
}

/// Counts one more client for its network and in all; says for how long it is kept if no person uses it.
async fn admit(app: &App, address: IpAddr) -> Result<Duration, OAuthError> {
    let now = app.clock.now();
    if app.limits.pace.addresses().is_limited(address) {
        app.limits.registrations.take(address, now)?;
    }
    app.limits.registrations.add(&app.store, now).await.map_err(|why| match why {
        RegistrationRefusal::Full(wait) => TOO_MANY.after(wait),
        RegistrationRefusal::Unavailable(error) => error.into(),
    })
}

const TOO_MANY: OAuthError = OAuthError::new(
    Code::TemporarilyUnavailable,
    "too many clients have registered and were never used: please try again later",
);

/// Where a client finds what is known of it.
fn own_address(app: &App, client_id: &str) -> String {
    format!("{}{}/{client_id}", app.issuer, routes::REGISTER)
}

/// Answers where registration is closed: it would take an initial access token (RFC 7591 §3). None is
/// ever issued, so no token that is presented is a good one (§3.2.2, RFC 6750 §3.1).
const CLOSED: OAuthError =
    OAuthError::new(Code::InvalidToken, "registration is closed: clients are made by the operator");

/// Refuses what can be registered but is not served, or not by this installation.
fn check_served(
    app: &App,
    metadata: &ClientMetadata,
    said: &Map<String, Value>,
) -> Result<(), OAuthError> {
    let mutual_tls = app.settings.mutual_tls.as_ref();
    let methods = auth_methods(mutual_tls);
    let served = |method: AuthMethod| method == AuthMethod::None || methods.contains(&method);
    if !metadata.token_endpoint_auth_method.is_none_or(served) {
        return Err(unfit("the token_endpoint_auth_method is not offered here"));
    }
    // The authorization endpoint would refuse a client that wants more than is offered, always.
    if metadata.tls_client_certificate_bound_access_tokens && mutual_tls.is_none() {
        return Err(unfit("tls_client_certificate_bound_access_tokens is not offered here"));
    }
    let keys = app.crypto.keys.borrow();
    let signs = |algorithm: SigningAlgorithm| keys.signer(algorithm).is_some();
    // A client that has not named one may never want an ID token.
    let named = said.contains_key("id_token_signed_response_alg");
    let id_token = metadata.id_token_signed_response_alg.filter(|_| named);
    let ours = [
        (id_token, "id_token_signed_response_alg is not offered"),
        (metadata.userinfo_signed_response_alg, "userinfo_signed_response_alg is not offered"),
        (
            metadata.introspection_signed_response_alg,
            "introspection_signed_response_alg is not offered",
        ),
        (
            metadata.authorization_signed_response_alg,
            "authorization_signed_response_alg is not offered",
        ),
    ];
    let unsigned = ours.into_iter().find(|(algorithm, _)| !algorithm.is_none_or(signs));
    unsigned.map_or(Ok(()), |(_, description)| Err(unfit(description)))
}

/// Refuses a type of `authorization_details` that no API has (RFC 9396 §10).
async fn check_types(app: &App, types: &[String]) -> Result<(), OAuthError> {
    const MOST: usize = 100;
    if types.len() > MOST {
        return Err(unfit("authorization_details_types holds more than 100 types"));
    }
    for kind in types {
        if target::owner_of_type(app, kind).await?.is_none() {
            return Err(unfit("a type of authorization_details is not known"));
        }
    }
    Ok(())
}

/// Refuses a ceiling with a scope in it that no API has.
async fn check_scopes(app: &App, scope: Option<&str>) -> Result<(), OAuthError> {
    let scopes = Scopes::parse(scope.unwrap_or_default())
        .map_err(|_| unfit("scope is malformed, or holds more than 100 scopes"))?;
    for scope in scopes.of_apis() {
        if !target::is_known(app, scope).await? {
            return Err(unfit("a scope is not known"));
        }
    }
    Ok(())
}
