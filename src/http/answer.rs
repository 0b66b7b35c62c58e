//! Bodies that are written in one go.

use axum::http::{HeaderName, HeaderValue, header};
use serde::Serialize;

/// Room for a token and what stands around it.
const USUAL: usize = 1_024;

/// Writes plain data as JSON.
pub fn json(body: &impl Serialize) -> ([(HeaderName, HeaderValue); 1], Vec<u8>) {
    let mut bytes = Vec::with_capacity(USUAL);
    serde_json::to_writer(&mut bytes, body).expect("plain data with text keys is JSON");
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], bytes)
}
