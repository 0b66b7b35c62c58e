//! The read caches of this node: what a commit of this node has changed is read anew.

use crate::store::Commit;
use std::{
    collections::HashMap,
    sync::{PoisonError, RwLock},
};

/// Has a cache forget an entity.
type Forget = Box<dyn Fn(&str) + Send + Sync>;

/// By the kind of the entities that they keep.
#[derive(Default)]
pub struct ReadCaches(RwLock<HashMap<&'static str, Vec<Forget>>>);

impl ReadCaches {
    /// Adds a cache of entities of a kind.
    pub(super) fn add(&self, kind: &'static str, forget: impl Fn(&str) + Send + Sync + 'static) {
        let mut caches = self.0.write().unwrap_or_else(PoisonError::into_inner);
        caches.entry(kind).or_default().push(Box::new(forget));
    }

    /// Notes what a commit changes; it is forgotten when the note is dropped.
    pub(super) fn note(&self, commit: &Commit) -> ChangeNote<'_> {
        let caches = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let kept = commit.changes.iter().filter(|change| caches.contains_key(change.kind));
        let changed = kept.map(|change| (change.kind, change.id.clone())).collect();
        ChangeNote { caches: self, changed }
    }
}

/// What a commit changes, whatever comes of it: its caller may be gone before its answer.
pub(super) struct ChangeNote<'a> {
    caches: &'a ReadCaches,
    changed: Vec<(&'static str, String)>,
}

impl Drop for ChangeNote<'_> {
    fn drop(&mut self) {
        let caches = self.caches.0.read().unwrap_or_else(PoisonError::into_inner);
        for (kind, id) in &self.changed {
            caches.get(kind).into_iter().flatten().for_each(|forget| forget(id));
        }
    }
}
