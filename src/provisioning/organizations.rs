//! `[[organization]]`: its condition, its roles, its domains, its connections and its brand.

use super::{
    brand, connections, domains,
    lines::{Declaration, Lines},
    table::{Reading, Table},
};
use crate::{
    config::{DocumentValue, Section},
    domain::{
        assurance::Acr,
        export::MADE_BY_DIRECTORY,
        organization::{Draft, Group, Refusal, Role},
    },
};
use std::collections::HashMap;

/// The lists whose members must each be found again.
const ROLES: &str = "role";
const PERMISSIONS: &str = "permissions";

const DOMAINS: &str = "domain";
const CONNECTIONS: &str = "connection";

pub(super) fn read(section: Section, reading: &mut Reading) -> Option<Declaration<Draft>> {
    let mut table = Table::new("organization", section, reading);
    table.demand(&["slug"]);
    let slug = table.text("slug");
    let name = table.name("name");
    let enabled = table.flag("enabled");
    let required_acr = required_acr(&mut table);
    let impersonation = table.flag("impersonation");
    let sections = table.tables(ROLES);
    let roles = sections.map(|sections| roles(sections, &mut table));
    let domains = table.tables(DOMAINS);
    let connections = table.tables(CONNECTIONS);
    let section = table.table("brand");
    let brand = section.map(|section| brand::read(section, table.reading));
    if let Some(DocumentValue { value, line }) = &slug {
        table.reading.once("organization", value, *line);
    }
    let named = slug.as_ref().map(|slug| slug.value.as_str());
    domains::read(domains.unwrap_or_default(), named, table.reading);
    let sections = connections.unwrap_or_default();
    connections::read_of_organization(sections, named, table.reading);
    let lines = table.finish();
    let slug = slug?.value;
    let draft = Draft {
        slug,
        name,
        enabled,
        roles,
        keeps_groups: true,
        by_directory: false,
        required_acr,
        required_connections: None,
        impersonation,
        brand,
    };
    Some(Declaration { draft, lines })
}

/// Takes what a person must have proved before tokens speak for the organization.
fn required_acr(table: &mut Table<'_>) -> Option<Acr> {
    let DocumentValue { value, line } = table.text("required_acr")?;
    let acr = Acr::by_name(&value);
    if acr.is_none() {
        let known = Acr::ALL.map(Acr::name).join(", ");
        table.complain_of("required_acr", line, &format!("must be one of {known}"));
    }
    acr
}

fn roles(sections: Vec<Section>, organization: &mut Table<'_>) -> Vec<Role> {
    let mut roles = Vec::with_capacity(sections.len());
    let mut named = HashMap::new();
    for section in sections {
        let mut table = Table::new("organization.role", section, organization.reading);
        table.demand(&["name"]);
        let name = table.text("name");
        let permissions = table.permissions(PERMISSIONS).unwrap_or_default();
        let by_directory = table.made_by(MADE_BY_DIRECTORY);
        table.finish();
        let Some(DocumentValue { value: name, line }) = name else { continue };
        if let Some(before) = named.insert(name.clone(), line) {
            let wrong = format!("is the name of the role on line {before} too");
            organization.complain_of("role.name", line, &wrong);
        }
        organization.note_member(ROLES, &name, line);
        for permission in &permissions {
            organization.note_member(PERMISSIONS, permission.value.as_str(), permission.line);
        }
        let permissions = permissions.into_iter().map(|permission| permission.value).collect();
        let made = Group { made: true, ..Group::default() };
        let group = by_directory.then(|| Box::new(made));
        roles.push(Role { name, permissions, group });
    }
    roles
}

/// What was refused in words, with its line.
pub(super) fn said(refusal: &Refusal, lines: &Lines) -> (usize, String) {
    let line = match refusal {
        Refusal::Slug | Refusal::Erased => lines.of_field("slug"),
        Refusal::RoleName(name) | Refusal::RepeatedRole(name) => lines.of_member(ROLES, name),
        Refusal::ForbiddenPermission(permission) => {
            lines.of_member(PERMISSIONS, permission.as_str())
        }
        Refusal::Suspended
        | Refusal::Deleting
        | Refusal::ErasureDue
        | Refusal::NotKnown
        | Refusal::NotDue => lines.own(),
    };
    (line, refusal.to_string())
}
