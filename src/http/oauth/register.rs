//! Dynamic client registration: RFC 7591, OIDC Dynamic Client Registration 1.0.
//!
//! A client is given an id, and a secret if it authenticates by one. That and the token by which it
//! manages itself are told once and kept as hashes. What this installation could not serve to it is
//! refused now, and not when a person signs in. How many clients may register is bounded.

mod refusal;

use super::metadata::AUTH_METHODS;
use crate::{
    actors::Failure,
    crypto::draw_text,
    domain::{
        Fingerprint,
        authority::Scopes,
        client::{
            AuthMethod, ClientMetadata, Command, LONGEST_ID, Refusal, Registrant, SubjectType,
        },
        signing_keys::SigningAlgorithm,
    },
    http::{
        answer::{
            error::{Code, OAuthError},
            private_json,
        },
        app::App,
        extract::{bearer::bearer, context::RequestContext, json::JsonPosted, origin::Origin},
        facts::target,
        limits::{client_failures::Proof, purpose::Purpose, registrations::NotNow},
        routes,
    },
};
use axum::{
    extract::{FromRequest as _, Path, Request, State, rejection::PathRejection},
    http::{HeaderMap, StatusCode},
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
pub struct Registered {
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

impl IntoResponse for Registered {
    fn into_response(self) -> Response {
        private_json(&self)
    }
}

pub async fn post(
    State(app): State<App>,
    Origin(address): Origin,
    RequestContext(context): RequestContext,
    request: Request,
) -> Result<(StatusCode, Registered), OAuthError> {
    if !app.registration {
        return Err(CLOSED);
    }
    let JsonPosted { body, .. } = JsonPosted::from_request(request, &app).await?;
    app.pace.take(Purpose::Registration, address, app.clock.now())?;
    let metadata = ClientMetadata::to_register(&body).map_err(|faults| refusal::of(&faults))?;
    check_served(&app, &metadata, &body)?;
    check_scopes(&app, metadata.scope.as_deref()).await?;
    let kept_for = admit(&app, address).await?;
    let client_id = draw_text(&*app.dice, 16);
    // Leak scanners recognise secrets by how they begin.
    let draw = |prefix: &str| format!("{prefix}{}", draw_text(&*app.dice, 32));
    let secret = metadata.may_use_secret().then(|| draw("pcs_"));
    let token = draw("prt_");
    let members = metadata.registered_members();
    let registrant = Registrant {
        client_id: client_id.clone(),
        metadata,
        secret: secret.as_deref().map(|secret| Fingerprint::of(secret.as_bytes())),
        token: Fingerprint::of(token.as_bytes()),
        kept_for,
    };
    let register = Command::Register(Box::new(registrant));
    app.registry.ask(&context, &client_id, register).await.map_err(|failure| match failure {
        Failure::Refused(Refusal::Metadata(faults)) => refusal::of(&faults),
        other => OAuthError::unavailable().because(other.to_string()),
    })?;
    let registered = Registered {
        registration_client_uri: own_address(&app, &client_id),
        client_id,
        client_id_issued_at: app.clock.now().seconds(),
        secret: secret
            .map(|client_secret| GivenSecret { client_secret, client_secret_expires_at: 0 }),
        registration_access_token: token,
        metadata: members,
    };
    Ok((StatusCode::CREATED, registered))
}

/// Counts one more client for its network and in all; says for how long it is kept if no person uses it.
async fn admit(app: &App, address: IpAddr) -> Result<Duration, OAuthError> {
    let now = app.clock.now();
    if app.pace.addresses().is_limited(address) {
        app.registrations.take(address, now)?;
    }
    app.registrations.add(&app.store, now).await.map_err(|why| match why {
        NotNow::Full(wait) => TOO_MANY.after(wait),
        NotNow::Unavailable(error) => error.into(),
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

/// Tells a client what it is registered with (RFC 7592 §2.1), but not its secret,
/// of which only a hash is kept.
pub async fn read(
    State(app): State<App>,
    client_id: Result<Path<String>, PathRejection>,
    Origin(address): Origin,
    headers: HeaderMap,
) -> Result<Registered, OAuthError> {
    // RFC 7592 §2.1: the same, whether there is no such client or the token is not its own.
    const REFUSED: OAuthError =
        OAuthError::new(Code::InvalidToken, "the registration access token is not this client's");
    let _permit = app.request_permits.work()?;
    let token = bearer(&headers).map_err(|_| REFUSED)?;
    let Path(client_id) = client_id.map_err(|_| REFUSED)?;
    let refuse = || {
        let (failures, now) = (&app.client_failures, app.clock.now());
        let counted = failures.count(Proof::RegistrationToken, &client_id, address, now);
        counted.map_or_else(OAuthError::from, |()| REFUSED)
    };
    if client_id.len() > LONGEST_ID || client_id.contains('\0') {
        return Err(refuse());
    }
    let seen = app.clients.look_anew(&client_id).await?;
    let known = seen.machine.known();
    let registration = known.and_then(|known| known.registration.as_ref());
    let presented = Fingerprint::of(token.as_bytes());
    let (Some(known), Some(registration)) =
        (known, registration.filter(|registration| registration.token == presented))
    else {
        return Err(refuse());
    };
    Ok(Registered {
        registration_client_uri: own_address(&app, &client_id),
        client_id_issued_at: registration.registered_at.seconds(),
        secret: None,
        registration_access_token: token.to_owned(),
        metadata: known.metadata.registered_members(),
        client_id,
    })
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
    let served = |method: AuthMethod| method == AuthMethod::None || AUTH_METHODS.contains(&method);
    if !metadata.token_endpoint_auth_method.is_none_or(served) {
        return Err(unfit("the token_endpoint_auth_method is not offered yet"));
    }
    // OIDC Registration §5: what is found there must name every redirect URI, and it is
    // not fetched yet.
    if metadata.sector_identifier_uri.is_some() {
        return Err(unfit("a sector_identifier_uri is not offered yet"));
    }
    if metadata.subject_type == Some(SubjectType::Pairwise) {
        return Err(unfit("pairwise subjects are not offered yet"));
    }
    // The authorization endpoint would refuse a client that wants more than is offered, always.
    let more = [
        (metadata.dpop_bound_access_tokens, "dpop_bound_access_tokens is not offered yet"),
        (
            metadata.tls_client_certificate_bound_access_tokens,
            "tls_client_certificate_bound_access_tokens is not offered yet",
        ),
        (
            metadata.require_signed_request_object,
            "require_signed_request_object is not offered yet",
        ),
    ];
    if let Some((_, description)) = more.into_iter().find(|(wanted, _)| *wanted) {
        return Err(unfit(description));
    }
    let keys = app.keys.borrow();
    let signs = |algorithm: SigningAlgorithm| keys.signer(algorithm).is_some();
    // A client that has not named one may never want an ID token.
    let named = said.contains_key("id_token_signed_response_alg");
    let id_token = metadata.id_token_signed_response_alg.filter(|_| named);
    let ours = [
        (id_token, "id_token_signed_response_alg is not offered"),
        (metadata.userinfo_signed_response_alg, "userinfo_signed_response_alg is not offered"),
        (
            metadata.authorization_signed_response_alg,
            "authorization_signed_response_alg is not offered",
        ),
    ];
    let unsigned = ours.into_iter().find(|(algorithm, _)| !algorithm.is_none_or(signs));
    unsigned.map_or(Ok(()), |(_, description)| Err(unfit(description)))
}

/// Refuses a ceiling with a scope in it that no API has.
async fn check_scopes(app: &App, scope: Option<&str>) -> Result<(), OAuthError> {
    let scopes = Scopes::parse(scope.unwrap_or_default())
        .map_err(|_| unfit("scope is malformed, or holds more than 100 scopes"))?;
    for scope in scopes.of_apis() {
        if target::owner(app, scope).await?.is_none() {
            return Err(unfit("a scope is not known"));
        }
    }
    Ok(())
}
