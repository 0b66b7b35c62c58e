//! What all three servers are set up to issue: the same clients, people, resource, role and lifetime.

use crate::{Outcome, signing::ClientKey};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use porteiro::crypto::{SystemDice, draw_text};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Handed to the limit and to the peer as a file; Porteiro is provisioned with the same.
#[derive(Clone, Serialize, Deserialize)]
pub struct Scene {
    /// The client that acts in its own name.
    pub client_id: String,
    /// Of both clients.
    pub client_secret: String,
    /// The client that people sign in to; they are asked for their consent.
    pub portal: String,
    /// The same, with ID tokens signed by ES256.
    pub portal_es256: String,
    pub redirect_uri: String,
    /// A client that acts in its own name and signs who it is, with this key.
    pub signer: String,
    pub key: ClientKey,
    /// A device: a public client.
    pub device: String,
    /// A client that acts for people.
    pub agent: String,
    /// The address of one person for each connection, all of whom are members.
    pub people: Vec<String>,
    pub password: String,
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
    pub fn new(connections: usize) -> Self {
        Self {
            client_id: "billing".to_owned(),
            client_secret: draw_text(&SystemDice, 32),
            portal: "portal".to_owned(),
            portal_es256: "portal-es256".to_owned(),
            redirect_uri: "https://portal.bench.test/cb".to_owned(),
            signer: "signer".to_owned(),
            key: ClientKey::new(),
            device: "device".to_owned(),
            agent: "agent".to_owned(),
            people: (0..connections).map(|one| format!("person-{one}@bench.test")).collect(),
            password: draw_text(&SystemDice, 16),
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

    /// What people are asked for, too.
    pub fn personal_scope(&self) -> String {
        format!("openid {}", self.scope())
    }

    /// How a client of it authenticates (`client_secret_basic`).
    pub fn credentials(&self, client_id: &str) -> String {
        format!("Basic {}", STANDARD.encode(format!("{client_id}:{}", self.client_secret)))
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
