//! The path of a flow: on which screen it is drawn.

use crate::http::routes;

/// Returns the path on which a flow is drawn now.
pub fn path_of(kind: &str, state: &str) -> &'static str {
    match (kind, state) {
        (_, "consent") => routes::CONSENT,
        ("sign_up" | "invitation", _) => routes::SIGN_UP,
        ("verify_email", _) => routes::VERIFY_EMAIL,
        ("recovery", _) => routes::RESET_PASSWORD,
        ("report", _) => routes::REPORT,
        ("device", _) => routes::DEVICE_SCREEN,
        ("approval", _) => routes::APPROVE,
        ("sign_out", _) => routes::SIGN_OUT,
        ("enroll_passkey" | "enroll_totp" | "link", _) => routes::ACCOUNT,
        _ => routes::SIGN_IN,
    }
}
