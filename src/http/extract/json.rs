//! Bodies in strict JSON: one object, every member once ([`strict_json`]).

use super::body::{self, RequestBody};
use crate::domain::strict_json;
use crate::http::{
    answer::error::{Code, OAuthError, Problem, RequestFailure},
    app::App,
    limits::request_permits::{RequestPermits, WorkPermit},
};
use axum::{
    body::{Body, HttpBody as _},
    extract::{FromRequest, Request},
    http::{HeaderMap, request::Parts},
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use serde_path_to_error::{Path, Segment};

/// The members of an object at an OAuth endpoint.
pub struct PostedJson {
    pub body: Map<String, Value>,
    /// Kept until the request is answered.
    _place: WorkPermit,
}

/// A body of the shape `T` everywhere else, and the headers it came with; no body is no members.
pub struct Json<T> {
    pub headers: HeaderMap,
    pub body: T,
    /// Kept until the request is answered.
    _place: WorkPermit,
}

impl FromRequest<App> for PostedJson {
    type Rejection = OAuthError;

    async fn from_request(request: Request, app: &App) -> Result<Self, OAuthError> {
        Self::take(request, &app.limits.request_permits).await
    }
}

impl PostedJson {
    async fn take(request: Request, request_permits: &RequestPermits) -> Result<Self, OAuthError> {
        let (head, body) = request.into_parts();
        if head.uri.query().is_some_and(|query| !query.is_empty()) {
            // What is in an address ends up in logs.
            let why = "parameters belong into the body, not into the address";
            return Err(OAuthError::new(Code::InvalidRequest, why));
        }
        let (body, place) = read(&head, body, request_permits, &[]).await?;
        Ok(Self { body, _place: place })
    }
}

impl<T: DeserializeOwned> FromRequest<App> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        Self::take(request, &app.limits.request_permits).await
    }
}

impl<T: DeserializeOwned> Json<T> {
    async fn take(request: Request, request_permits: &RequestPermits) -> Result<Self, Problem> {
        let (head, body) = request.into_parts();
        let (members, place) = read(&head, body, request_permits, b"{}").await?;
        Ok(Self { headers: head.headers, body: shaped(members)?, _place: place })
    }
}

/// Reads members as a value of the shape `T`; a refusal names the member.
pub fn shaped<T: DeserializeOwned>(members: Map<String, Value>) -> Result<T, Problem> {
    serde_path_to_error::deserialize(Value::Object(members)).map_err(|error| {
        let mut pointer = pointer(error.path());
        let text = error.inner().to_string();
        // The text of the library quotes the value, which may be a secret: only what the type itself
        // says is passed on.
        let detail = if let Some(name) = text.strip_prefix("missing field `") {
            let name = name.split('`').next().unwrap_or_default();
            pointer = format!("{pointer}/{name}");
            "is missing"
        } else if text.starts_with("unknown field") {
            "is not known"
        } else if text.starts_with("invalid type") || text.starts_with("invalid length") {
            "has the wrong type"
        } else if text.starts_with("invalid value") || text.starts_with("unknown variant") {
            "has a value that is not known"
        } else {
            &text
        };
        Problem::wrong_member(pointer, detail)
    })
}

/// Writes a path as a JSON pointer in a URI fragment; names of ours need no escape but those two.
fn pointer(path: &Path) -> String {
    let mut pointer = String::from("#");
    for segment in path {
        match segment {
            Segment::Seq { index } => pointer.extend(["/", &index.to_string()]),
            Segment::Map { key } => {
                let key = key.replace('~', "~0").replace('/', "~1");
                pointer.extend(["/"].into_iter().chain([key.as_str()]));
            }
            Segment::Enum { variant } => pointer.extend(["/", variant.as_str()]),
            Segment::Unknown => {}
        }
    }
    pointer
}

/// Whether a request must have a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyRule {
    Required,
    /// No body is no members, and needs no media type.
    Optional,
}

/// Reads the members of a body.
pub(in crate::http) async fn members(
    head: &Parts,
    body: Body,
    request_permits: &RequestPermits,
    rule: BodyRule,
) -> Result<(Map<String, Value>, WorkPermit), RequestFailure> {
    if body.is_end_stream() {
        return match rule {
            BodyRule::Required => Err(RequestFailure::InvalidJson("the request has no body")),
            BodyRule::Optional => {
                let client = body::client(head, request_permits);
                Ok((Map::new(), request_permits.work(client)?))
            }
        };
    }
    let otherwise: &[u8] = if rule == BodyRule::Optional { b"{}" } else { b"" };
    read(head, body, request_permits, otherwise).await
}

/// Reads an object, which is `otherwise` where the body is empty.
async fn read(
    head: &Parts,
    body: Body,
    request_permits: &RequestPermits,
    otherwise: &[u8],
) -> Result<(Map<String, Value>, WorkPermit), RequestFailure> {
    if !body::is_of_type(&head.headers, "application/json") {
        return Err(RequestFailure::WrongMedia("the body must be application/json in UTF-8"));
    }
    let RequestBody { bytes, permit } = body::read(head, body, request_permits).await?;
    let given = if bytes.is_empty() { otherwise } else { &bytes };
    let object =
        strict_json::object(given).map_err(|flaw| RequestFailure::InvalidJson(flaw.words()))?;
    Ok((object, permit))
}

/// Bytes of a request of SCIM: a thousand members of a Group, or a hundred operations.
pub const LARGEST_SCIM: usize = 512 * 1024;

/// Reads the members of a request of SCIM (RFC 7644 §3.1: `application/scim+json`; clients also send JSON).
pub(in crate::http) async fn scim_members(
    head: &Parts,
    body: Body,
    request_permits: &RequestPermits,
) -> Result<(Map<String, Value>, WorkPermit), RequestFailure> {
    let is_taken = |essence: &str| body::is_of_type(&head.headers, essence);
    if !["application/scim+json", "application/json"].into_iter().any(is_taken) {
        return Err(RequestFailure::WrongMedia("the body must be application/scim+json in UTF-8"));
    }
    let arrived = body::read_up_to(LARGEST_SCIM, head, body, request_permits).await?;
    let object = strict_json::object(&arrived.bytes)
        .map_err(|flaw| RequestFailure::InvalidJson(flaw.words()))?;
    Ok((object, arrived.permit))
}

/// Reads an object in which every member is given once.
pub(in crate::http) fn object(bytes: &[u8]) -> Option<Map<String, Value>> {
    strict_json::object(bytes).ok()
}

#[cfg(test)]
mod tests;
