//! Answers that are for one caller alone.

use axum::{
    http::{HeaderName, HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use serde::Serialize;

/// Room for a token and what stands around it.
const USUAL: usize = 1_024;

/// Answers with plain data as JSON that nobody keeps.
pub fn private_json(body: &impl Serialize) -> Response {
    let mut bytes = Vec::with_capacity(USUAL);
    serde_json::to_writer(&mut bytes, body).expect("plain data with text keys is JSON");
    let mut response = bytes.into_response();
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    never_stored(&mut response);
    response
}

/// RFC 6749 §5.1: neither a token nor a refusal is for the next caller.
pub fn never_stored(response: &mut Response) {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(HeaderName::from_static("pragma"), HeaderValue::from_static("no-cache"));
}
