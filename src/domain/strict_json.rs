//! Strict JSON: one object, every member once, nothing in it that a database could not keep.
//!
//! `serde_json` would keep the last of two members of one name; a proxy in front of us might
//! keep the first, and so read another request than we do (RFC 8259 §4).

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::{cell::Cell, fmt};

/// Why bytes are not what we take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    NotJson,
    NotAnObject,
    Repeated,
    Nul,
}

impl Flaw {
    pub const fn words(self) -> &'static str {
        match self {
            Self::NotJson => "the body is not JSON",
            Self::NotAnObject => "the body must be a JSON object",
            Self::Repeated => "a member of an object is repeated",
            Self::Nul => "a string contains a NUL character",
        }
    }
}

/// Parses an object; how deep it may be nested is limited by `serde_json`.
pub fn object(bytes: &[u8]) -> Result<Map<String, Value>, Flaw> {
    match value(bytes)? {
        Value::Object(members) => Ok(members),
        _ => Err(Flaw::NotAnObject),
    }
}

/// Parses whatever JSON it is.
pub fn value(bytes: &[u8]) -> Result<Value, Flaw> {
    let flaw = Cell::new(Flaw::NotJson);
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let read = Strict(&flaw).deserialize(&mut deserializer);
    read.and_then(|value| deserializer.end().map(|()| value)).map_err(|_| flaw.get())
}

/// Reads a value as `serde_json` does, and notes the flaw that it would not mind.
#[derive(Clone, Copy)]
struct Strict<'a>(&'a Cell<Flaw>);

impl Strict<'_> {
    fn stop<E: serde::de::Error>(self, flaw: Flaw) -> E {
        self.0.set(flaw);
        E::custom(flaw.words())
    }

    fn text<E: serde::de::Error>(self, text: String) -> Result<String, E> {
        // PostgreSQL could not even be asked about it.
        if text.contains('\0') { Err(self.stop(Flaw::Nul)) } else { Ok(text) }
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Value, E> {
        self.text(text.to_owned()).map(Value::String)
    }

    fn visit_string<E: serde::de::Error>(self, text: String) -> Result<Value, E> {
        self.text(text).map(Value::String)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(entry) = entries.next_element_seed(self)? {
            list.push(entry);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let name = self.text(name)?;
            if object.contains_key(&name) {
                return Err(self.stop(Flaw::Repeated));
            }
            let value = members.next_value_seed(self)?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests;
