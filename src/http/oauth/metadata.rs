//! What this server can do, in the words of RFC 8414 and OpenID Connect Discovery.
//!
//! It tells the truth: what is not served is not listed, and a list without entries is left out
//! (RFC 8414 §3.2).

use super::token;
use crate::{
    domain::client::AuthMethod,
    http::{App, routes},
};
use axum::{
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

/// The ways in which a client may authenticate that are served.
pub const AUTH_METHODS: [AuthMethod; 2] =
    [AuthMethod::ClientSecretBasic, AuthMethod::ClientSecretPost];

#[derive(Serialize)]
struct Metadata<'a> {
    issuer: &'a str,
    token_endpoint: String,
    jwks_uri: String,
    introspection_endpoint: String,
    revocation_endpoint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    registration_endpoint: Option<String>,
    grant_types_supported: Vec<&'static str>,
    token_endpoint_auth_methods_supported: Vec<&'static str>,
    introspection_endpoint_auth_methods_supported: Vec<&'static str>,
    revocation_endpoint_auth_methods_supported: Vec<&'static str>,
}

/// Writes the document of an issuer, at which clients may register or not.
pub fn document(issuer: &str, registration: bool) -> String {
    let at = |path: &str| format!("{issuer}{path}");
    let confidential = || AUTH_METHODS.map(AuthMethod::name).to_vec();
    let metadata = Metadata {
        issuer,
        token_endpoint: at(routes::TOKEN),
        jwks_uri: at(routes::JWKS),
        introspection_endpoint: at(routes::INTROSPECT),
        revocation_endpoint: at(routes::REVOKE),
        registration_endpoint: registration.then(|| at(routes::REGISTER)),
        grant_types_supported: token::GRANTS.iter().map(|grant| grant.name()).collect(),
        token_endpoint_auth_methods_supported: confidential(),
        introspection_endpoint_auth_methods_supported: confidential(),
        // A public client may take back its own tokens (RFC 7009 §2.1).
        revocation_endpoint_auth_methods_supported: [confidential(), vec!["none"]].concat(),
    };
    serde_json::to_string(&metadata).expect("text and lists of it are JSON")
}

pub async fn get(State(app): State<App>) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=300")),
    ];
    (headers, app.fixed.metadata.clone()).into_response()
}
