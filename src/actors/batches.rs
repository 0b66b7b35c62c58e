//! Many rows that are changed in several commits, a batch each: none holds others up for long.
//!
//! Each commit requires the entity that owns the rows to be as it was read when the batch began. What was not
//! reached is still there for the next sweep.

use super::{HydrateError, MultiCommit, hydrate::parse, services::Services};
use crate::{
    domain::{Context, Machine},
    store::{CommitError, ListRow},
};
use std::sync::Arc;

/// Rows that one commit changes at most: it holds others up no longer than theirs do.
const MOST_ROWS: u32 = 100;

/// Why the work was broken off.
#[derive(Debug, thiserror::Error)]
pub(super) enum BatchInterruption {
    #[error("something cannot be read")]
    Unreadable(#[from] HydrateError),
    #[error("a batch was not committed")]
    NotCommitted(#[from] CommitError),
    /// The owner is not what it was when the work began.
    #[error("it is not due any more")]
    NotDue,
}

/// Work on what an entity of this machine owns.
pub(super) struct Batches<'a, M: Machine> {
    services: &'a Arc<Services>,
    owner: &'a str,
    /// What the owner decides in every batch; without it, the owner is only looked at.
    renewal: Option<M::Command>,
    /// The present batch.
    commit: MultiCommit,
    rows: u32,
}

impl<'a, M: Machine> Batches<'a, M> {
    pub(super) async fn begin(
        services: &'a Arc<Services>,
        owner: &'a str,
        renewal: Option<M::Command>,
    ) -> Result<Self, BatchInterruption> {
        let commit = MultiCommit::new(services.clone(), Context::node());
        let mut batches = Self { services, owner, renewal, commit, rows: 0 };
        batches.open().await?;
        Ok(batches)
    }

    async fn open(&mut self) -> Result<(), BatchInterruption> {
        match &self.renewal {
            Some(renewal) => {
                let renewed = self.commit.decide::<M>(self.owner, renewal).await?;
                renewed.map(drop).map_err(|_| BatchInterruption::NotDue)
            }
            None => Ok(self.commit.look::<M>(self.owner).await.map(drop)?),
        }
    }

    /// Shows the owner, which the present batch requires to be unchanged.
    pub(super) async fn owner(&mut self) -> Result<&M, HydrateError> {
        self.commit.look::<M>(self.owner).await
    }

    /// Looks at another entity, which the present batch requires to be unchanged.
    pub(super) async fn look<N: Machine>(&mut self, id: &str) -> Result<&N, HydrateError> {
        self.commit.look::<N>(id).await
    }

    /// Has an entity end; one that is over already stays as it is.
    pub(super) async fn end<N: Machine>(
        &mut self,
        id: &str,
        command: &N::Command,
    ) -> Result<(), BatchInterruption> {
        if self.rows == MOST_ROWS {
            let next = MultiCommit::new(self.services.clone(), Context::node());
            std::mem::replace(&mut self.commit, next).commit().await?;
            self.rows = 0;
            self.open().await?;
        }
        self.rows += 1;
        let _over = self.commit.decide::<N>(id, command).await?;
        Ok(())
    }

    /// Has everything end that is in a list.
    pub(super) async fn end_listed<N: Machine>(
        &mut self,
        (list, owner): (&'static str, &str),
        command: &N::Command,
    ) -> Result<(), BatchInterruption> {
        let services = self.services;
        let mut pages = Pages::of(services, list, owner);
        loop {
            let page = pages.next().await?;
            if page.is_empty() {
                return Ok(());
            }
            for entry in &page {
                self.end::<N>(&entry.id, command).await?;
            }
        }
    }

    /// Commits the last batch, in which the owner decides.
    pub(super) async fn finish(mut self, last: &M::Command) -> Result<(), BatchInterruption> {
        let _due = self.commit.decide::<M>(self.owner, last).await?;
        Ok(self.commit.commit().await?)
    }
}

/// The pages of a list.
pub(super) struct Pages<'a> {
    services: &'a Services,
    list: &'static str,
    owner: &'a str,
    /// Rank and id of the last entry that was read.
    after: (String, String),
    is_last: bool,
}

impl<'a> Pages<'a> {
    pub(super) fn of(services: &'a Services, list: &'static str, owner: &'a str) -> Self {
        Self { services, list, owner, after: Default::default(), is_last: false }
    }

    /// Reads the next page; an empty one is the end.
    pub(super) async fn next(&mut self) -> Result<Vec<ListRow>, HydrateError> {
        if self.is_last {
            return Ok(Vec::new());
        }
        let (store, after) = (&self.services.store, (&*self.after.0, &*self.after.1));
        let page = store.list_for_worker(self.list, self.owner, after, MOST_ROWS).await?;
        self.is_last = page.len() < MOST_ROWS as usize;
        if let Some(last) = page.last() {
            self.after = (last.rank.clone(), last.id.clone());
        }
        Ok(page)
    }
}

/// Reads an entry of a list.
pub(super) fn read<M: Machine>(listed: &ListRow) -> Result<M, HydrateError> {
    Ok(parse::<M>(&listed.id, &listed.row)?.machine)
}
