//! The path of an attribute: `name.givenName`, or `urn:…:User:department` (RFC 7644 §3.10).

use super::schema::{Attribute, ResourceType, Schema};
use serde_json::{Map, Value};
use std::fmt;

/// A path as it was written. It says nothing about whether such an attribute exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributePath {
    pub(super) urn: Option<String>,
    pub(super) name: String,
    pub(super) sub_attribute: Option<String>,
}

/// An attribute that exists, and the sub-attribute of it that is meant, if one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The extension that has the attribute, if the schema itself does not.
    pub extension: Option<&'static Schema>,
    pub attribute: &'static Attribute,
    pub sub_attribute: Option<&'static Attribute>,
}

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// All attributes of an extension.
    Extension(&'static Schema),
    Attribute(Target),
}

/// Tells whether a path may contain this byte.
pub(super) fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_$:.".contains(&byte)
}

/// Tells whether this is an attribute's name. `$` is there for `$ref` (RFC 7643 §2.1).
pub(super) fn is_name(text: &str) -> bool {
    let first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'$';
    text.bytes().next().is_some_and(first)
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_$".contains(&byte))
}

impl AttributePath {
    /// Reads a path, if it has the form of one.
    pub fn parse(text: &str) -> Option<Self> {
        // The URN has dots of its own, but no part after its last colon.
        let (urn, rest) = match text.rsplit_once(':') {
            Some((urn, rest)) => (Some(urn), rest),
            None => (None, text),
        };
        let (name, sub_attribute) = match rest.split_once('.') {
            Some((name, sub_attribute)) => (name, Some(sub_attribute)),
            None => (rest, None),
        };
        let urn_fits = |urn: &str| {
            let rest = urn.get(..4).filter(|start| start.eq_ignore_ascii_case("urn:"));
            rest.is_some() && urn.len() > 4 && urn.bytes().all(is_path_byte)
        };
        let fits = urn.is_none_or(urn_fits) && is_name(name) && sub_attribute.is_none_or(is_name);
        fits.then(|| Self {
            urn: urn.map(str::to_owned),
            name: name.to_owned(),
            sub_attribute: sub_attribute.map(str::to_owned),
        })
    }

    /// Finds what it leads to in a resource of this type.
    pub fn resolve(&self, resource_type: &ResourceType) -> Option<Place> {
        let target = |extension: Option<&'static Schema>, attribute: &'static Attribute| {
            let sub_attribute = match &self.sub_attribute {
                Some(name) => Some(attribute.sub_attribute(name)?),
                None => None,
            };
            Some(Place::Attribute(Target { extension, attribute, sub_attribute }))
        };
        let Some(urn) = &self.urn else {
            if let Some(attribute) = resource_type.attribute(&self.name) {
                return target(None, attribute);
            }
            // RFC 7644 §3.10 asks for the URN here; Entra asks for `manager` without it.
            return resource_type
                .extensions
                .iter()
                .find_map(|schema| target(Some(schema), schema.attribute(&self.name)?));
        };
        if resource_type.schema.has_id(urn) {
            return target(None, resource_type.attribute(&self.name)?);
        }
        if let Some(schema) = resource_type.extension(urn) {
            return target(Some(schema), schema.attribute(&self.name)?);
        }
        let whole = format!("{urn}:{}", self.name);
        let schema = resource_type.extension(&whole)?;
        self.sub_attribute.is_none().then_some(Place::Extension(schema))
    }

    /// Finds the attribute it leads to; a whole extension is none.
    pub fn target(&self, resource_type: &ResourceType) -> Option<Target> {
        match self.resolve(resource_type)? {
            Place::Attribute(target) => Some(target),
            Place::Extension(_) => None,
        }
    }
}

impl fmt::Display for AttributePath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(urn) = &self.urn {
            write!(out, "{urn}:")?;
        }
        out.write_str(&self.name)?;
        match &self.sub_attribute {
            Some(name) => write!(out, ".{name}"),
            None => Ok(()),
        }
    }
}

impl Target {
    /// Returns the value of the attribute, not of its sub-attribute. An absent one is `None`.
    pub(super) fn find<'a>(&self, document: &'a Map<String, Value>) -> Option<&'a Value> {
        let container = match self.extension {
            Some(schema) => document.get(schema.id)?.as_object()?,
            None => document,
        };
        container.get(self.attribute.name).filter(|value| !value.is_null())
    }

    pub fn is_read_only(&self) -> bool {
        self.attribute.is_read_only() || self.sub_attribute.is_some_and(Attribute::is_read_only)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.attribute.name)?;
        match self.sub_attribute {
            Some(sub_attribute) => write!(out, ".{}", sub_attribute.name),
            None => Ok(()),
        }
    }
}

/// Returns the values of an attribute; a value that is no array is one of its own.
pub(super) fn values(value: &Value) -> &[Value] {
    match value {
        Value::Array(values) => values,
        single => std::slice::from_ref(single),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::scim::schema::USER;

    const ENTERPRISE: &str = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

    fn shown(text: &str) -> Option<String> {
        let place = AttributePath::parse(text)?.resolve(&USER)?;
        Some(match place {
            Place::Extension(schema) => schema.name.to_owned(),
            Place::Attribute(target) => {
                let schema = target.extension.map_or("", |schema| schema.name);
                format!("{schema}/{target}")
            }
        })
    }

    #[test]
    fn a_path_is_found_in_any_case_with_or_without_its_urn() {
        let expect = |text: &str, found: &str| {
            assert_eq!(shown(text).as_deref(), Some(found), "{text}");
        };
        expect("USERNAME", "/userName");
        expect("name.givenname", "/name.givenName");
        expect("urn:ietf:params:scim:schemas:core:2.0:User:name.familyName", "/name.familyName");
        expect("URN:ietf:params:scim:schemas:core:2.0:user:externalid", "/externalId");
        expect(&format!("{ENTERPRISE}:department"), "EnterpriseUser/department");
        expect(&format!("{ENTERPRISE}:manager.$ref"), "EnterpriseUser/manager.$ref");
        expect(&ENTERPRISE.to_lowercase(), "EnterpriseUser");
        expect("manager", "EnterpriseUser/manager");
        expect("meta.lastModified", "/meta.lastModified");
    }

    #[test]
    fn what_the_schema_does_not_have_is_not_found() {
        for text in ["password", "name.value", "urn:x:y:userName", "urn:ietf:params:scim:schemas"] {
            assert!(AttributePath::parse(text).is_some(), "{text}");
            assert_eq!(shown(text), None, "{text}");
        }
        assert_eq!(shown(&format!("{ENTERPRISE}.manager")), None);
    }

    #[test]
    fn what_has_not_the_form_of_a_path_is_none() {
        let long = "a.".repeat(100_000);
        for text in [
            "", ".", "a.", ".a", "a.b.c", "1a", "a b", "x:a", "urn::a", "é", "a\0", &long, ":",
            "::",
        ] {
            assert_eq!(AttributePath::parse(text), None, "{}", text.len());
        }
    }

    #[test]
    fn a_path_prints_as_it_was_written() {
        for text in ["a", "a.b", "urn:x:y.z:a.b", "urn:x:User", "members.$ref"] {
            assert_eq!(AttributePath::parse(text).unwrap().to_string(), text);
        }
    }
}
