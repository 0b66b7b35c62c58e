//! Texts that people read and callers write.

use crate::domain::{authority::Permission, is_hidden};
use serde::Deserialize;

/// What people call something: seen as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Name(pub String);

/// Characters; longer names are cut by every page that shows them.
const LONGEST: usize = 200;

impl TryFrom<String> for Name {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() || text.chars().count() > LONGEST {
            return Err(format!("has 1 to {LONGEST} characters"));
        }
        if text.chars().any(is_hidden) {
            return Err("contains a character that is not seen".to_owned());
        }
        Ok(Self(text.to_owned()))
    }
}

/// A permission as a caller writes it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct GivenPermission(pub Permission);

impl TryFrom<String> for GivenPermission {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Permission::parse(&text).map(Self).map_err(|why| why.to_string())
    }
}
