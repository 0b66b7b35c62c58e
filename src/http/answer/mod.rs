//! Answers: JSON that is not stored, errors, redirects.

pub mod authorization_error;
mod code;
pub mod demand;
pub mod error;
pub mod html;
pub mod redirect;
pub mod response_summary;
pub mod retry_after;
pub mod scim;
mod stopped;

use axum::{
    body::Body,
    http::{HeaderMap, HeaderName, HeaderValue, header},
    response::Response,
};
use serde::Serialize;

/// Bytes: room for tokens and what stands around them.
const USUAL: usize = 2_560;

/// How many headers an answer has when it leaves: those of the layers as well.
const HEADERS: usize = 12;

/// Answers with plain data as JSON that is not stored.
pub fn private_json(body: &impl Serialize) -> Response {
    let mut bytes = Vec::with_capacity(USUAL);
    serde_json::to_writer(&mut bytes, body).expect("plain data with text keys is JSON");
    let mut response = roomy(Body::from(bytes));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    never_stored(&mut response);
    response
}

/// Makes an answer with room for the headers it will get.
pub fn roomy(body: Body) -> Response {
    let mut response = Response::new(body);
    *response.headers_mut() = HeaderMap::with_capacity(HEADERS);
    response
}

/// RFC 6749 §5.1: neither a token nor a refusal is for the next caller.
pub fn never_stored(response: &mut Response) {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(HeaderName::from_static("pragma"), HeaderValue::from_static("no-cache"));
}
