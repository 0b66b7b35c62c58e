//! Answers of SCIM: documents as `application/scim+json`, and its own form of refusals (RFC 7644 §3.12).

use super::{
    error::{Problem, RequestFailure},
    private_json,
    retry_after::RetryAfter,
};
use crate::{actors::HydrateError, domain::scim::error::ScimError, store::views::ReadError};
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::Value;

const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/scim+json");

/// A refusal of a SCIM endpoint.
#[derive(Debug)]
pub struct ScimRefusal {
    pub error: ScimError,
    pub retry_after: Option<RetryAfter>,
    /// How the caller may do better: the value of `WWW-Authenticate`.
    pub challenge: Option<String>,
    /// Another change came between and nothing happened: it may be decided again.
    pub is_conflict: bool,
}

impl ScimRefusal {
    /// Another change came between.
    pub fn conflict() -> Self {
        let error = ScimError::conflict("another change came between: read again and repeat");
        Self { is_conflict: true, ..Self::from(error) }
    }
}

impl From<ScimError> for ScimRefusal {
    fn from(error: ScimError) -> Self {
        Self { error, retry_after: None, challenge: None, is_conflict: false }
    }
}

impl From<Problem> for ScimRefusal {
    fn from(problem: Problem) -> Self {
        let error = ScimError::plain(problem.status.as_u16(), problem.detail);
        Self { retry_after: problem.retry_after, ..Self::from(error) }
    }
}

impl From<RequestFailure> for ScimRefusal {
    fn from(stopped: RequestFailure) -> Self {
        let is_json = matches!(stopped, RequestFailure::InvalidJson(_));
        let mut refusal = Self::from(Problem::from(stopped));
        if is_json {
            refusal.error = ScimError::invalid_syntax(refusal.error.detail);
        }
        refusal
    }
}

impl From<HydrateError> for ScimRefusal {
    fn from(error: HydrateError) -> Self {
        Problem::from(error).into()
    }
}

impl From<ReadError> for ScimRefusal {
    fn from(error: ReadError) -> Self {
        Problem::from(error).into()
    }
}

impl IntoResponse for ScimRefusal {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.error.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = scim_json(status, &self.error.to_json());
        let challenge = self.challenge.and_then(|text| HeaderValue::try_from(text).ok());
        if let Some(challenge) = challenge {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        RetryAfter::tell(self.retry_after, &mut response);
        response
    }
}

/// Answers with a document that is not stored.
pub fn scim_json(status: StatusCode, body: &Value) -> Response {
    let mut response = private_json(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, MEDIA_TYPE);
    response
}
