//! The imported person, whom an entry of an export describes.

use crate::domain::Secret;
use serde_json::{Map, Value};

/// What the numbers of complaints count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entries {
    Lines,
    /// From 1.
    Users,
}

/// A person as an export describes them.
#[derive(Default)]
pub(super) struct ImportedPerson {
    pub(super) email: String,
    pub(super) email_verified: Option<bool>,
    /// By their standard names.
    pub(super) claims: Map<String, Value>,
    /// A PHC string that can be verified.
    pub(super) password: Option<String>,
    pub(super) totp: Option<Secret>,
    /// It cannot be used there, and must not be here.
    pub(super) suspended: bool,
    pub(super) left_out: Vec<String>,
}

/// What became of an entry: a person, none, or what is wrong with it.
pub(super) type EntryOutcome = Result<Option<ImportedPerson>, Vec<String>>;

/// Every entry with its number.
pub(super) type NumberedEntries = Vec<(usize, EntryOutcome)>;

/// Puts a text into the claims, unless it is absent or empty.
pub(super) fn put(claims: &mut Map<String, Value>, name: &str, text: Option<String>) {
    let text = text.filter(|text| !text.trim().is_empty());
    claims.extend(text.map(|text| (name.to_owned(), text.into())));
}
