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
    /// Whether the log keeps it; otherwise it is counted and nothing else.
    pub kept: bool,
}

impl Record {
    pub fn new(event: &'static str) -> Self {
        Self { event, organization: None, detail: Map::new(), kept: true }
    }

    /// An event that any caller can cause without end: it is counted, and no row is kept of it.
    ///
    /// Its commit costs the database as many statements as one that is kept, so that the time of an
    /// answer does not tell which of the two it was.
    pub fn counted(event: &'static str) -> Self {
        Self { kept: false, ..Self::new(event) }
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
