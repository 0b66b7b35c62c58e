//! A provisioning file as it was read: drafts for the machines, in the order of the file.

use super::{
    accounts::{self, Person},
    clients,
    connections::{self, ConnectionEntry},
    domains::DomainEntry,
    lines::Declaration,
    organizations, resources,
    table::Reading,
};
use crate::{
    config::{Complaint, Document, Section},
    domain::{client, organization, resource},
};
use std::{collections::HashMap, path::Path};

/// How many bytes such a file may have; for [`crate::config::read_text`].
pub const LARGEST_FILE: u64 = 16 * 1024 * 1024;
/// How many resources, organizations, accounts and clients it may hold together.
pub const MOST_ENTITIES: usize = 100_000;

/// What a file declares.
#[derive(Debug, Default)]
pub struct File {
    pub resources: Vec<Declaration<resource::Draft>>,
    pub organizations: Vec<Declaration<organization::Draft>>,
    /// Of the organizations.
    pub domains: Vec<Declaration<DomainEntry>>,
    /// Of the organizations, then those of none.
    pub connections: Vec<Declaration<ConnectionEntry>>,
    pub accounts: Vec<Declaration<Person>>,
    pub clients: Vec<Declaration<client::Draft>>,
    /// Which of the clients must be usable, and which must not.
    pub clients_enabled: HashMap<String, bool>,
}

impl File {
    /// Reads TOML that names no other file.
    pub fn parse(text: &str) -> Result<Self, Vec<Complaint>> {
        Self::read(text, Reading::default())
    }

    /// Reads TOML and the files that it names, relative to `folder`; or says everything that is wrong
    /// with it as far as the files alone can tell.
    pub fn parse_beside(text: &str, folder: &Path) -> Result<Self, Vec<Complaint>> {
        Self::read(text, Reading::beside(folder))
    }

    fn read(text: &str, mut reading: Reading) -> Result<Self, Vec<Complaint>> {
        let mut root = Document::parse(text)?.into_root();
        let complaints = &mut reading.complaints;
        let resources = root.tables("resource", complaints);
        let organizations = root.tables("organization", complaints);
        let connections = root.tables("connection", complaints);
        let accounts = root.tables("account", complaints);
        let clients = root.tables("client", complaints);
        root.finish(complaints);
        let declared = [&resources, &organizations, &connections, &accounts, &clients];
        if declared.map(Vec::len).iter().sum::<usize>() > MOST_ENTITIES {
            reading.complain(0, format!("declares more than {MOST_ENTITIES} entities"));
            return Err(reading.complaints);
        }
        let mut file = Self {
            resources: read_all(resources, resources::read, &mut reading),
            organizations: read_all(organizations, organizations::read, &mut reading),
            domains: std::mem::take(&mut reading.domains),
            connections: std::mem::take(&mut reading.connections),
            accounts: read_all(accounts, accounts::read, &mut reading),
            clients: read_all(clients, clients::read, &mut reading),
            clients_enabled: HashMap::new(),
        };
        file.connections.extend(read_all(connections, connections::read, &mut reading));
        file.clients_enabled = reading.clients_enabled;
        let mut complaints = reading.complaints;
        if complaints.is_empty() {
            return Ok(file);
        }
        complaints.sort_by_key(|complaint| complaint.line);
        Err(complaints)
    }

    /// How many entities it declares.
    pub fn len(&self) -> usize {
        let Self { resources, organizations, domains, connections, accounts, clients, .. } = self;
        let of_organizations = organizations.len() + domains.len() + connections.len();
        resources.len() + of_organizations + accounts.len() + clients.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn read_all<D>(
    sections: Vec<Section>,
    read: fn(Section, &mut Reading) -> Option<Declaration<D>>,
    reading: &mut Reading,
) -> Vec<Declaration<D>> {
    sections.into_iter().filter_map(|section| read(section, reading)).collect()
}
