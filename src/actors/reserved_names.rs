//! Settles which names that were reserved late are ours, and widens the roles of administrators by them
//! (adr/0132).
//!
//! It runs when a server starts, and in commands that migrate. Where nothing is left to do it reads one row.
//! A name that an API has is not ours, nor afterwards while a role or a key has a permission under it:
//! what was given for that API must not open ours.

use super::{
    HydrateError, MultiCommit,
    hydrate::{ListEntry, hydrate, hydrate_page},
    services::Services,
};
use crate::{
    domain::{
        Context, Machine,
        api_key::{API_KEYS, ApiKey},
        authority::Permission,
        organization::{self, ORGANIZATIONS, Organization},
        reserved_names::{Command, NAMES, Opening, RESERVED_LATE, ReservedNames},
        resource::{RESOURCES, Resource},
    },
    store::{CommitError, Store},
};
use std::{collections::BTreeSet, marker::PhantomData, sync::Arc};

/// Organizations that are looked at in one commit.
const MOST_ORGANIZATIONS: u32 = 50;

/// Entries that are read at once.
const PAGE: u32 = 100;

/// How often it begins anew while other nodes do the same.
const TRIES: usize = 20;

/// Why names are not settled.
#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    #[error("something cannot be read")]
    Unreadable(#[from] HydrateError),
    #[error("it was not committed")]
    NotCommitted(#[source] CommitError),
    #[error("other processes keep doing the same")]
    Contended,
}

/// How far one round has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Done,
    More,
    /// Another process was first: what was read is not so any more.
    Elsewhere,
}

/// Settles the names of an installation.
pub async fn settle_reserved_names(services: &Arc<Services>) -> Result<(), SettleError> {
    let mut lost = 0;
    while lost < TRIES {
        match step(services).await? {
            Progress::Done => return Ok(()),
            Progress::More => {}
            Progress::Elsewhere => lost += 1,
        }
    }
    Err(SettleError::Contended)
}

async fn step(services: &Arc<Services>) -> Result<Progress, SettleError> {
    let names = hydrate::<ReservedNames>(&services.store, NAMES).await?.machine;
    if let Some(opening) = names.opening() {
        return widen(services, opening).await;
    }
    if names.is_settled() && names.closed().next().is_none() {
        return Ok(Progress::Done);
    }
    let in_use = in_use(&services.store, &names).await?;
    let is_settled = names.is_settled() && names.closed().all(|name| in_use.contains(name));
    if is_settled {
        return Ok(Progress::Done);
    }
    let mut commit = MultiCommit::new(services.clone(), Context::node());
    let settle = Command::Settle { in_use };
    if commit.decide::<ReservedNames>(NAMES, &settle).await?.is_err() {
        return Ok(Progress::Elsewhere);
    }
    finish(commit).await
}

/// Widens the roles of some organizations; after the last of them the names are ours.
async fn widen(services: &Arc<Services>, opening: &Opening) -> Result<Progress, SettleError> {
    let after = (&*opening.after, &*opening.after);
    let page: Vec<ListEntry<Organization>> =
        hydrate_page(&services.store, (ORGANIZATIONS, ""), after, MOST_ORGANIZATIONS).await?;
    let mut commit = MultiCommit::new(services.clone(), Context::node());
    let widen = organization::Command::widen_administrators(&opening.names);
    for ListEntry { id, .. } in &page {
        // It is refused by none.
        let _widened = commit.decide::<Organization>(id, &widen).await?;
    }
    let mut from = opening.after.clone();
    if let Some(last) = page.last() {
        let advance = Command::Advance { from: from.clone(), to: last.id.clone() };
        if commit.decide::<ReservedNames>(NAMES, &advance).await?.is_err() {
            return Ok(Progress::Elsewhere);
        }
        from.clone_from(&last.id);
    }
    if page.len() < MOST_ORGANIZATIONS as usize
        && commit.decide::<ReservedNames>(NAMES, &Command::Finish { from }).await?.is_err()
    {
        return Ok(Progress::Elsewhere);
    }
    finish(commit).await
}

async fn finish(commit: MultiCommit) -> Result<Progress, SettleError> {
    match commit.commit().await {
        Ok(()) => Ok(Progress::More),
        Err(CommitError::Conflict | CommitError::Unmet { .. } | CommitError::Taken { .. }) => {
            Ok(Progress::Elsewhere)
        }
        Err(error) => Err(SettleError::NotCommitted(error)),
    }
}

/// Lists the names that are in use for something of the operator's.
async fn in_use(store: &Store, names: &ReservedNames) -> Result<BTreeSet<String>, HydrateError> {
    let mut found = FoundNames::default();
    let mut resources = Pages::<Resource>::of(store, RESOURCES, "");
    while let Some(page) = resources.next().await? {
        for known in page.iter().filter_map(|one| one.machine.known()) {
            let types = known.authorization_details.iter();
            let demanded = types.filter_map(|one| one.permission.as_ref());
            found.extend(known.scopes.iter().chain(demanded));
        }
    }
    // In an installation where it never belonged to an API, what a role says has opened nothing.
    if !names.is_settled() || names.closed().all(|name| found.0.contains(name)) {
        return Ok(found.0);
    }
    let mut homes = Pages::<Organization>::of(store, ORGANIZATIONS, "");
    while let Some(page) = homes.next().await? {
        for home in page.iter().filter_map(|one| one.machine.known()) {
            found.extend(home.roles.iter().flat_map(|role| &role.permissions));
            let mut keys = Pages::<ApiKey>::of(store, API_KEYS, &home.slug);
            while let Some(page) = keys.next().await? {
                let live = page.iter().filter(|one| one.machine.revoked_at().is_none());
                let known = live.filter_map(|one| one.machine.known());
                found.extend(known.flat_map(|key| &key.permissions));
            }
        }
    }
    Ok(found.0)
}

/// The names that were found.
#[derive(Default)]
struct FoundNames(BTreeSet<String>);

impl FoundNames {
    fn extend<'a>(&mut self, permissions: impl Iterator<Item = &'a Permission>) {
        let late = |one: &Permission| {
            RESERVED_LATE.into_iter().find(|name| name.eq_ignore_ascii_case(one.resource()))
        };
        self.0.extend(permissions.filter_map(late).map(str::to_owned));
    }
}

/// A list, page by page.
struct Pages<'a, M> {
    store: &'a Store,
    of: (&'static str, String),
    /// Where the next page begins, if there is one.
    after: Option<(String, String)>,
    entries: PhantomData<M>,
}

impl<'a, M: Machine> Pages<'a, M> {
    fn of(store: &'a Store, list: &'static str, owner: &str) -> Self {
        let after = Some(Default::default());
        Self { store, of: (list, owner.to_owned()), after, entries: PhantomData }
    }

    async fn next(&mut self) -> Result<Option<Vec<ListEntry<M>>>, HydrateError> {
        let Some((rank, id)) = self.after.take() else { return Ok(None) };
        let of = (self.of.0, &*self.of.1);
        let page = hydrate_page::<M>(self.store, of, (&rank, &id), PAGE).await?;
        let full = page.last().filter(|_| page.len() == PAGE as usize);
        self.after = full.map(|last| (last.rank.clone(), last.id.clone()));
        Ok(Some(page))
    }
}
