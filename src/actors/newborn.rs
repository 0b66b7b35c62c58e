//! A cache of entities that were created a moment ago and have no actor yet: their first command decides on this
//! instead of reading the row.
//!
//! It is held as an actor would hold it. What is decided on it is committed against its version, and an answer
//! that commits nothing rests on the row's present version: a newborn that another node has changed is read.

use super::entity_state::EntityState;
use crate::two_generation_cache::TwoGenerationCache;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many are held before the older half is given up. The host gives them up after a second or two anyway.
const GENERATION: usize = 512;

pub(super) struct NewbornCache<M>(Mutex<TwoGenerationCache<Box<str>, EntityState<M>>>);

impl<M> Default for NewbornCache<M> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<M> NewbornCache<M> {
    pub(super) fn hold(&self, id: &str, held: EntityState<M>) {
        let mut newborns = self.lock();
        newborns.turn_at(GENERATION);
        newborns.insert(id.into(), held, 1);
    }

    /// Returns one, which stays.
    pub(super) fn get(&self, id: &str) -> Option<EntityState<M>> {
        self.lock().find(id).cloned()
    }

    /// Hands one over to its actor.
    pub(super) fn take(&self, id: &str) -> Option<EntityState<M>> {
        self.lock().remove(id)
    }

    /// Gives up those that were here at the last sweep, too.
    pub(super) fn sweep(&self) {
        self.lock().turn();
    }

    fn lock(&self) -> MutexGuard<'_, TwoGenerationCache<Box<str>, EntityState<M>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;
    use std::sync::Arc;

    fn held(version: i64) -> EntityState<()> {
        EntityState { machine: Arc::new(()), version, seen_at: Timestamp::from_millis(0) }
    }

    fn version(held: Option<EntityState<()>>) -> Option<i64> {
        held.map(|held| held.version)
    }

    #[test]
    fn a_newborn_is_handed_over_once_and_given_up_with_the_second_sweep() {
        let newborns = NewbornCache::default();
        newborns.hold("a", held(1));
        newborns.hold("b", held(2));
        assert_eq!(version(newborns.get("a")), Some(1));
        assert_eq!((version(newborns.take("a")), version(newborns.take("a"))), (Some(1), None));
        newborns.sweep();
        newborns.sweep();
        assert_eq!(version(newborns.get("b")), None);
    }

    #[test]
    fn newborns_are_bounded() {
        let newborns = NewbornCache::default();
        for number in 0..10_000 {
            newborns.hold(&number.to_string(), held(number));
        }
        assert!(newborns.lock().len() <= 2 * GENERATION, "{}", newborns.lock().len());
        assert_eq!(version(newborns.take("9999")), Some(9_999));
    }
}
