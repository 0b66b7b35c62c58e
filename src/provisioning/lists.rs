//! Reads lists of entities beside running servers, a page at a time: some are long.

use crate::{
    actors::{HydrateError, ListEntry, hydrate_page},
    domain::Machine,
    store::Store,
    system::Workbench,
};
use std::collections::VecDeque;

/// How many entries are read at once.
const PAGE: u32 = 100;

/// The entries of one list, in its order; no more than a page of them is held.
pub struct Entries<'a, M> {
    store: &'a Store,
    list: &'static str,
    owner: String,
    /// Rank and id of the last entry that was read.
    after: (String, String),
    page: VecDeque<ListEntry<M>>,
    is_last: bool,
}

impl<'a, M: Machine> Entries<'a, M> {
    pub fn of(workbench: &'a Workbench, list: &'static str, owner: &str) -> Self {
        Self::in_store(workbench.store(), list, owner)
    }

    pub fn in_store(store: &'a Store, list: &'static str, owner: &str) -> Self {
        let (owner, page) = (owner.to_owned(), VecDeque::new());
        Self { store, list, owner, after: Default::default(), page, is_last: false }
    }

    /// Returns the next entry, if there is one.
    pub async fn next(&mut self) -> Result<Option<(String, M)>, HydrateError> {
        if self.page.is_empty() && !self.is_last {
            let (of, after) = ((self.list, &*self.owner), (&*self.after.0, &*self.after.1));
            let page = hydrate_page(self.store, of, after, PAGE).await?;
            self.is_last = page.len() < PAGE as usize;
            self.page = page.into();
        }
        let Some(ListEntry { rank, id, machine }) = self.page.pop_front() else { return Ok(None) };
        self.after = (rank, id.clone());
        Ok(Some((id, machine)))
    }
}
