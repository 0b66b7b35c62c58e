//! Which roles a file takes away, and how many hold them: an operator must see that before it happens.

use super::{apply::ApplyError, lists::Entries, plan::Removal};
use crate::{
    domain::{
        client::{Client, ORGANIZATION_CLIENTS},
        membership::{MEMBERS, Membership},
        organization::{Draft, Known},
    },
    system::Workbench,
};
use std::collections::BTreeMap;

/// Lists the roles that the organization has and will not have after the draft.
pub(super) async fn of(
    workbench: &Workbench,
    held: Option<&Known>,
    draft: &Draft,
) -> Result<Vec<Removal>, ApplyError> {
    let Some(held) = held else { return Ok(Vec::new()) };
    let roles = draft.roles_after(&held.roles);
    let is_gone = |name: &str| !roles.iter().any(|role| role.name == name);
    let gone = held.roles.iter().map(|role| role.name.as_str()).filter(|name| is_gone(name));
    let removal = |name: &str| Removal {
        organization: draft.slug.clone(),
        role: name.to_owned(),
        members: 0,
        clients: 0,
    };
    let mut removals: BTreeMap<String, Removal> =
        gone.map(|name| (name.to_owned(), removal(name))).collect();
    if removals.is_empty() {
        return Ok(Vec::new());
    }
    let mut count = |roles: &[String], add: fn(&mut Removal)| {
        for role in roles {
            if let Some(removal) = removals.get_mut(role) {
                add(removal);
            }
        }
    };
    let mut members = Entries::<Membership>::of(workbench, MEMBERS, &draft.slug);
    while let Some((_, membership)) = members.next().await? {
        if let Some(member) = membership.known().filter(|member| member.enabled) {
            count(&member.roles, |removal| removal.members += 1);
        }
    }
    let mut clients = Entries::<Client>::of(workbench, ORGANIZATION_CLIENTS, &draft.slug);
    while let Some((_, client)) = clients.next().await? {
        if let Some(client) = client.held() {
            count(&client.roles, |removal| removal.clients += 1);
        }
    }
    Ok(removals.into_values().collect())
}
