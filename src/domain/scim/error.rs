//! The refusal of a SCIM request, as RFC 7644 §3.12 writes it.

use serde_json::{Value, json};

/// The schema of an error message.
pub const ERROR: &str = "urn:ietf:params:scim:api:messages:2.0:Error";

/// How many characters of the input a detail may repeat.
const EXCERPT: usize = 40;

/// The status, the SCIM keyword where RFC 7644 has one, and a sentence for an administrator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct ScimError {
    pub status: u16,
    pub scim_type: Option<&'static str>,
    pub detail: String,
}

impl ScimError {
    /// Makes an error that has no SCIM keyword.
    pub fn plain(status: u16, detail: impl Into<String>) -> Self {
        Self { status, scim_type: None, detail: detail.into() }
    }

    fn keyword(status: u16, scim_type: &'static str, detail: impl Into<String>) -> Self {
        Self { status, scim_type: Some(scim_type), detail: detail.into() }
    }

    pub fn invalid_filter(detail: impl Into<String>) -> Self {
        Self::keyword(400, "invalidFilter", detail)
    }

    pub fn too_many(detail: impl Into<String>) -> Self {
        Self::keyword(400, "tooMany", detail)
    }

    pub fn uniqueness(detail: impl Into<String>) -> Self {
        Self::keyword(409, "uniqueness", detail)
    }

    pub fn mutability(detail: impl Into<String>) -> Self {
        Self::keyword(400, "mutability", detail)
    }

    pub fn invalid_syntax(detail: impl Into<String>) -> Self {
        Self::keyword(400, "invalidSyntax", detail)
    }

    pub fn invalid_path(detail: impl Into<String>) -> Self {
        Self::keyword(400, "invalidPath", detail)
    }

    pub fn no_target(detail: impl Into<String>) -> Self {
        Self::keyword(400, "noTarget", detail)
    }

    pub fn invalid_value(detail: impl Into<String>) -> Self {
        Self::keyword(400, "invalidValue", detail)
    }

    pub fn invalid_vers(detail: impl Into<String>) -> Self {
        Self::keyword(400, "invalidVers", detail)
    }

    /// A request that may not stand in an address, for the address would be logged (RFC 7644 §7.5.2).
    pub fn sensitive(detail: impl Into<String>) -> Self {
        Self::keyword(403, "sensitive", detail)
    }

    pub fn invalid_cursor(detail: impl Into<String>) -> Self {
        Self::keyword(400, "invalidCursor", detail)
    }

    pub fn expired_cursor(detail: impl Into<String>) -> Self {
        Self::keyword(400, "expiredCursor", detail)
    }

    pub fn invalid_count(detail: impl Into<String>) -> Self {
        Self::keyword(400, "invalidCount", detail)
    }

    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::plain(404, detail)
    }

    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::plain(409, detail)
    }

    pub fn precondition_failed(detail: impl Into<String>) -> Self {
        Self::plain(412, detail)
    }

    pub fn too_large(detail: impl Into<String>) -> Self {
        Self::plain(413, detail)
    }

    /// Returns the body of the answer; `status` is a string there.
    pub fn to_json(&self) -> Value {
        let mut body = json!({
            "schemas": [ERROR],
            "status": self.status.to_string(),
            "detail": self.detail,
        });
        if let (Some(members), Some(scim_type)) = (body.as_object_mut(), self.scim_type) {
            members.insert("scimType".to_owned(), scim_type.into());
        }
        body
    }
}

/// Returns a short part of the input that is safe to print, between back quotes.
pub(super) fn excerpt(text: &str) -> String {
    let mut shown = String::with_capacity(EXCERPT + 8);
    shown.push('`');
    for (place, letter) in text.chars().enumerate() {
        if place == EXCERPT {
            shown.push('…');
            break;
        }
        let printable = letter.is_alphanumeric() || letter.is_ascii_graphic() || letter == ' ';
        shown.push(if printable && letter != '`' { letter } else { '?' });
    }
    shown.push('`');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_reads_as_the_rfc_writes_it() {
        let body = ScimError::mutability("`id` is never written").to_json();
        let expected = json!({
            "schemas": ["urn:ietf:params:scim:api:messages:2.0:Error"],
            "status": "400",
            "scimType": "mutability",
            "detail": "`id` is never written",
        });
        assert_eq!(body, expected);
        let plain = ScimError::not_found("no such user").to_json();
        assert_eq!(plain.get("scimType"), None);
        assert_eq!(plain["status"], "404");
    }

    #[test]
    fn an_excerpt_is_short_and_printable() {
        assert_eq!(excerpt("userName"), "`userName`");
        assert_eq!(excerpt("a\0b\u{202e}c`d\n"), "`a?b?c?d?`");
        let long = excerpt(&"é".repeat(100_000));
        assert_eq!(long.chars().count(), EXCERPT + 3);
    }
}
