//! The device authorization endpoint: RFC 8628 §3.1, §3.2.
//!
//! 1. the client authenticates as at the token endpoint;
//! 2. the request passes the same table of checks as at the authorization endpoint;
//! 3. a grant begins to wait, under a device code for the device and a user code for the person.

use super::authorize::{
    checks::{self, Endpoint},
    source,
};
use crate::{
    actors::Failure,
    crypto::{OpaqueKind, draw_id_at},
    domain::device_grant::{Command, DeviceRequest, Pending, Refusal, USER_CODES},
    http::{
        answer::{
            error::{Code, OAuthError},
            private_json,
        },
        app::App,
        authorization::user_codes,
        clients,
        extract::{client_auth, context::RequestContext, form::PostedForm, origin::Origin},
        limits::{polls, purpose::Purpose},
        reading::{new_entity, retries::FinalFailure},
        routes,
    },
};
use axum::{extract::State, response::Response};
use serde::Serialize;
use zeroize::Zeroizing;

/// How often a user code is drawn that another device shows already.
const DRAWS: usize = 4;

/// RFC 8628 §3.2.
#[derive(Serialize)]
struct DeviceAnswer {
    device_code: Zeroizing<String>,
    user_code: Zeroizing<String>,
    verification_uri: String,
    verification_uri_complete: Zeroizing<String>,
    expires_in: u64,
    interval: u64,
}

pub async fn post(
    State(app): State<App>,
    Origin(address): Origin,
    RequestContext(context): RequestContext,
    posted: PostedForm,
) -> Result<Response, OAuthError> {
    let caller = client_auth::authenticate_to_begin(&app, context, &posted).await?;
    let now = app.clock.now();
    app.limits.pace.take(Purpose::Flow, address, now)?;
    let form = &posted.form;
    // RFC 9101 and RFC 9126 are about the authorization endpoint.
    if form.get("request").is_some() || form.get("request_uri").is_some() {
        let why = "the parameters of a device stand in its request";
        return Err(OAuthError::new(Code::InvalidRequest, why));
    }
    let client = caller.client();
    let source = source::resolve(&app, client, form).await?;
    let wanted = checks::run_without_code(&app, &source, client, Endpoint::Device).await?;
    clients::keep_to_wait(&app, &caller.context, caller.seen(), address).await?;
    let lives = app.settings.lifetimes.device_code;
    let request = DeviceRequest { wanted, from: caller.context.device(), expires_at: now + lives };
    for _ in 0..DRAWS {
        let (id, user_code) = (draw_id_at(&*app.dice, now), user_codes::drawn(&*app.dice));
        let device_code = OpaqueKind::DeviceCode.mint(&id, &app.crypto.vault.now(), &*app.dice);
        let pending = Pending {
            code: device_code.fingerprint,
            user_code: user_codes::hashed(&app, &user_code),
            request: request.clone(),
        };
        let begin = Command::Begin(Box::new(pending));
        let is_there = |refusal: &Refusal| *refusal == Refusal::NotPending;
        let (grants, asked) = (&app.entities.device_grants, (&caller.context, &*id));
        match new_entity::begin(grants, asked, begin, is_there).await {
            Ok(()) => {
                let user_code = user_codes::shown(&user_code);
                let page = |query: &[(&str, &str)]| {
                    app.page(app.settings.links.device.as_ref(), routes::DEVICE_SCREEN, query)
                };
                let begun = DeviceAnswer {
                    device_code: device_code.text,
                    verification_uri: page(&[]).trim_end_matches('?').to_owned(),
                    verification_uri_complete: page(&[("user_code", &user_code)]).into(),
                    user_code,
                    expires_in: lives.as_secs(),
                    interval: polls::INTERVAL.as_secs(),
                };
                return Ok(private_json(&begun));
            }
            Err(FinalFailure::Failed(Failure::Taken { space: USER_CODES })) => {}
            Err(stopped) => return Err(stopped.into()),
        }
    }
    Err(OAuthError::unavailable().because("every user code that was drawn is shown already"))
}
