//! What all entities of one kind share.

use super::{
    directory::Directory,
    entity::Entity,
    entity_state::LastEntityState,
    mailbox::Envelope,
    metrics::{KindMetrics, KindReport},
    newborn::NewbornCache,
    quarantine::{QUARANTINE_AFTER, Quarantine},
    services::Services,
};
use crate::domain::Machine;
use ractor::{ActorCell, ActorRef, ActorRuntime};
use std::sync::{Arc, PoisonError, RwLock};

pub(super) struct KindContext<M: Machine> {
    pub(super) services: Arc<Services>,
    pub(super) directory: Directory<M>,
    pub(super) newborns: NewbornCache<M>,
    pub(super) quarantine: Quarantine,
    pub(super) metrics: KindMetrics,
    /// The host that supervises the entities; none between its death and its successor's start.
    host: RwLock<Option<ActorCell>>,
}

impl<M: Machine> KindContext<M> {
    pub(super) fn new(services: Arc<Services>) -> Self {
        Self {
            services,
            directory: Directory::new(),
            newborns: NewbornCache::default(),
            quarantine: Quarantine::default(),
            metrics: KindMetrics::default(),
            host: RwLock::new(None),
        }
    }

    pub(super) fn set_host(&self, host: ActorCell) {
        *self.host.write().unwrap_or_else(PoisonError::into_inner) = Some(host);
    }

    /// Clears a host that is gone, unless its successor is already set.
    pub(super) fn clear_host(&self, gone: &ActorCell) {
        let mut host = self.host.write().unwrap_or_else(PoisonError::into_inner);
        host.take_if(|host| host.get_id() == gone.get_id());
    }

    /// Starts the actor of `id` under the present host; nothing is read before its first command.
    pub(super) fn wake(
        self: &Arc<Self>,
        id: Arc<str>,
        last: Arc<LastEntityState<M>>,
    ) -> Option<ActorRef<Envelope<M>>> {
        let host = self.host.read().unwrap_or_else(PoisonError::into_inner).clone()?;
        let arguments = (id, self.clone(), last);
        let spawned = ActorRuntime::spawn_linked_instant(None, Entity::new(), arguments, host);
        self.metrics.woke();
        spawned.ok().map(|(actor, _started)| actor)
    }

    /// Notes that the actor of `id` ended in the middle of a command.
    pub(super) fn failed(&self, id: &str) {
        let failures = self.quarantine.failed(id, self.services.clock.now());
        self.metrics.failure();
        if failures == QUARANTINE_AFTER {
            tracing::error!(kind = M::KIND, id, failures, "an entity keeps failing: quarantined");
        }
    }

    pub(super) fn report(&self) -> KindReport {
        self.metrics.report(self.directory.count(), self.quarantine.quarantined())
    }
}
