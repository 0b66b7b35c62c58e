//! What stops a request before, or around, its endpoint.

use super::error::{Code, OAuthError, Problem, is_for_later};
use axum::http::StatusCode;

impl From<RequestFailure> for OAuthError {
    fn from(stopped: RequestFailure) -> Self {
        let (status, _, description) = stopped.facts();
        let code = match status {
            StatusCode::INTERNAL_SERVER_ERROR => Code::ServerError,
            status if is_for_later(status) => Code::TemporarilyUnavailable,
            _ => Code::InvalidRequest,
        };
        Self::new(code, description).with_status(status)
    }
}

impl From<RequestFailure> for Problem {
    fn from(stopped: RequestFailure) -> Self {
        let (status, code, detail) = stopped.facts();
        Self::new(status, code, detail)
    }
}

/// What stops a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestFailure {
    MissingHost,
    /// A caller that is no trusted proxy tells of the certificate of a client.
    ForeignCertificate,
    /// A trusted proxy tells of a certificate that is none.
    MalformedCertificate,
    ForeignHost,
    MethodNotAllowed,
    /// The server's own deadline passed.
    Late,
    Panicked,
    /// Too many requests are under way.
    Full,
    /// Too many of one address are.
    FullForOne,
    WrongMedia(&'static str),
    TooLarge,
    Incomplete,
    LateBody,
    InvalidJson(&'static str),
}

const CROWDED: &str = "too many requests are under way, please try again";

impl RequestFailure {
    fn facts(self) -> (StatusCode, &'static str, &'static str) {
        match self {
            Self::MissingHost => {
                (StatusCode::BAD_REQUEST, "invalid_host", "exactly one Host header is needed")
            }
            Self::ForeignCertificate => (
                StatusCode::BAD_REQUEST,
                "foreign_certificate",
                "Client-Cert is believed from a trusted proxy alone: leave the header out",
            ),
            Self::MalformedCertificate => (
                StatusCode::BAD_REQUEST,
                "malformed_certificate",
                "Client-Cert and Client-Cert-Chain hold no certificate (RFC 9440)",
            ),
            Self::ForeignHost => (
                StatusCode::MISDIRECTED_REQUEST,
                "foreign_host",
                "this development server answers on loopback names only",
            ),
            Self::MethodNotAllowed => {
                let refused = Problem::METHOD_NOT_ALLOWED;
                (refused.status, refused.code, refused.detail)
            }
            Self::Late => (
                StatusCode::SERVICE_UNAVAILABLE,
                "temporarily_unavailable",
                "the server could not answer in time, please try again",
            ),
            Self::Panicked => {
                (StatusCode::INTERNAL_SERVER_ERROR, "internal_error", "something broke on our side")
            }
            Self::Full => (StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable", CROWDED),
            Self::FullForOne => (StatusCode::TOO_MANY_REQUESTS, "too_many_requests", CROWDED),
            Self::WrongMedia(detail) => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail)
            }
            Self::TooLarge => {
                (StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", "the body is too large")
            }
            Self::Incomplete => {
                (StatusCode::BAD_REQUEST, "incomplete_body", "the body did not arrive whole")
            }
            Self::LateBody => {
                (StatusCode::REQUEST_TIMEOUT, "timeout", "the body did not arrive in time")
            }
            Self::InvalidJson(detail) => (StatusCode::BAD_REQUEST, "invalid_json", detail),
        }
    }
}
