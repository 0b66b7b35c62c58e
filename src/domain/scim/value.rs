//! Values as clients send them, read into the one form in which they are kept.
//!
//! Some clients do not keep to the types of the RFC. These habits are taken on purpose:
//!
//! - `"True"` and `"False"` for a boolean (Entra);
//! - one value where an array of values is wanted;
//! - an array of one where a complex value is wanted, as `manager` (Entra);
//! - a plain text for a complex value that has a `value`, as `manager` (Entra) or a member.
//!
//! A number is no text and a text is no number.

use super::{
    date_time::DateTime,
    error::ScimError,
    filter::read_boolean,
    message::{check_size, repeated},
    schema::{Attribute, AttributeType},
};
use serde_json::{Map, Value};

/// The most values of one attribute.
pub const MAX_VALUES: usize = 100;

/// Reads the value of an attribute. `null`, an empty array and an object without anything known in
/// it mean that there is none (RFC 7643 §2.5).
pub(super) fn read_value(attribute: &Attribute, value: &Value) -> Result<Option<Value>, ScimError> {
    if !attribute.multi_valued {
        return read_single(attribute, value);
    }
    let given = super::attribute_path::values(value);
    check_count(attribute, given.len())?;
    let mut values = Vec::with_capacity(given.len());
    for one in given {
        let read = read_single(attribute, one)?;
        values.extend(read.filter(|read| !values.contains(read)));
    }
    check_primary(attribute, &values)?;
    Ok((!values.is_empty()).then_some(Value::Array(values)))
}

/// Reads one value of an attribute.
pub(super) fn read_single(
    attribute: &Attribute,
    value: &Value,
) -> Result<Option<Value>, ScimError> {
    match (attribute.kind, value) {
        (_, Value::Null) => Ok(None),
        (AttributeType::Complex, Value::Object(members)) => {
            let read = read_complex(attribute, members)?;
            Ok((!read.is_empty()).then_some(Value::Object(read)))
        }
        (AttributeType::Complex, Value::Array(values)) if !attribute.multi_valued => {
            match values.as_slice() {
                [] => Ok(None),
                [single] => read_single(attribute, single),
                _ => Err(mismatch(attribute)),
            }
        }
        (AttributeType::Complex, Value::String(_)) => match attribute.sub_attribute("value") {
            Some(part) => {
                let text = read_single(part, value)?;
                Ok(text.map(|text| {
                    Value::Object([(part.name.to_owned(), text)].into_iter().collect())
                }))
            }
            None => Err(mismatch(attribute)),
        },
        (AttributeType::Boolean, Value::Bool(_)) => Ok(Some(value.clone())),
        (AttributeType::Boolean, Value::String(text)) => match read_boolean(text) {
            Some(truth) => Ok(Some(truth.into())),
            None => Err(mismatch(attribute)),
        },
        (AttributeType::Integer, Value::Number(number)) if number.is_i64() => {
            Ok(Some(value.clone()))
        }
        (AttributeType::DateTime, Value::String(text)) if DateTime::parse(text).is_none() => {
            Err(mismatch(attribute))
        }
        (
            AttributeType::String | AttributeType::Reference | AttributeType::DateTime,
            Value::String(text),
        ) => {
            check_text(attribute, text)?;
            Ok(Some(value.clone()))
        }
        _ => Err(mismatch(attribute)),
    }
}

/// Reads the sub-attributes of one value; unknown and read-only ones are ignored.
fn read_complex(
    attribute: &Attribute,
    members: &Map<String, Value>,
) -> Result<Map<String, Value>, ScimError> {
    check_size(members)?;
    let mut read = Map::new();
    for (name, value) in members {
        let Some(part) = attribute.sub_attribute(name).filter(|part| !part.is_read_only()) else {
            continue;
        };
        let Some(found) = read_value(part, value)? else { continue };
        if read.insert(part.name.to_owned(), found).is_some() {
            return Err(repeated(part.name));
        }
    }
    Ok(read)
}

/// Checks the length of a text, and that it has no control characters.
pub(super) fn check_text(attribute: &Attribute, text: &str) -> Result<(), ScimError> {
    let (name, most) = (attribute.name, attribute.max_length);
    if text.len() > most {
        return Err(ScimError::invalid_value(format!("`{name}` has at most {most} bytes")));
    }
    let is_line = |letter: char| attribute.multi_line && "\r\n\t".contains(letter);
    if text.chars().any(|letter| letter.is_control() && !is_line(letter)) {
        return Err(ScimError::invalid_value(format!("`{name}` has no control characters")));
    }
    Ok(())
}

pub(super) fn check_count(attribute: &Attribute, count: usize) -> Result<(), ScimError> {
    if count > MAX_VALUES {
        let name = attribute.name;
        return Err(ScimError::invalid_value(format!("`{name}` has at most {MAX_VALUES} values")));
    }
    Ok(())
}

/// Checks that at most one value is the primary one (RFC 7643 §2.4).
pub(super) fn check_primary(attribute: &Attribute, values: &[Value]) -> Result<(), ScimError> {
    if values.iter().filter(|value| is_primary(value)).count() > 1 {
        let name = attribute.name;
        return Err(ScimError::invalid_value(format!("`{name}` has at most one primary value")));
    }
    Ok(())
}

pub(super) fn is_primary(value: &Value) -> bool {
    value.get("primary") == Some(&Value::Bool(true))
}

fn mismatch(attribute: &Attribute) -> ScimError {
    let wanted = match attribute.kind {
        AttributeType::String | AttributeType::Reference => "a text",
        AttributeType::Boolean => "true or false",
        AttributeType::Integer => "a whole number",
        AttributeType::DateTime => "a date and time",
        AttributeType::Complex => "an object",
    };
    ScimError::invalid_value(format!("`{}` is {wanted}", attribute.name))
}
