//! A client of the organization, as its operations show it.

use super::section_view::quoted;
use serde::Deserialize;

#[expect(clippy::struct_field_names, reason = "the names of the standard")]
#[derive(Deserialize)]
pub struct Client {
    pub client_id: String,
    #[serde(default, deserialize_with = "quoted")]
    pub client_name: String,
    pub roles: Vec<String>,
    pub provisioned: bool,
    pub agent: Option<Agent>,
    #[serde(skip)]
    pub href: String,
}

impl Client {
    /// What the client is called on the page.
    pub fn name(&self) -> &str {
        if self.client_name.is_empty() { &self.client_id } else { &self.client_name }
    }
}

/// Who answers for a client that acts for others, and how far it goes.
#[derive(Deserialize)]
pub struct Agent {
    #[serde(deserialize_with = "quoted")]
    pub purpose: String,
    pub owner: Option<String>,
    pub expires_at: Option<String>,
    #[serde(default)]
    pub limits: Vec<AgentLimit>,
}

#[derive(Deserialize)]
pub struct AgentLimit {
    #[serde(rename = "type")]
    pub kind: String,
    pub member: String,
    pub of: Option<String>,
    pub per_day: String,
}
