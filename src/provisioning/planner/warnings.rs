//! Warns of what the file leaves behind and will not work as it reads.

use super::Planner;
use crate::{
    domain::{
        client::Client,
        organization::Organization,
        resource::{RESOURCES, Resource},
    },
    provisioning::{
        apply::ApplyError,
        lists::Entries,
        warnings::{ApiPermissions, Warning},
    },
};

impl Planner<'_, '_> {
    /// Gathers the warnings about everything that the file names, once all of it is decided on.
    pub(super) async fn warnings(&mut self) -> Result<Vec<Warning>, ApplyError> {
        let file = self.file;
        let with_roles = file.organizations.iter().filter(|one| one.draft.roles.is_some());
        let homes: Vec<&str> = with_roles.map(|one| one.draft.slug.as_str()).collect();
        let mut warnings = Vec::new();
        if !homes.is_empty() {
            let apis = self.api_permissions().await?;
            for slug in homes {
                let home = self.multi_commit.look::<Organization>(slug).await?.known();
                warnings.extend(home.iter().flat_map(|home| Warning::of_roles(home, &apis)));
            }
        }
        for declared in &file.clients {
            let client = self.multi_commit.look::<Client>(&declared.draft.client_id).await?;
            warnings.extend(client.held().and_then(Warning::of_client));
        }
        Ok(warnings)
    }

    /// Reads what APIs have: those of the file, and others as they are stored.
    async fn api_permissions(&mut self) -> Result<ApiPermissions, ApplyError> {
        let mut apis = ApiPermissions::default();
        for declared in &self.file.resources {
            let id = &declared.draft.identifier;
            apis.extend(self.multi_commit.look::<Resource>(id).await?.known());
        }
        let mut stored = Entries::<Resource>::of(self.workbench, RESOURCES, "");
        while let Some((id, resource)) = stored.next().await? {
            let others = resource.known().filter(|_| !self.resources.contains(id.as_str()));
            apis.extend(others);
        }
        Ok(apis)
    }
}
