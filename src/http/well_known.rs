//! Addresses at which programs look for a page or a word of every site (RFC 8615). Each is served where there is
//! something to say, and is a path that never existed otherwise.

use super::{
    answer::{error::Problem, redirect::see_other},
    app::App,
    routes,
    time::rfc3339,
};
use crate::domain::Locale;
use axum::{
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use serde_json::json;
use std::time::Duration;

/// For how long what is said may be used again.
const CACHING: HeaderValue = HeaderValue::from_static("public, max-age=3600");

/// RFC 9116 §2.5.5 recommends less; the operator looks at the setting once a year at least.
const YEAR: Duration = Duration::from_hours(365 * 24);

/// `GET /.well-known/passkey-endpoints`: where a password manager sends a person who wants a passkey, or to look at those
/// that they have.
pub async fn passkey_endpoints(State(app): State<App>) -> Response {
    let page = format!("{}{}", app.issuer, routes::ACCOUNT_SECURITY);
    let json = HeaderValue::from_static("application/json");
    let headers = [(header::CONTENT_TYPE, json), (header::CACHE_CONTROL, CACHING)];
    (headers, json!({ "enroll": page, "manage": page }).to_string()).into_response()
}

/// `GET /.well-known/change-password`: where a password manager sends a person whose password has leaked.
pub async fn change_password(State(app): State<App>) -> Response {
    let page = match &app.settings.links.change_password {
        Some(link) if !app.settings.screens => link.to_string(),
        _ => format!("{}{}?do=set_password", app.issuer, routes::ACCOUNT_SECURITY),
    };
    see_other(&page).unwrap_or_else(IntoResponse::into_response)
}

/// `GET /.well-known/security.txt`: where a person reports a weakness.
pub async fn security_txt(State(app): State<App>) -> Result<Response, Problem> {
    let said = app.settings.security_txt.as_ref().ok_or(Problem::NOT_FOUND)?;
    let languages = Locale::ALL.map(Locale::tag).join(", ");
    let mut lines = vec![
        format!("Contact: {}", said.contact),
        format!("Expires: {}", rfc3339(app.clock.now() + YEAR)),
        format!("Preferred-Languages: {languages}"),
        format!("Canonical: {}{}", app.issuer, routes::SECURITY_TXT),
    ];
    lines.extend(said.policy.as_ref().map(|policy| format!("Policy: {policy}")));
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    let headers = [(header::CONTENT_TYPE, text), (header::CACHE_CONTROL, CACHING)];
    Ok((headers, lines.join("\n") + "\n").into_response())
}
