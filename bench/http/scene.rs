//! What all three servers are set up to issue: the same client, resource, role and lifetime.

use crate::Outcome;
use porteiro::crypto::{SystemDice, draw_text};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Handed to the limit and to the peer as a file; Porteiro is provisioned with the same.
#[derive(Clone, Serialize, Deserialize)]
pub struct Scene {
    pub client_id: String,
    pub client_secret: String,
    pub resource: String,
    pub scopes: Vec<String>,
    pub organization: String,
    pub role: String,
    /// Seconds.
    pub lifetime: u32,
}

/// A scene at one server's address.
#[derive(Serialize, Deserialize)]
pub struct Placed {
    #[serde(flatten)]
    pub scene: Scene,
    pub issuer: String,
    pub port: u16,
}

impl Scene {
    pub fn new() -> Self {
        Self {
            client_id: "billing".to_owned(),
            client_secret: draw_text(&SystemDice, 32),
            resource: "https://api.bench.test/invoices".to_owned(),
            scopes: vec!["invoices:read".to_owned(), "invoices:write".to_owned()],
            organization: "acme".to_owned(),
            role: "clerk".to_owned(),
            lifetime: 300,
        }
    }

    pub fn scope(&self) -> String {
        self.scopes.join(" ")
    }

    /// Writes what a server at this port is to issue.
    pub fn place(&self, port: u16, file: &Path) -> Outcome<()> {
        let issuer = format!("http://127.0.0.1:{port}");
        let placed = Placed { scene: self.clone(), issuer, port };
        Ok(std::fs::write(file, serde_json::to_vec_pretty(&placed)?)?)
    }
}

impl Placed {
    pub fn read(file: &Path) -> Outcome<Self> {
        Ok(serde_json::from_slice(&std::fs::read(file)?)?)
    }
}
