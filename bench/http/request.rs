//! Requests as they go over the wire.

use std::{fmt::Write as _, net::SocketAddr};

/// A field of a head: its name and its value.
pub type Field<'a> = (&'a str, &'a str);

pub const JSON: Field<'_> = ("Accept", "application/json");

/// Renders a request for a document; without fields of its own it asks for JSON.
pub fn get(address: SocketAddr, path: &str, fields: &[Field<'_>]) -> Vec<u8> {
    let fields = if fields.is_empty() { &[JSON] } else { fields };
    render("GET", address, path, fields, "")
}

/// Renders a form.
pub fn post_form(address: SocketAddr, path: &str, fields: &[Field<'_>], form: &str) -> Vec<u8> {
    let kind = ("Content-Type", "application/x-www-form-urlencoded");
    render("POST", address, path, &[&[kind, JSON], fields].concat(), form)
}

/// Renders a document.
pub fn post_json(
    address: SocketAddr,
    path: &str,
    fields: &[Field<'_>],
    document: &serde_json::Value,
) -> Vec<u8> {
    let kind = ("Content-Type", "application/json");
    render("POST", address, path, &[&[kind, JSON], fields].concat(), &document.to_string())
}

/// Renders a request that something be ended.
pub fn delete(address: SocketAddr, path: &str, fields: &[Field<'_>]) -> Vec<u8> {
    render("DELETE", address, path, fields, "")
}

/// Writes parameters as a query or a form has them.
pub fn parameters(pairs: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// Renders a request.
pub fn render(
    method: &str,
    address: SocketAddr,
    path: &str,
    fields: &[Field<'_>],
    body: &str,
) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\n");
    for (name, value) in fields {
        let _ = write!(text, "{name}: {value}\r\n");
    }
    if ["POST", "PATCH"].contains(&method) {
        let _ = write!(text, "Content-Length: {}\r\n", body.len());
    }
    text.push_str("\r\n");
    text.push_str(body);
    text.into_bytes()
}
