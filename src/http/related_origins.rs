//! `GET /.well-known/webauthn`: the origins whose pages may use passkeys of this issuer (WebAuthn
//! Level 3 §5.11). A browser asks for it without credentials.

use super::{answer::error::Problem, app::App};
use axum::{
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use serde_json::json;

pub async fn get(State(app): State<App>) -> Result<Response, Problem> {
    let passkeys = app.crypto.passkeys.as_ref().ok_or(Problem::NOT_FOUND)?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=300")),
    ];
    Ok((headers, json!({ "origins": passkeys.origins() }).to_string()).into_response())
}
