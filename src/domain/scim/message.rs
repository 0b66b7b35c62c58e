//! What all JSON objects of the protocol have in common: names in any case, and `schemas`.

use super::error::ScimError;
use serde_json::{Map, Value};

/// The most members of one object that a client sends.
pub const MAX_MEMBERS: usize = 200;

/// Finds a member by its name in any case; it may be there once.
pub(super) fn find_member<'a>(
    object: &'a Map<String, Value>,
    name: &str,
) -> Result<Option<&'a Value>, ScimError> {
    let mut found = object.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name));
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(repeated(name)),
        (first, None) => Ok(first.map(|(_, value)| value).filter(|value| !value.is_null())),
    }
}

pub(super) fn repeated(name: &str) -> ScimError {
    ScimError::invalid_syntax(format!("`{name}` is given twice"))
}

/// Checks that `schemas` names this one, in any case. Others beside it are tolerated.
pub(super) fn require_schema(object: &Map<String, Value>, urn: &str) -> Result<(), ScimError> {
    let is_it = |value: &Value| value.as_str().is_some_and(|text| text.eq_ignore_ascii_case(urn));
    let found = match find_member(object, "schemas")? {
        Some(Value::Array(schemas)) => schemas.iter().any(is_it),
        _ => false,
    };
    if found { Ok(()) } else { Err(ScimError::invalid_syntax(format!("`schemas` wants `{urn}`"))) }
}

/// Checks the number of members of an object.
pub(super) fn check_size(object: &Map<String, Value>) -> Result<(), ScimError> {
    if object.len() > MAX_MEMBERS {
        let detail = format!("an object has at most {MAX_MEMBERS} members");
        return Err(ScimError::invalid_syntax(detail));
    }
    Ok(())
}

/// Finds a parameter of an address by its name in any case; it may be there once.
pub(super) fn find_parameter<'a, N: AsRef<str>, V: AsRef<str>>(
    pairs: &'a [(N, V)],
    name: &str,
) -> Result<Option<&'a str>, ScimError> {
    let is_it = |(other, _): &&(N, V)| other.as_ref().eq_ignore_ascii_case(name);
    let mut found = pairs.iter().filter(is_it).map(|(_, value)| value.as_ref());
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(ScimError::invalid_value(format!("`{name}` is given more than once"))),
        (first, None) => Ok(first),
    }
}

/// Returns a member that must be a text if it is there.
pub(super) fn find_text<'a>(
    object: &'a Map<String, Value>,
    name: &str,
) -> Result<Option<&'a str>, ScimError> {
    match find_member(object, name)? {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(ScimError::invalid_syntax(format!("`{name}` is a text"))),
    }
}
