//! Has every machine decide on its draft, and gathers what they answer.

mod accounts;
mod connections;
mod domains;
mod warnings;

use super::{
    accounts::Person,
    apply::ApplyError,
    beginnings::Beginnings,
    clients::{self, INTROSPECTS},
    file::File,
    lines::Declaration,
    organizations,
    owners::Owners,
    plan::{Plan, Removal, Step},
    progress::Progress,
    removed_roles, resources,
    table::{excerpt, plain},
};
use crate::{
    actors::MultiCommit,
    config::Complaint,
    domain::{
        Machine, Provisioned,
        authority::Scopes,
        brand::{
            Brand,
            logo::{Keep, Logo},
        },
        client::{self, Client},
        organization::{self, Organization},
        resource::{self, Resource},
    },
    system::Workbench,
};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap, HashSet};

/// How much of what a machine says is repeated: it may quote the file.
const LONGEST_TEXT: usize = 500;

/// The member of a client that names the types of details it may ask for.
const TYPES: &str = "authorization_details_types";

/// A file that can be applied, once the accounts it creates have what they begin with.
pub(super) struct PlannedFile<'a> {
    pub(super) plan: Plan,
    pub(super) multi_commit: MultiCommit,
    /// The people whose accounts are to be created.
    pub(super) newborn: Vec<&'a Declaration<Person>>,
}

pub(super) struct Planner<'a, 'b> {
    file: &'a File,
    workbench: &'a Workbench,
    beginnings: &'b mut Beginnings<'a>,
    multi_commit: MultiCommit,
    owners: Owners<'a>,
    /// The resources that the file declares, be they refused.
    resources: HashSet<&'a str>,
    /// Organizations that were refused, as the file would have had them: their members are judged
    /// by that, so that one mistake is complained of once.
    meant: HashMap<&'a str, organization::Known>,
    /// Organizations that the file creates and that are to be suspended: that comes last, so that it may fill them.
    suspended_last: Vec<&'a str>,
    /// The places for domains that organizations have no more, as far as they were looked at.
    places: HashMap<String, BTreeSet<u8>>,
    /// Who has an issuer within an organization, of the connections of the file.
    issuers: HashMap<String, String>,
    /// How many connections organizations have, as far as they were counted.
    connections: HashMap<String, usize>,
    /// The accounts that are to be created.
    newborn: Vec<&'a Declaration<Person>>,
    steps: Vec<Step>,
    removals: Vec<Removal>,
    complaints: Vec<Complaint>,
}

impl<'a, 'b> Planner<'a, 'b> {
    pub(super) fn new(
        workbench: &'a Workbench,
        file: &'a File,
        beginnings: &'b mut Beginnings<'a>,
    ) -> Self {
        let resources = file.resources.iter();
        Self {
            file,
            workbench,
            beginnings,
            multi_commit: workbench.multi_commit(),
            owners: Owners::new(workbench.store(), file),
            resources: resources.map(|declared| declared.draft.identifier.as_str()).collect(),
            meant: HashMap::new(),
            suspended_last: Vec::new(),
            places: HashMap::new(),
            issuers: HashMap::new(),
            connections: HashMap::new(),
            newborn: Vec::new(),
            steps: Vec::with_capacity(file.len()),
            removals: Vec::new(),
            complaints: Vec::new(),
        }
    }

    pub(super) async fn run(
        mut self,
        progress: &mut Progress<'_>,
    ) -> Result<PlannedFile<'a>, ApplyError> {
        let file = self.file;
        for declared in &file.resources {
            self.resource(declared).await?;
            progress.advance();
        }
        // Only now is known which names the file takes away.
        for declared in &file.resources {
            self.ownership(declared).await?;
        }
        for declared in &file.organizations {
            self.organization(declared).await?;
            progress.advance();
        }
        for declared in &file.domains {
            self.domain(declared).await?;
            progress.advance();
        }
        for declared in &file.connections {
            self.connection(declared).await?;
            progress.advance();
        }
        for declared in &file.accounts {
            let before = self.newborn.len();
            self.account(declared).await?;
            // An account that is created is done when its password is hashed.
            if self.newborn.len() == before {
                progress.advance();
            }
        }
        for declared in &file.clients {
            self.client(declared).await?;
            progress.advance();
        }
        self.suspend_created().await?;
        if self.complaints.is_empty() {
            let warnings = self.warnings().await?;
            let plan = Plan { steps: self.steps, removals: self.removals, warnings };
            return Ok(PlannedFile {
                plan,
                multi_commit: self.multi_commit,
                newborn: self.newborn,
            });
        }
        self.complaints.sort_by_key(|complaint| complaint.line);
        Err(ApplyError::Refused(self.complaints))
    }

    async fn resource(
        &mut self,
        declared: &Declaration<resource::Draft>,
    ) -> Result<(), ApplyError> {
        let id = &declared.draft.identifier;
        let command = resource::Command::Provision(declared.draft.clone());
        match self.multi_commit.decide::<Resource>(id, &command).await? {
            Ok(outcome) => self.accept::<Resource>(id, outcome),
            Err(refusal) => {
                self.complain::<Resource>(id, [resources::said(&refusal, &declared.lines)]);
            }
        }
        Ok(())
    }

    async fn ownership(
        &mut self,
        declared: &Declaration<resource::Draft>,
    ) -> Result<(), ApplyError> {
        let conflicts = self.owners.conflicts(declared, &mut self.multi_commit).await?;
        self.complain::<Resource>(&declared.draft.identifier, conflicts);
        Ok(())
    }

    async fn organization(
        &mut self,
        declared: &'a Declaration<organization::Draft>,
    ) -> Result<(), ApplyError> {
        let draft = &declared.draft;
        let held = self.multi_commit.look::<Organization>(&draft.slug).await?.known().cloned();
        let removed = removed_roles::of(self.workbench, held.as_ref(), draft).await?;
        let is_suspended_last = held.is_none() && draft.enabled == Some(false);
        let enabled = draft.enabled.filter(|_| !is_suspended_last);
        let command =
            organization::Command::Provision(organization::Draft { enabled, ..draft.clone() });
        match self.multi_commit.decide::<Organization>(&draft.slug, &command).await? {
            Ok(outcome) => {
                if is_suspended_last {
                    self.suspended_last.push(&draft.slug);
                }
                self.accept::<Organization>(&draft.slug, outcome);
                self.removals.extend(removed);
                if let Some(brand) = &draft.brand {
                    let keep = Keep(brand.logo.clone());
                    let Ok(()) = self.multi_commit.decide::<Logo>(&draft.slug, &keep).await?;
                }
            }
            Err(refusal) => {
                let said = organizations::said(&refusal, &declared.lines);
                self.complain::<Organization>(&draft.slug, [said]);
                let held = self.multi_commit.look::<Organization>(&draft.slug).await?.known();
                self.meant.insert(&draft.slug, as_meant(held, draft));
            }
        }
        Ok(())
    }

    /// Suspends the organizations that the file has created so, once they are filled.
    async fn suspend_created(&mut self) -> Result<(), ApplyError> {
        for slug in &self.suspended_last {
            let (slug, enabled) = ((*slug).to_owned(), Some(false));
            let draft = organization::Draft { slug, enabled, ..organization::Draft::default() };
            let slug = draft.slug.clone();
            let suspend = organization::Command::Provision(draft);
            // It was created here: nothing keeps it from being suspended.
            let _suspended = self.multi_commit.decide::<Organization>(&slug, &suspend).await?;
        }
        Ok(())
    }

    async fn client(&mut self, declared: &Declaration<client::Draft>) -> Result<(), ApplyError> {
        let Declaration { draft, lines } = declared;
        let id = &draft.client_id;
        let home = self.home(draft).await?;
        let held = self.multi_commit.look::<Client>(id).await?.held();
        let held = held.map(|client| client.introspects.clone()).unwrap_or_default();
        let is_suspended = home.as_ref().is_some_and(|home| !home.enabled);
        let slug = home.as_ref().map(|home| home.slug.clone()).unwrap_or_default();
        let command = client::Command::Provision { draft: Box::new(draft.clone()), home };
        match self.decide_client(id, &command).await? {
            // It was suspended or enabled: what is changed of it otherwise has been refused.
            Ok(outcome) if is_suspended && outcome != Provisioned::Unchanged => {
                self.complain::<Client>(
                    id,
                    clients::said(&client::Refusal::Suspended(slug), lines),
                );
            }
            Ok(outcome) => self.accept::<Client>(id, outcome),
            Err(refusal) => self.complain::<Client>(id, clients::said(&refusal, lines)),
        }
        let unsigned = clients::algorithms(draft).filter(|(_, one)| !self.workbench.can_sign(*one));
        let unsigned = unsigned.map(|(field, algorithm)| {
            let text = format!("`{field}` is `{algorithm}`, and the keys folder has no key for it");
            (lines.of_field(field), text)
        });
        let unsigned: Vec<_> = unsigned.collect();
        self.complain::<Client>(id, unsigned);
        let scope = draft.metadata.get("scope").and_then(Value::as_str);
        // What cannot be read as scopes has been refused already.
        let scopes = scope.and_then(|text| Scopes::parse(text).ok()).unwrap_or_default();
        for scope in scopes.of_apis() {
            if !self.owners.has_owner(scope, &mut self.multi_commit).await? {
                let text = format!("`scope` contains `{}`, which no resource owns", excerpt(scope));
                self.complain::<Client>(id, [(lines.of_field("scope"), text)]);
            }
        }
        let types = draft.metadata.get(TYPES).and_then(Value::as_array);
        for kind in types.into_iter().flatten().filter_map(Value::as_str) {
            if !self.owners.has_type(kind, &mut self.multi_commit).await? {
                let text = format!("`{TYPES}` contains `{}`, which no resource has", excerpt(kind));
                self.complain::<Client>(id, [(lines.of_field(TYPES), text)]);
            }
        }
        // What it could introspect before is not asked for again.
        let asked = draft.introspects.iter().flatten().filter(|one| !held.contains(one));
        for resource in asked {
            let declared = self.resources.contains(resource.as_str());
            if !declared && self.multi_commit.look::<Resource>(resource).await?.known().is_none() {
                let text = format!("there is no resource `{}`", excerpt(resource));
                self.complain::<Client>(id, [(lines.of_member(INTROSPECTS, resource), text)]);
            }
        }
        Ok(())
    }

    /// Decides on a client, which the file may also suspend or enable.
    async fn decide_client(
        &mut self,
        id: &str,
        command: &client::Command,
    ) -> Result<Result<Provisioned, client::Refusal>, ApplyError> {
        let enabled = self.file.clients_enabled.get(id).copied();
        let mut turned = false;
        let is_there = self.multi_commit.look::<Client>(id).await?.held().is_some();
        if enabled == Some(true) && is_there {
            let enable = client::Command::Enable;
            let decided = self.multi_commit.decide::<Client>(id, &enable).await?;
            turned = decided.is_ok_and(|outcome| outcome != Provisioned::Unchanged);
        }
        let outcome = match self.multi_commit.decide::<Client>(id, command).await? {
            Ok(outcome) => outcome,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if enabled == Some(false) {
            let suspend = client::Command::Suspend;
            let decided = self.multi_commit.decide::<Client>(id, &suspend).await?;
            turned = decided.is_ok_and(|outcome| outcome != Provisioned::Unchanged);
        }
        Ok(Ok(if turned { outcome.with("enabled") } else { outcome }))
    }

    /// The organization that a client will speak for, as this file leaves it.
    async fn home(
        &mut self,
        draft: &client::Draft,
    ) -> Result<Option<organization::Known>, ApplyError> {
        let held = self.multi_commit.look::<Client>(&draft.client_id).await?.held();
        let held = held.and_then(|client| client.organization.clone());
        match draft.organization.clone().or(held) {
            Some(slug) => self.organization_as_left(&slug).await,
            None => Ok(None),
        }
    }

    /// An organization as this file leaves it, or as it was meant to.
    async fn organization_as_left(
        &mut self,
        slug: &str,
    ) -> Result<Option<organization::Known>, ApplyError> {
        if let Some(meant) = self.meant.get(slug) {
            return Ok(Some(meant.clone()));
        }
        Ok(self.multi_commit.look::<Organization>(slug).await?.known().cloned())
    }

    fn accept<M: Machine>(&mut self, id: &str, outcome: Provisioned) {
        self.steps.push(Step { kind: M::KIND, id: id.to_owned(), outcome });
    }

    fn complain<M: Machine>(&mut self, id: &str, said: impl IntoIterator<Item = (usize, String)>) {
        for (line, text) in said {
            let text = format!(
                "{} `{}`: {}",
                M::KIND,
                excerpt(id),
                plain(text.chars().take(LONGEST_TEXT))
            );
            self.complaints.push(Complaint::new(line, text));
        }
    }
}

/// An organization as it would be, had the draft not been refused.
fn as_meant(
    held: Option<&organization::Known>,
    draft: &organization::Draft,
) -> organization::Known {
    let held = held.cloned();
    // One that is created is suspended last.
    let enabled = held.as_ref().is_none_or(|held| draft.enabled.unwrap_or(held.enabled));
    let epoch = held.as_ref().map_or(0, |held| held.epoch);
    let signed_out = held.as_ref().map_or(0, |held| held.signed_out);
    let required_acr = held.as_ref().map(|held| held.required_acr).unwrap_or_default();
    let brand = held.as_ref().map(|held| held.brand.clone()).unwrap_or_default();
    let impersonation = held.as_ref().is_some_and(|held| held.impersonation);
    let connections = held.as_ref().map(|held| held.required_connections.clone());
    let (name, roles) = held.map(|held| (held.name, held.roles)).unwrap_or_default();
    organization::Known {
        slug: draft.slug.clone(),
        name: draft.name.clone().unwrap_or(name),
        enabled,
        roles: draft.roles_after(&roles),
        required_acr: draft.required_acr.unwrap_or(required_acr),
        required_connections: connections.unwrap_or_default(),
        impersonation: draft.impersonation.unwrap_or(impersonation),
        epoch,
        signed_out,
        brand: draft.brand.as_ref().map_or(brand, Brand::from),
        deletion: None,
    }
}
