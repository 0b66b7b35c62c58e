//! The person whom a provider has signed in, as far as it can be believed.

use super::claims::{LONGEST_TEXT, is_text};
use crate::domain::{Timestamp, is_hidden};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How many claims are kept.
pub(super) const MOST_CLAIMS: usize = 100;

/// How many texts a list may have: more groups than any provider puts into a token.
const MOST_ENTRIES: usize = 1_000;

/// Bytes of a claim's name.
pub(super) const LONGEST_NAME: usize = 255;

/// Bytes: the longest address that mail can be sent to (RFC 5321 §4.5.3.1).
const LONGEST_ADDRESS: usize = 254;

/// Claims that say something of the token or of who the person is; they are no facts about the person.
const PROTOCOL: [&str; 17] = [
    "iss",
    "sub",
    "aud",
    "exp",
    "iat",
    "nbf",
    "jti",
    "nonce",
    "azp",
    "at_hash",
    "c_hash",
    "sid",
    "auth_time",
    "acr",
    "amr",
    "email",
    "email_verified",
];

/// A person as a provider knows them: `issuer` and `subject` say who, everything else is its word.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UpstreamPerson {
    pub issuer: String,
    pub subject: String,
    /// `sid`, by which the provider ends this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// `None` where the provider says nothing; what it says unreadably is `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email_verified: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acr: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub amr: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_time: Option<Timestamp>,
    /// The other claims that are a text or a list of texts.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub claims: Map<String, Value>,
}

/// Tells whether roles can rest on a claim of this name.
pub(super) fn is_fact(name: &str) -> bool {
    !PROTOCOL.contains(&name)
}

/// Keeps what roles may rest on; what is larger than allowed is left out as a whole.
pub(super) fn facts(claims: Map<String, Value>) -> Map<String, Value> {
    let is_kept = |(name, value): &(String, Value)| {
        is_fact(name) && is_text(name, LONGEST_NAME) && is_plain(value)
    };
    claims.into_iter().filter(is_kept).collect()
}

fn is_plain(value: &Value) -> bool {
    let is_short = |value: &Value| value.as_str().is_some_and(|text| text.len() <= LONGEST_TEXT);
    match value {
        Value::Array(entries) => entries.len() <= MOST_ENTRIES && entries.iter().all(is_short),
        other => is_short(other),
    }
}

/// Reads an address; what could not be one counts as absent, and vouches for nothing.
pub(super) fn address(value: Option<&Value>) -> Option<String> {
    let text = value?.as_str()?;
    let (local, domain) = text.rsplit_once('@')?;
    let is_address = !local.is_empty() && !domain.is_empty() && is_text(text, LONGEST_ADDRESS);
    let is_seen = !text.chars().any(|character| character == ' ' || is_hidden(character));
    (is_address && is_seen).then(|| text.to_owned())
}

/// Reads a boolean, or the text of one, as Apple sends it. Anything else is `false`, since the absence of this
/// claim is believed under a proved domain.
pub(super) fn verified(value: Option<&Value>) -> Option<bool> {
    match value {
        None => None,
        Some(Value::Bool(verified)) => Some(*verified),
        Some(Value::String(text)) => Some(text == "true"),
        Some(_) => Some(false),
    }
}
