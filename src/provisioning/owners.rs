//! Who owns the scopes, and the types of `authorization_details`, that a file speaks of.

use super::{
    apply::ApplyError,
    file::File,
    lines::Declaration,
    resources::{DETAILS, SCOPES},
};
use crate::{
    actors::MultiCommit,
    domain::{
        Machine as _, Name,
        authority::{Permission, is_own_scope},
        resource::{DETAIL_OWNERS, Draft, Resource, SCOPE_OWNERS},
    },
    store::Store,
};
use std::collections::{HashMap, HashSet};

/// What is known of owners while a file is planned.
pub(super) struct Owners<'a> {
    store: &'a Store,
    /// The scopes that the file itself gives to a resource.
    given: HashSet<&'a str>,
    /// The types of details that it gives to one.
    given_types: HashSet<&'a str>,
    /// Others that were looked up, and whether a resource has them after this file.
    looked_up: HashMap<String, bool>,
}

impl<'a> Owners<'a> {
    pub(super) fn new(store: &'a Store, file: &'a File) -> Self {
        let scopes = file.resources.iter().flat_map(|declared| &declared.draft.scopes).flatten();
        let given = scopes.map(Permission::as_str).collect();
        let drafts = file.resources.iter().map(|declared| &declared.draft);
        let types = drafts.flat_map(|draft| draft.authorization_details.iter().flatten());
        let given_types = types.map(|kind| kind.name.as_str()).collect();
        Self { store, given, given_types, looked_up: HashMap::new() }
    }

    /// Tells whether some resource has the type of details, once this file is applied.
    pub(super) async fn has_type(
        &self,
        kind: &str,
        multi_commit: &mut MultiCommit,
    ) -> Result<bool, ApplyError> {
        if self.given_types.contains(kind) {
            return Ok(true);
        }
        match self.store.find(DETAIL_OWNERS, kind).await? {
            None => Ok(false),
            Some((_, owner)) => holds(multi_commit, &owner, &Name::new(DETAIL_OWNERS, kind)).await,
        }
    }

    /// Tells whether some resource owns the scope, once this file is applied.
    pub(super) async fn has_owner(
        &mut self,
        scope: &str,
        multi_commit: &mut MultiCommit,
    ) -> Result<bool, ApplyError> {
        // Ours are those of no row.
        if self.given.contains(scope) || is_own_scope(scope) {
            return Ok(true);
        }
        if let Some(owned) = self.looked_up.get(scope) {
            return Ok(*owned);
        }
        let owned = match self.store.find(SCOPE_OWNERS, scope).await? {
            None => false,
            Some((_, owner)) => {
                holds(multi_commit, &owner, &Name::new(SCOPE_OWNERS, scope)).await?
            }
        };
        self.looked_up.insert(scope.to_owned(), owned);
        Ok(owned)
    }

    /// Says which of its names a resource cannot have, each with its line; what their owner gives up
    /// in the same file is handed on.
    pub(super) async fn conflicts(
        &self,
        Declaration { draft, lines }: &Declaration<Draft>,
        multi_commit: &mut MultiCommit,
    ) -> Result<Vec<(usize, String)>, ApplyError> {
        let scopes = draft.scopes.iter().flatten().map(Permission::as_str);
        let types = draft.authorization_details.iter().flatten().map(|detail| detail.name.as_str());
        let names = scopes
            .map(|scope| (Name::new(SCOPE_OWNERS, scope), "scope", SCOPES))
            .chain(types.map(|name| (Name::new(DETAIL_OWNERS, name), "type", DETAILS)));
        let mut conflicts = Vec::new();
        for (name, what, list) in names {
            let Some((_, owner)) = self.store.find(name.space, &name.name).await? else { continue };
            if owner == draft.identifier {
                continue;
            }
            if holds(multi_commit, &owner, &name).await? {
                let text = format!("the {what} `{}` belongs to `{owner}`", name.name);
                conflicts.push((lines.of_member(list, &name.name), text));
            }
        }
        Ok(conflicts)
    }
}

/// Tells whether a resource has the name after what was decided so far.
async fn holds(
    multi_commit: &mut MultiCommit,
    resource: &str,
    name: &Name,
) -> Result<bool, ApplyError> {
    Ok(multi_commit.look::<Resource>(resource).await?.names().contains(name))
}
