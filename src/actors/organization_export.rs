//! Reads an organization to be written as a provisioning file, a page at a time: it may have many members.
//!
//! The order is that of the lists: domains and connections by name, clients and accounts by id. What is read meanwhile
//! changes may be in it or not; nothing of another organization is.

use super::{
    HydrateError,
    hydrate::{ListEntry, hydrate, hydrate_page},
    read_set::ReadSet,
};
use crate::{
    domain::{
        Machine,
        account::Account,
        brand::logo::Logo,
        client::{Client, ORGANIZATION_CLIENTS},
        connection::{CONNECTIONS, Connection},
        domain_claim::{DOMAINS, DomainClaim},
        export,
        membership::{MEMBERS, Membership},
        organization::{Known, Organization},
        reserved_names::{NAMES, ReservedNames},
    },
    store::Store,
};
use std::sync::Arc;

/// How many entries are read at a time.
const PAGE: u32 = 100;

/// What is written next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Domains,
    Connections,
    Members,
    Clients,
    End,
}

/// The organization as it was when the export began: what is written after it names its roles.
struct Home {
    known: Known,
    names: ReservedNames,
}

/// An export under way.
pub struct OrganizationExport {
    store: Store,
    slug: String,
    home: Option<Arc<Home>>,
    part: Part,
    /// Rank and id of the last entry that was read of the present list.
    after: (String, String),
}

impl OrganizationExport {
    pub fn of(store: &Store, slug: &str) -> Self {
        let (store, slug) = (store.clone(), slug.to_owned());
        Self { store, slug, home: None, part: Part::Domains, after: Default::default() }
    }

    /// Reads on as far as there is text; `None` is the end, and at the beginning an organization that is not known.
    pub async fn next(&mut self) -> Result<Option<String>, HydrateError> {
        while self.part != Part::End {
            let text = self.read().await?;
            if !text.is_empty() {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }

    async fn read(&mut self) -> Result<String, HydrateError> {
        let Some(home) = self.home.clone() else { return self.organization().await };
        let is_own = |slug: Option<&String>| slug == Some(&home.known.slug);
        match self.part {
            Part::Domains => {
                let page = self.page::<DomainClaim>(DOMAINS, Part::Connections).await?;
                let known = page.iter().filter_map(DomainClaim::known);
                let own = known.filter(|one| is_own(Some(&one.organization)));
                Ok(own.map(export::domain).collect())
            }
            Part::Connections => {
                let page = self.page::<Connection>(CONNECTIONS, Part::Members).await?;
                let known = page.iter().filter_map(Connection::known);
                let own = known.filter(|one| is_own(one.organization.as_ref()));
                Ok(own.map(|one| export::connection(one, &home.known)).collect())
            }
            Part::Members => self.members(&home.known).await,
            Part::Clients => {
                let page = self.page::<Client>(ORGANIZATION_CLIENTS, Part::End).await?;
                let known = page.iter().filter_map(Client::held);
                let own = known.filter(|one| is_own(one.organization.as_ref()));
                Ok(own.map(|one| export::client(one, &home.known, &home.names)).collect())
            }
            Part::End => Ok(String::new()),
        }
    }

    async fn organization(&mut self) -> Result<String, HydrateError> {
        let read = hydrate::<Organization>(&self.store, &self.slug).await?.machine;
        let Some(known) = read.known() else {
            self.part = Part::End;
            return Ok(String::new());
        };
        let logo = hydrate::<Logo>(&self.store, &self.slug).await?.machine;
        let names = hydrate::<ReservedNames>(&self.store, NAMES).await?.machine;
        let text = export::organization(known, logo.picture(), &names);
        self.home = Some(Arc::new(Home { known: known.clone(), names }));
        Ok(text)
    }

    async fn members(&mut self, home: &Known) -> Result<String, HydrateError> {
        let page = self.page::<Membership>(MEMBERS, Part::Clients).await?;
        let mut text = String::new();
        let known = page.iter().filter_map(Membership::known);
        for membership in known.filter(|one| one.organization == self.slug) {
            let account = hydrate::<Account>(&self.store, &membership.account).await?.machine;
            let row = account.known().and_then(|account| export::member(membership, account, home));
            text.extend(row);
        }
        Ok(text)
    }

    /// Reads a page of a list of the organization's; the last one is followed by the next part.
    async fn page<M: Machine>(&mut self, list: &str, next: Part) -> Result<Vec<M>, HydrateError> {
        let after = (&*self.after.0, &*self.after.1);
        let page = hydrate_page::<M>(&self.store, (list, &self.slug), after, PAGE).await?;
        match page.last() {
            Some(last) if page.len() == PAGE as usize => {
                self.after = (last.rank.clone(), last.id.clone());
            }
            _ => (self.part, self.after) = (next, Default::default()),
        }
        Ok(page.into_iter().map(|ListEntry { machine, .. }| machine).collect())
    }
}

impl ReadSet {
    /// Begins to read an organization as a provisioning file.
    pub fn organization_export(&self, slug: &str) -> OrganizationExport {
        OrganizationExport::of(&self.services.store, slug)
    }
}
