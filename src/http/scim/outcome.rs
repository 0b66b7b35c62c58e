//! What an operation came to, as an answer of its own or as a part of a bulk answer.

use crate::{
    domain::scim::{bulk::BulkResult, error::ScimError},
    http::answer::scim::{ScimRefusal, scim_json},
};
use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use serde_json::{Map, Value};

/// What an operation answers.
pub type Answer = Result<Outcome, ScimRefusal>;

/// What an operation came to.
pub struct Outcome {
    pub status: StatusCode,
    pub id: Option<String>,
    pub location: Option<String>,
    /// A weak entity tag.
    pub version: Option<String>,
    /// What is shown; nothing is 204, or 304.
    pub body: Option<Value>,
}

impl Outcome {
    /// Shows something that is no resource of a client's.
    pub fn of(body: Value) -> Self {
        let (id, location, version) = (None, None, None);
        Self { status: StatusCode::OK, id, location, version, body: Some(body) }
    }

    pub fn gone() -> Self {
        let status = StatusCode::NO_CONTENT;
        Self { status, id: None, location: None, version: None, body: None }
    }

    /// Shows a resource, by the address and version that its document has.
    pub fn resource(status: StatusCode, document: Map<String, Value>) -> Self {
        let meta = |name: &str| document.get("meta")?.get(name)?.as_str().map(str::to_owned);
        let id = document.get("id").and_then(Value::as_str).map(str::to_owned);
        let (location, version) = (meta("location"), meta("version"));
        Self { status, id, location, version, body: Some(Value::Object(document)) }
    }

    /// Shows of a resource what was asked for: its address and version are told in headers.
    pub fn showing(self, shown: Map<String, Value>) -> Self {
        Self { body: Some(Value::Object(shown)), ..self }
    }

    pub fn unsupported(detail: &str) -> Answer {
        Err(ScimError::plain(StatusCode::NOT_IMPLEMENTED.as_u16(), detail).into())
    }

    pub fn into_response(self) -> Response {
        let mut response = if let Some(body) = &self.body {
            scim_json(self.status, body)
        } else {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = self.status;
            response
        };
        let mut tell = |name, value: Option<String>| {
            if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
                response.headers_mut().insert(name, value);
            }
        };
        tell(header::ETAG, self.version);
        if self.status == StatusCode::CREATED {
            tell(header::LOCATION, self.location);
        }
        response
    }

    /// The same as a part of a bulk answer.
    pub fn into_result(self) -> BulkResult {
        let Self { status, id, location, version, .. } = self;
        BulkResult { status: status.as_u16(), id, location, version, error: None }
    }
}
