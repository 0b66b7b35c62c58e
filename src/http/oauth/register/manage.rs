//! How a client that registered itself reads, replaces and deletes its registration: RFC 7592.
//!
//! It presents the token that it was given for that. A wrong one is the same 401 whatever was wrong,
//! and is counted. Only a replacement gives another token, and from then on the former is good no
//! more (§2.2). A client that an operator has provisioned since can only be read.

use super::{
    ClientInformation, GivenSecret, RegistrationRequest, checked, draw_secret, draw_token, members,
    own_address, refusal,
};
use crate::{
    actors::Failure,
    domain::{
        Actor, Context, Fingerprint,
        client::{
            Client, Command, Deletion, KEPT_AFTER_PERSON, KnownClient, LONGEST_ID, Refusal,
            Replacement, USE_NOTED_EVERY,
        },
    },
    http::{
        answer::{
            error::{Code, OAuthError},
            never_stored,
        },
        app::App,
        extract::{bearer::bearer, context::RequestContext, json::PostedJson, origin::Origin},
        limits::{client_failures::Proof, purpose::Purpose},
        reading::retries::{FinalFailure, Retries},
    },
};
use axum::{
    extract::{FromRequest as _, Path, Request, State, rejection::PathRejection},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse as _, Response},
};
use serde_json::{Map, Value};
use std::{net::IpAddr, sync::Arc};

/// RFC 7592 §2.1: the same, whether there is no such client or the token is not its own.
const REFUSED: OAuthError =
    OAuthError::new(Code::InvalidToken, "the registration access token is not this client's");

/// RFC 7592 §2.2 and §2.3.
const OF_OPERATOR: OAuthError =
    OAuthError::new(Code::AccessDenied, "an operator has provisioned this client since");

/// What only we say of a client (RFC 7592 §2.2: these must not be in a request).
const OURS: [&str; 4] = [
    "registration_access_token",
    "registration_client_uri",
    "client_secret_expires_at",
    "client_id_issued_at",
];

type ClientId = Result<Path<String>, PathRejection>;

/// A client that has shown its registration token.
struct Manager {
    client_id: String,
    token: String,
    seen: Arc<crate::actors::EntitySnapshot<Client>>,
}

impl Manager {
    fn known(&self) -> &KnownClient {
        self.seen.machine.known().expect("only a known client has a token")
    }

    fn presented(&self) -> Fingerprint {
        Fingerprint::of(self.token.as_bytes())
    }

    fn context(&self, context: Context) -> Context {
        context.by(Actor::Client(self.client_id.clone()))
    }

    /// Refuses where an operator has made the client their own.
    fn check_own(&self) -> Result<(), OAuthError> {
        if self.known().is_self_registered() { Ok(()) } else { Err(OF_OPERATOR) }
    }
}

/// Finds the client whose registration token this is; counts a wrong one.
async fn manager(
    app: &App,
    client_id: ClientId,
    headers: &HeaderMap,
    address: IpAddr,
) -> Result<Manager, OAuthError> {
    let token = bearer(headers).map_err(|_| REFUSED)?;
    let Path(client_id) = client_id.map_err(|_| REFUSED)?;
    let refuse = || refuse(app, &client_id, address);
    if client_id.len() > LONGEST_ID || client_id.contains('\0') {
        return Err(refuse());
    }
    let seen = app.views.clients.look_anew(&client_id).await?;
    let registration = seen.machine.known().and_then(|known| known.registration.as_ref());
    let presented = Fingerprint::of(token.as_bytes());
    if registration.is_none_or(|registration| registration.token != presented) {
        return Err(refuse());
    }
    Ok(Manager { client_id, token: token.to_owned(), seen })
}

fn refuse(app: &App, client_id: &str, address: IpAddr) -> OAuthError {
    let (failures, now) = (&app.limits.client_failures, app.clock.now());
    let counted = failures.count(Proof::RegistrationToken, client_id, address, now);
    counted.map_or_else(OAuthError::from, |()| REFUSED)
}

/// What a client is told of itself, with a secret where it may be told.
fn told(
    app: &App,
    known: &KnownClient,
    token: String,
    secret: Option<String>,
) -> ClientInformation {
    let registration = known.registration.as_ref();
    let statement = registration.and_then(|one| one.statement.as_deref());
    ClientInformation {
        registration_client_uri: own_address(app, &known.client_id),
        client_id_issued_at: registration.map_or(0, |one| one.registered_at.seconds()),
        secret: secret.map(GivenSecret::new),
        registration_access_token: token,
        metadata: members(&known.metadata, statement),
        client_id: known.client_id.clone(),
    }
}

/// Tells a client what it is registered with (RFC 7592 §2.1), but not its secret, of which only a
/// hash is kept.
pub async fn read(
    State(app): State<App>,
    client_id: ClientId,
    Origin(address): Origin,
    headers: HeaderMap,
) -> Result<ClientInformation, OAuthError> {
    let _permit = app.limits.request_permits.work(address)?;
    let manager = manager(&app, client_id, &headers, address).await?;
    Ok(told(&app, manager.known(), manager.token.clone(), None))
}

/// Replaces everything that a client has said of itself; what it leaves out is the default again.
pub async fn replace(
    State(app): State<App>,
    client_id: ClientId,
    Origin(address): Origin,
    RequestContext(context): RequestContext,
    request: Request,
) -> Result<ClientInformation, OAuthError> {
    let headers = request.headers().clone();
    let PostedJson { body, .. } = PostedJson::from_request(request, &app).await?;
    let manager = manager(&app, client_id, &headers, address).await?;
    manager.check_own()?;
    app.limits.pace.take(Purpose::Registration, address, app.clock.now())?;
    let repeated = check_identity(&manager.client_id, &body)?;
    let RegistrationRequest { metadata, statement } = checked(&app, &body).await?;
    // Drawn once for all tries: by the token the client knows a command that it has carried out.
    let (token, secret) = (draw_token(&app), draw_secret(&app));
    let replacement = Replacement {
        presented: manager.presented(),
        token: Fingerprint::of(token.as_bytes()),
        metadata,
        statement,
        repeated: repeated.map(|secret| Fingerprint::of(secret.as_bytes())),
        secret: Fingerprint::of(secret.as_bytes()),
    };
    let command = || Command::Replace(Box::new(replacement.clone()));
    let context = manager.context(context);
    ask(&app, &context, &manager.client_id, command).await.map_err(|stopped| match stopped {
        // Another request with the same token came first.
        FinalFailure::Failed(Failure::Refused(Refusal::WrongToken | Refusal::NoSuchClient)) => {
            refuse(&app, &manager.client_id, address)
        }
        other => refused(other),
    })?;
    let seen = app.views.clients.look_anew(&manager.client_id).await;
    // The new token is known to no other caller, so this is what was replaced.
    let seen = seen.map_err(|_| OAuthError::OUTCOME_UNKNOWN)?;
    let known = seen.machine.known().ok_or(OAuthError::OUTCOME_UNKNOWN)?;
    // Where it was left out another was issued: the one before is good for a day yet.
    let is_new = known.secret == Some(replacement.secret);
    let secret = if is_new { Some(secret) } else { repeated.map(str::to_owned) };
    Ok(told(&app, known, token, secret.filter(|_| known.secret.is_some())))
}

/// Deletes a client: what was issued to it is good no more, at once (RFC 7592 §2.3).
pub async fn delete(
    State(app): State<App>,
    client_id: ClientId,
    Origin(address): Origin,
    RequestContext(context): RequestContext,
    headers: HeaderMap,
) -> Result<Response, OAuthError> {
    let _permit = app.limits.request_permits.work(address)?;
    let manager = manager(&app, client_id, &headers, address).await?;
    manager.check_own()?;
    // Until its last refresh token has expired: none is exchanged any more.
    let kept_for = KEPT_AFTER_PERSON.max(app.settings.lifetimes.refresh_idle + USE_NOTED_EVERY);
    let deletion = Deletion { presented: manager.presented(), kept_for };
    let context = manager.context(context);
    let deleted =
        ask(&app, &context, &manager.client_id, || Command::Delete(deletion.clone())).await;
    deleted.map_err(|stopped| match stopped {
        FinalFailure::Failed(Failure::Refused(
            Refusal::WrongToken | Refusal::NoSuchClient | Refusal::Deleted,
        )) => refuse(&app, &manager.client_id, address),
        other => refused(other),
    })?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    never_stored(&mut response);
    Ok(response)
}

/// Checks what a replacement says of who it is for; returns the secret that it repeats.
fn check_identity<'a>(
    client_id: &str,
    body: &'a Map<String, Value>,
) -> Result<Option<&'a str>, OAuthError> {
    const fn invalid(description: &'static str) -> OAuthError {
        OAuthError::new(Code::InvalidRequest, description)
    }
    if OURS.iter().any(|name| body.contains_key(*name)) {
        return Err(invalid(
            "registration_access_token, registration_client_uri, client_secret_expires_at and \
             client_id_issued_at must not be in the request",
        ));
    }
    if body.get("client_id").and_then(Value::as_str) != Some(client_id) {
        return Err(invalid("client_id must be there, and be this client's"));
    }
    match body.get("client_secret") {
        // RFC 7592 §2.2: null is as if it were left out.
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(secret)) => Ok(Some(secret)),
        Some(_) => Err(WRONG_SECRET),
    }
}

const WRONG_SECRET: OAuthError =
    OAuthError::new(Code::InvalidRequest, "client_secret must be the present one, or be left out");

/// Asks the client until it is known what came of it.
async fn ask(
    app: &App,
    context: &Context,
    client_id: &str,
    command: impl Fn() -> Command,
) -> Result<(), FinalFailure<Refusal>> {
    let mut tries = Retries::new();
    let outcome = loop {
        match app.entities.clients.ask(context, client_id, command()).await {
            Ok(_) => break Ok(()),
            Err(failure) => {
                if let Err(stopped) = tries.after(failure).await {
                    break Err(stopped);
                }
            }
        }
    };
    // It may have changed, whatever is answered: what was seen of it is old.
    app.views.clients.forget(client_id);
    outcome
}

fn refused(stopped: FinalFailure<Refusal>) -> OAuthError {
    match stopped {
        FinalFailure::Failed(Failure::Refused(Refusal::Metadata(faults))) => refusal::of(&faults),
        FinalFailure::Failed(Failure::Refused(Refusal::OfOperator)) => OF_OPERATOR,
        FinalFailure::Failed(Failure::Refused(Refusal::WrongSecret)) => WRONG_SECRET,
        FinalFailure::Failed(Failure::Refused(why)) => super::unfit(UNFIT).because(why.to_string()),
        FinalFailure::Failed(other) => OAuthError::unavailable().because(other.to_string()),
        FinalFailure::Unreadable(error) => error.into(),
        FinalFailure::Unknown => OAuthError::OUTCOME_UNKNOWN,
    }
}

const UNFIT: &str = "the client metadata does not hold together";
