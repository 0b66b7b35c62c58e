//! Connections: those that are not there yet are made, and the others are changed as the file says.

use super::Planner;
use crate::{
    crypto::{draw_uuid, seal_client_secret},
    domain::{
        Provisioned,
        connection::{
            CONNECTION_ISSUERS, CONNECTION_NAMES, CONNECTIONS, Command, Connection, Draft,
            MOST_CONNECTIONS, within,
        },
        organization::{self, Organization},
    },
    provisioning::{
        apply::ApplyError,
        connections::{self, ConnectionEntry, ROLES},
        lines::{Declaration, Lines},
        lists::Entries,
        organizations,
        table::excerpt,
    },
};

impl Planner<'_, '_> {
    pub(super) async fn connection(
        &mut self,
        Declaration { draft: entry, lines }: &Declaration<ConnectionEntry>,
    ) -> Result<(), ApplyError> {
        let slug = entry.organization.as_deref();
        let home = match slug {
            // What is wrong with the organization has been said.
            Some(slug) => match self.organization_as_left(slug).await? {
                Some(home) => Some(home),
                None => return Ok(()),
            },
            None => None,
        };
        let named = within(slug, &entry.name);
        let found = self.workbench.store().find(CONNECTION_NAMES, &named).await?;
        let id = found.map_or_else(|| draw_uuid(self.workbench.dice()), |(_, id)| id);
        let mut wrong = self.wrong_place(entry, &id, lines).await?;
        wrong.extend(home.iter().flat_map(|home| unknown_roles(home, &entry.draft, lines)));
        if !wrong.is_empty() {
            self.complain::<Connection>(&entry.name, wrong);
            return Ok(());
        }
        let (vault, dice) = (self.workbench.vault(), self.workbench.dice());
        let secret = entry.secret.as_ref();
        let secret = secret.map(|secret| Some(seal_client_secret(&vault, &id, secret, dice)));
        let draft = Draft { id: id.clone(), secret, ..entry.draft.clone() };
        let provision = Command::Provision(Box::new(draft));
        let is_suspended = home.as_ref().is_some_and(|home| !home.enabled);
        match self.multi_commit.decide::<Connection>(&id, &provision).await? {
            Ok(outcome) if is_suspended && outcome != Provisioned::Unchanged => {
                let refusal = organization::Refusal::Suspended.to_string();
                self.complain::<Connection>(&entry.name, [(lines.own(), refusal)]);
                return Ok(());
            }
            Ok(outcome) => self.accept::<Connection>(&entry.name, outcome),
            Err(refusal) => {
                self.complain::<Connection>(&entry.name, [connections::said(&refusal, lines)]);
                return Ok(());
            }
        }
        match home {
            Some(home) => self.require(&home, &id, lines).await,
            None => Ok(()),
        }
    }

    /// Says what keeps a connection from being where the file has it.
    async fn wrong_place(
        &mut self,
        entry: &ConnectionEntry,
        id: &str,
        lines: &Lines,
    ) -> Result<Vec<(usize, String)>, ApplyError> {
        let (slug, mut wrong) = (entry.organization.as_deref(), Vec::new());
        if let Some(issuer) = &entry.draft.issuer {
            let place = within(slug, issuer);
            let found = self.workbench.store().find(CONNECTION_ISSUERS, &place).await?;
            let before = self.issuers.insert(place, id.to_owned());
            let other = found.map(|(_, holder)| holder).or(before);
            if other.is_some_and(|holder| holder != id) {
                let text = "another connection there has this issuer".to_owned();
                wrong.push((lines.of_field("issuer"), text));
            }
        }
        let is_new = self.multi_commit.look::<Connection>(id).await?.known().is_none();
        if is_new && self.connections_of(slug).await? >= MOST_CONNECTIONS as usize {
            let text = format!("there are {MOST_CONNECTIONS} connections already");
            wrong.push((lines.own(), text));
        }
        Ok(wrong)
    }

    /// Counts a connection that is to be made, and returns how many there were.
    async fn connections_of(&mut self, slug: Option<&str>) -> Result<usize, ApplyError> {
        let owner = slug.unwrap_or_default();
        if !self.connections.contains_key(owner) {
            let mut count = 0;
            let mut held = Entries::<Connection>::of(self.workbench, CONNECTIONS, owner);
            while held.next().await?.is_some() {
                count += 1;
            }
            self.connections.insert(owner.to_owned(), count);
        }
        let count = self.connections.entry(owner.to_owned()).or_default();
        *count += 1;
        Ok(*count - 1)
    }

    /// Has the organization require the connection as the file leaves it.
    async fn require(
        &mut self,
        home: &organization::Known,
        id: &str,
        lines: &Lines,
    ) -> Result<(), ApplyError> {
        let known = self.multi_commit.look::<Connection>(id).await?.known();
        let required = known.is_some_and(|known| known.required);
        let Some(draft) = home.requiring(id, required) else { return Ok(()) };
        let command = organization::Command::Provision(draft);
        let decided = self.multi_commit.decide::<Organization>(&home.slug, &command).await?;
        if let Err(refusal) = decided {
            let (_, text) = organizations::said(&refusal, lines);
            self.complain::<Organization>(&home.slug, [(lines.own(), text)]);
        }
        Ok(())
    }
}

/// Names the roles of mappings that the organization does not have.
fn unknown_roles(home: &organization::Known, draft: &Draft, lines: &Lines) -> Vec<(usize, String)> {
    let mapped = draft.roles.iter().flatten().map(|mapping| &mapping.role);
    let unknown = mapped.filter(|role| !home.has_role(role));
    let said = |role: &String| {
        let text = format!("{} has no role `{}`", home.slug, excerpt(role));
        (lines.of_member(ROLES, role), text)
    };
    unknown.map(said).collect()
}
