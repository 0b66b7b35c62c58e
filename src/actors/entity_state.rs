//! The state of an entity as its actor caches it, and what others may see of it without asking.

use super::failure::{Answer, answer};
use crate::domain::{Decision, Machine, Timestamp};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// How old an answer may be that tolerates an older one.
pub(super) const STALE: Duration = Duration::from_secs(1);

/// A machine as of a version of its row, and when that was last known to be the present one.
pub(super) struct EntityState<M> {
    pub(super) machine: Arc<M>,
    pub(super) version: i64,
    pub(super) seen_at: Timestamp,
}

// Derived, it would ask the machine to be `Clone`.
impl<M> Clone for EntityState<M> {
    fn clone(&self) -> Self {
        Self { machine: self.machine.clone(), ..*self }
    }
}

impl<M: Machine> EntityState<M> {
    /// Answers a command that tolerates an older answer, if this is young enough, and if the answer commits nothing
    /// and rests on nothing else.
    pub(super) fn answer_from_cache(
        &self,
        command: &M::Command,
        now: Timestamp,
    ) -> Option<Answer<M>> {
        if now.since(self.seen_at) >= STALE {
            return None;
        }
        let Decision { events, effects, commands, outcome } = self.machine.decide(command, now);
        let reads = events.is_empty() && effects.write_nothing() && commands.is_empty();
        let reads = reads && effects.requirements.is_empty();
        reads.then(|| answer::<M>(outcome, self.version))
    }
}

/// What an actor held after its last command; nothing before the first, and after one of unknown outcome.
pub(super) struct LastEntityState<M>(Mutex<Option<EntityState<M>>>);

impl<M> Default for LastEntityState<M> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<M> LastEntityState<M> {
    pub(super) fn set(&self, held: Option<EntityState<M>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = held;
    }

    pub(super) fn get(&self) -> Option<EntityState<M>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
