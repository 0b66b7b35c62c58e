//! What the security log is told: an event by name, whom it concerns, and nothing that identifies
//! a person outside this installation.

use serde_json::{Map, Value};

/// One entry for the security log; holds ids, never e-mail addresses, names or secrets.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// `noun.past_participle`, listed in `docs/events.md`.
    pub event: &'static str,
    /// The organization whose customer may read this entry.
    pub organization: Option<String>,
    /// Ids and reasons, by name.
    pub detail: Map<String, Value>,
}

impl Record {
    pub fn new(event: &'static str) -> Self {
        Self { event, organization: None, detail: Map::new() }
    }

    pub fn in_organization(mut self, id: impl Into<String>) -> Self {
        self.organization = Some(id.into());
        self
    }

    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.detail.insert(name.to_owned(), value.into());
        self
    }
}
