//! A domain as the page shows it.

use serde::Deserialize;

#[derive(Deserialize)]
#[expect(clippy::struct_field_names, reason = "the operation calls it so")]
pub struct Domain {
    pub id: String,
    pub domain: String,
    state: String,
    pub record: Record,
    pub created_at: String,
    pub verified_at: Option<String>,
    pub missing_since: Option<String>,
    pub lost_at: Option<String>,
}

/// What is to be published.
#[derive(Deserialize)]
pub struct Record {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub value: String,
}

impl Domain {
    /// The sentence for how it stands.
    pub fn state(&self) -> &'static str {
        match &*self.state {
            "verified" => "org-domain-verified",
            "lost" => "org-domain-lost",
            _ => "org-domain-pending",
        }
    }

    /// How its badge looks.
    pub fn badge(&self) -> &'static str {
        match (&*self.state, &self.missing_since) {
            ("verified", None) => "badge ok",
            _ => "badge warn",
        }
    }
}
