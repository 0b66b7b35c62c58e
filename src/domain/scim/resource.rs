//! A User as a client sent it, read into the form in which it is kept, and shown again.
//!
//! The kept form has the attributes with their names as the schema writes them, and nothing that the
//! server says itself: no `schemas`, no `id`, no `meta`, no `groups`.

#[cfg(test)]
mod tests;

use super::{
    error::ScimError,
    message::{check_size, repeated, require_schema},
    schema::{Attribute, ResourceType, USER},
    value::{is_primary, read_value},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The most bytes of the kept form, as JSON.
pub const MAX_DOCUMENT: usize = 16 * 1024;

/// The attributes of a User in the kept form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct User(Map<String, Value>);

/// What the server says about a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta<'a> {
    /// RFC 3339.
    pub created: &'a str,
    /// RFC 3339.
    pub last_modified: &'a str,
    pub location: &'a str,
    /// The entity tag, as `W/"3"`.
    pub version: &'a str,
}

impl User {
    /// Reads the body of a POST or a PUT.
    ///
    /// Unknown attributes, read-only ones and `password` are ignored (RFC 7644 §3.3, §3.5.1).
    pub fn read(body: &Map<String, Value>) -> Result<Self, ScimError> {
        require_schema(body, USER.schema.id)?;
        Self::check(body)
    }

    /// Reads attributes without their `schemas`, as a patch leaves them.
    pub(super) fn check(attributes: &Map<String, Value>) -> Result<Self, ScimError> {
        let read = read_attributes(attributes, &USER)?;
        let user_name = read.get("userName").and_then(Value::as_str).unwrap_or("");
        if user_name.trim().is_empty() {
            return Err(ScimError::invalid_value("`userName` is required"));
        }
        check_document(&read)?;
        Ok(Self(read))
    }

    pub fn attributes(&self) -> &Map<String, Value> {
        &self.0
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    pub fn user_name(&self) -> &str {
        self.text("userName").unwrap_or("")
    }

    pub fn external_id(&self) -> Option<&str> {
        self.text("externalId")
    }

    pub fn display_name(&self) -> Option<&str> {
        self.text("displayName")
    }

    /// Tells whether the user may act. A client that does not say so means yes.
    pub fn is_active(&self) -> bool {
        self.0.get("active").and_then(Value::as_bool).unwrap_or(true)
    }

    /// Says whether the user may act; a User that says nothing of it may.
    pub fn set_active(&mut self, is_active: bool) {
        if !is_active || self.0.contains_key("active") {
            self.0.insert("active".to_owned(), is_active.into());
        }
    }

    /// Returns the mail address under which the user is invited.
    ///
    /// It is the primary value of `emails` whatever its type is, else the first that is of type
    /// `work` or of no type, else `userName`; each only where it has the form of an address. A value
    /// of another type is private, and we do not write to it unless it is the primary one.
    pub fn address(&self) -> Option<&str> {
        let emails = self.0.get("emails").and_then(Value::as_array);
        let emails = emails.map(Vec::as_slice).unwrap_or_default();
        let kind = |email: &Value| email.get("type").and_then(Value::as_str).map(str::to_owned);
        let is_work =
            |email: &&Value| kind(email).is_none_or(|kind| kind.eq_ignore_ascii_case("work"));
        let primary = emails.iter().filter(|email| is_primary(email));
        let found = primary.chain(emails.iter().filter(is_work));
        let texts = found.filter_map(|email| email.get("value")?.as_str());
        texts.chain([self.user_name()]).find(|text| is_address(text))
    }

    /// Returns the document that clients read.
    pub fn show(&self, id: &str, meta: &Meta<'_>) -> Map<String, Value> {
        show(&self.0, &USER, id, meta)
    }
}

/// Tells whether a text has the form of a mail address.
fn is_address(text: &str) -> bool {
    let parts = text.rsplit_once('@');
    let filled = parts.is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty());
    filled && !text.contains(char::is_whitespace) && text.matches('@').count() == 1
}

/// Reads what the schema knows of these attributes, with the names as it writes them.
pub(super) fn read_attributes(
    attributes: &Map<String, Value>,
    resource_type: &ResourceType,
) -> Result<Map<String, Value>, ScimError> {
    let mut read = read_known(attributes, |name| resource_type.attribute(name))?;
    for (name, value) in attributes {
        let Some(schema) = resource_type.extension(name) else { continue };
        let content = match value {
            Value::Null => continue,
            Value::Object(content) => read_known(content, |name| schema.attribute(name))?,
            _ => {
                let detail = format!("the extension `{}` is an object", schema.name);
                return Err(ScimError::invalid_value(detail));
            }
        };
        if !content.is_empty() && read.insert(schema.id.to_owned(), content.into()).is_some() {
            return Err(repeated(schema.name));
        }
    }
    Ok(read)
}

fn read_known(
    attributes: &Map<String, Value>,
    find: impl Fn(&str) -> Option<&'static Attribute>,
) -> Result<Map<String, Value>, ScimError> {
    check_size(attributes)?;
    let mut read = Map::new();
    for (name, value) in attributes {
        let Some(attribute) = find(name).filter(|attribute| !attribute.is_read_only()) else {
            continue;
        };
        let Some(found) = read_value(attribute, value)? else { continue };
        if read.insert(attribute.name.to_owned(), found).is_some() {
            return Err(repeated(attribute.name));
        }
    }
    Ok(read)
}

/// Checks the size of what is kept.
pub(super) fn check_document(attributes: &Map<String, Value>) -> Result<(), ScimError> {
    let length = serde_json::to_vec(attributes).map_or(usize::MAX, |text| text.len());
    if length > MAX_DOCUMENT {
        let detail = format!("a resource has at most {MAX_DOCUMENT} bytes");
        return Err(ScimError::too_large(detail));
    }
    Ok(())
}

/// Adds to the kept attributes what the server says itself.
pub(super) fn show(
    attributes: &Map<String, Value>,
    resource_type: &ResourceType,
    id: &str,
    meta: &Meta<'_>,
) -> Map<String, Value> {
    let extensions = resource_type.extensions.iter().map(|schema| schema.id);
    let present = extensions.filter(|urn| attributes.contains_key(*urn));
    let schemas: Vec<&str> = [resource_type.schema.id].into_iter().chain(present).collect();
    let mut document = attributes.clone();
    document.insert("schemas".to_owned(), schemas.into());
    document.insert("id".to_owned(), id.into());
    let meta = json!({
        "resourceType": resource_type.name,
        "created": meta.created,
        "lastModified": meta.last_modified,
        "location": meta.location,
        "version": meta.version,
    });
    document.insert("meta".to_owned(), meta);
    document
}
