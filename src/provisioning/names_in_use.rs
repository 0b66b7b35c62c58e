//! Names that became Porteiro's own and that this installation uses for an API of the operator's (adr/0132).

use super::{lists::Entries, warnings::Warning};
use crate::{
    actors::{HydrateError, hydrate},
    domain::{
        Machine as _,
        api_key::ApiKey,
        authority::Permission,
        organization::{self, Organization},
        reserved_names::{NAMES, ReservedNames},
        resource::{self, RESOURCES, Resource},
    },
    store::Store,
};

/// The names that are not ours here.
pub(super) struct NamesInUse(Vec<&'static str>);

impl NamesInUse {
    pub(super) async fn read(store: &Store) -> Result<Self, HydrateError> {
        let names = hydrate::<ReservedNames>(store, NAMES).await?.machine;
        let closed: Vec<&'static str> = names.closed().collect();
        if names.is_settled() {
            return Ok(Self(closed));
        }
        // No server or command has settled them: those will be in use that an API has.
        let mut in_use = Vec::new();
        let mut resources = Entries::<Resource>::in_store(store, RESOURCES, "");
        while let Some((_, resource)) = resources.next().await? {
            let Some(known) = resource.known() else { continue };
            let is_had =
                |name: &'static str| Self(vec![name]).first(permissions_of(known)).is_some();
            in_use.extend(closed.iter().copied().filter(|name| is_had(name)));
        }
        Ok(Self(in_use))
    }

    pub(super) fn is_any(&self) -> bool {
        !self.0.is_empty()
    }

    fn first<'a>(
        &self,
        permissions: impl IntoIterator<Item = &'a Permission>,
    ) -> Option<&'a Permission> {
        let is_in_use =
            |one: &&Permission| self.0.iter().any(|name| name.eq_ignore_ascii_case(one.resource()));
        permissions.into_iter().find(is_in_use)
    }

    /// Warns of an API that has such a name.
    pub(super) fn by_resource(&self, known: &resource::Known) -> Option<Warning> {
        let scope = self.first(permissions_of(known))?;
        let text = format!(
            "its scope `{scope}` begins with a name that has become Porteiro's own: it keeps it, and \
             permissions under that name open nothing of /api until API, roles and keys have another"
        );
        Some(Warning { kind: Resource::KIND, id: known.identifier.clone(), text })
    }

    /// Warns of roles that have such a permission.
    pub(super) fn by_roles(&self, home: &organization::Known) -> Vec<Warning> {
        let warn = |role: &organization::Role| {
            let permission = self.first(&role.permissions)?;
            let text = format!(
                "the role `{}` has the permission `{permission}` of an API whose name has become \
                 Porteiro's own: rename it, so that the name opens /api",
                role.name
            );
            Some(Warning { kind: Organization::KIND, id: home.slug.clone(), text })
        };
        home.roles.iter().filter_map(warn).collect()
    }

    /// Warns of a key that has such a permission.
    pub(super) fn by_key(&self, machine: &ApiKey) -> Option<Warning> {
        let key = machine.known().filter(|_| machine.revoked_at().is_none())?;
        let permission = self.first(&key.permissions)?;
        let text = format!(
            "it has the permission `{permission}` of an API whose name has become Porteiro's own: make \
             another key, and revoke this one"
        );
        Some(Warning { kind: ApiKey::KIND, id: key.id.clone(), text })
    }
}

/// Lists the scopes of an API, and what its details demand.
fn permissions_of(known: &resource::Known) -> impl Iterator<Item = &Permission> {
    let details = known.authorization_details.iter();
    known.scopes.iter().chain(details.filter_map(|detail| detail.permission.as_ref()))
}
