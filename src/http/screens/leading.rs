//! Where a page leads: the path of a flow, and the redirect after a form.

use crate::http::{answer::redirect::see_other, routes};
use axum::response::{IntoResponse, Response};
use url::form_urlencoded;

/// Returns the path on which a flow is drawn now.
pub fn path_of(kind: &str, state: &str) -> &'static str {
    match (kind, state) {
        (_, "consent") => routes::CONSENT,
        ("sign_up" | "invitation", _) => routes::SIGN_UP,
        ("verify_email", _) => routes::VERIFY_EMAIL,
        ("recovery", _) => routes::RESET_PASSWORD,
        ("device", _) => routes::DEVICE_SCREEN,
        ("approval", _) => routes::APPROVE,
        ("sign_out", _) => routes::SIGN_OUT,
        ("enroll_passkey" | "enroll_totp", _) => routes::ACCOUNT,
        _ => routes::SIGN_IN,
    }
}

/// Leads from a form to a page.
pub fn to(path: &str, query: &[(&str, &str)]) -> Response {
    let mut pairs = form_urlencoded::Serializer::new(String::new());
    let query = pairs.extend_pairs(query).finish();
    let address = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
    see_other(&address).unwrap_or_else(IntoResponse::into_response)
}
