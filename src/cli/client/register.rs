//! What a client with a certificate registers, as a file for `apply` has it.

use crate::domain::{
    Machine as _, Timestamp,
    client::{Client, Command, Draft, Refusal},
    is_hidden,
};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// How a client is known by a certificate (RFC 8705 §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    SelfSigned,
    Authority,
}

impl Way {
    pub(super) fn method(self) -> &'static str {
        match self {
            Self::SelfSigned => "self_signed_tls_client_auth",
            Self::Authority => "tls_client_auth",
        }
    }

    pub(super) fn flag(self) -> &'static str {
        match self {
            Self::SelfSigned => "--self-signed",
            Self::Authority => "--ca",
        }
    }
}

/// The members of a client that gets tokens bound to its certificate.
pub(super) fn members(client_id: &str, way: Way, known_by: Option<(&str, Value)>) -> Value {
    let mut members = Map::new();
    members.insert("client_id".to_owned(), json!(client_id));
    members.insert("token_endpoint_auth_method".to_owned(), json!(way.method()));
    members.extend(known_by.map(|(member, value)| (member.to_owned(), value)));
    members.insert("tls_client_certificate_bound_access_tokens".to_owned(), json!(true));
    Value::Object(members)
}

/// Writes a client as TOML.
pub(super) fn toml(members: &Value) -> String {
    let mut text = "[[client]]".to_owned();
    for (name, value) in members.as_object().into_iter().flatten() {
        let _ = write!(text, "\n{name} = {}", written(value));
    }
    text
}

/// Writes a value on one line. What a terminal would obey is escaped.
pub(super) fn written(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let escape = |one: char| match one {
                '"' | '\\' => format!("\\{one}"),
                one if is_hidden(one) => format!("\\U{:08X}", u32::from(one)),
                one => one.to_string(),
            };
            format!("\"{}\"", text.chars().map(escape).collect::<String>())
        }
        Value::Array(all) => {
            format!("[{}]", all.iter().map(written).collect::<Vec<_>>().join(", "))
        }
        Value::Object(all) => {
            let member = |(name, value): (&String, &Value)| format!("{name} = {}", written(value));
            format!("{{ {} }}", all.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// What `apply` would say against a new client.
pub(super) fn complaints(members: &Value, now: Timestamp) -> Vec<String> {
    match refusal(members, now) {
        None => Vec::new(),
        Some(Refusal::Metadata(faults)) => faults.iter().map(ToString::to_string).collect(),
        Some(refusal) => vec![refusal.to_string()],
    }
}

/// Refuses an id that no client has.
pub(super) fn check_id(client_id: &str, now: Timestamp) -> Result<(), Refusal> {
    match refusal(&json!({ "client_id": client_id }), now) {
        Some(Refusal::ClientId) => Err(Refusal::ClientId),
        _ => Ok(()),
    }
}

fn refusal(members: &Value, now: Timestamp) -> Option<Refusal> {
    let mut metadata = members.as_object().cloned().unwrap_or_default();
    let client_id = metadata.remove("client_id");
    let client_id = client_id.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
    let draft = Box::new(Draft { client_id, metadata, ..Draft::default() });
    Client::default().decide(&Command::Provision { draft, home: None }, now).outcome.err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_as_it_was_meant() {
        for text in ["a", "a\"b", "a\\b", "a\nb", "\u{202e}a", "ç\u{7f}", "#", "\u{1f600}", "{}"] {
            let line = format!("a = {}", written(&json!([{ "b": text }])));
            assert!(!line.chars().any(is_hidden), "{line}");
            let read: toml::Table = line.parse().unwrap();
            assert_eq!(read["a"][0]["b"].as_str(), Some(text), "{line}");
        }
    }
}
