//! Bodies and parameters in JSON.

use super::{Outcome, text, two};
use crate::domain::{
    authority::Scopes,
    authorization_details::{Details, Schema},
    requested_claims::ClaimsParameter,
    strict_json,
};
use serde_json::Value;

/// A body: what strict JSON accepts, a usual reader reads as the same.
pub(super) fn body(bytes: &[u8]) -> Outcome {
    let read = strict_json::value(bytes);
    if let Ok(value) = &read {
        let usual: Value = serde_json::from_slice(bytes).expect("strict JSON is JSON");
        assert_eq!(*value, usual, "there is one reading");
        assert!(!has_nul(value), "no database keeps a NUL");
    }
    assert_eq!(strict_json::object(bytes).is_ok(), read.as_ref().is_ok_and(Value::is_object));
    Outcome::of(&read.map(|value| value.is_object()))
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(list) => list.iter().any(has_nul),
        Value::Object(members) => {
            members.iter().any(|(name, value)| name.contains('\0') || has_nul(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The parameter `authorization_details` (RFC 9396).
pub(super) fn authorization_details(bytes: &[u8]) -> Outcome {
    let Some(text) = text(bytes) else { return Outcome::NO_TEXT };
    let read = Details::parse(text);
    if let Ok(details) = &read {
        assert!(!details.is_empty() && details.kinds().len() <= details.iter().count());
    }
    Outcome::of(&read.map(|details| details.iter().count()))
}

/// A schema of a resource in the first line, what a client sends after it.
pub(super) fn schema(bytes: &[u8]) -> Outcome {
    let (schema, value) = two(bytes);
    let Ok(schema) = serde_json::from_slice::<Value>(schema) else { return Outcome::NO_TEXT };
    let compiled = Schema::compile(&schema);
    let value = serde_json::from_slice::<Value>(value).unwrap_or(Value::Null);
    Outcome::of(&compiled.map(|compiled| compiled.admits(&value)))
}

/// The parameter `claims` (OpenID Connect Core §5.5).
pub(super) fn claims_parameter(bytes: &[u8]) -> Outcome {
    let Some(text) = text(bytes) else { return Outcome::NO_TEXT };
    let read = ClaimsParameter::parse(text);
    let scopes = Scopes::parse("openid email").expect("two scopes");
    Outcome::of(&read.map(|read| (read.claims.is_empty(), read.claims.beyond(&scopes).len())))
}
