//! Which entities are in memory: a concurrent map from an entity's id to its actor.
//!
//! Asking reads one shard of this map and sends straight to the actor, so that the host is no
//! serial point. An entity counts the commands on their way to it, and the count is raised under the
//! shard's lock: the sweep that holds that lock alone and sees zero can end the actor, and no command
//! is on its way to an actor that is gone.

use super::{
    entity_state::{EntityState, LastEntityState},
    mailbox::Envelope,
};
use crate::domain::{Machine, Timestamp};
use ractor::{ActorCell, ActorRef};
use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{
            AtomicI64, AtomicU32,
            Ordering::{AcqRel, Acquire, Relaxed},
        },
    },
    time::Duration,
};

const SHARDS: usize = 32;

/// How many commands may wait for one entity.
pub(super) const MAILBOX: u32 = 256;

/// An entity that is awake.
pub(super) struct AwakeEntity<M: Machine> {
    pub(super) actor: ActorRef<Envelope<M>>,
    pub(super) load: Arc<Load>,
    /// What its actor held after its last command.
    pub(super) last: Arc<LastEntityState<M>>,
}

/// How busy an entity is; apart from its actor, so that an envelope does not hold its own mailbox.
pub(super) struct Load {
    /// Commands on their way to it or being worked on.
    pending: AtomicU32,
    touched: AtomicI64,
}

impl<M: Machine> AwakeEntity<M> {
    fn admit(self: &Arc<Self>, now: Timestamp) -> Option<Arc<Self>> {
        self.load.admit(now).then(|| self.clone())
    }
}

impl Load {
    /// Counts one more command; only under the lock of the shard, or while already counted.
    pub(super) fn hold(&self) {
        self.pending.fetch_add(1, AcqRel);
    }

    pub(super) fn release(&self) {
        self.pending.fetch_sub(1, AcqRel);
    }

    fn admit(&self, now: Timestamp) -> bool {
        if self.pending.fetch_add(1, AcqRel) >= MAILBOX {
            self.release();
            return false;
        }
        self.touched.store(now.millis(), Relaxed);
        true
    }

    fn is_idle(&self, now: Timestamp, idle: Duration) -> bool {
        let touched = Timestamp::from_millis(self.touched.load(Relaxed));
        self.pending.load(Acquire) == 0 && now.since(touched) >= idle
    }
}

type Shard<M> = RwLock<HashMap<Arc<str>, Arc<AwakeEntity<M>>>>;

pub(super) struct Directory<M: Machine> {
    shards: [Shard<M>; SHARDS],
}

/// Why a command was not let in.
pub(super) enum AdmissionRefusal {
    /// Too many wait for this entity already.
    Full,
    /// Its actor could not be started.
    NoActor,
}

impl<M: Machine> Directory<M> {
    pub(super) fn new() -> Self {
        Self { shards: std::array::from_fn(|_| RwLock::new(HashMap::new())) }
    }

    /// Counts one more command for the entity `id`, waking it by `wake` where it rests.
    ///
    /// The caller owes the entity an [`Envelope`], whose end takes the count back.
    pub(super) fn admit(
        &self,
        id: &str,
        now: Timestamp,
        wake: impl FnOnce(Arc<str>, Arc<LastEntityState<M>>) -> Option<ActorRef<Envelope<M>>>,
    ) -> Result<Arc<AwakeEntity<M>>, AdmissionRefusal> {
        let shard = self.shard(id);
        if let Some(entity) = read(shard).get(id) {
            return entity.admit(now).ok_or(AdmissionRefusal::Full);
        }
        let mut directory = write(shard);
        if let Some(entity) = directory.get(id) {
            return entity.admit(now).ok_or(AdmissionRefusal::Full);
        }
        let id: Arc<str> = id.into();
        let last = Arc::new(LastEntityState::default());
        let actor = wake(id.clone(), last.clone()).ok_or(AdmissionRefusal::NoActor)?;
        let (pending, touched) = (AtomicU32::new(0), AtomicI64::new(now.millis()));
        let load = Arc::new(Load { pending, touched });
        let entity = Arc::new(AwakeEntity { actor, load, last });
        directory.insert(id, entity.clone());
        entity.admit(now).ok_or(AdmissionRefusal::Full)
    }

    /// Returns what the actor of `id` held after its last command, if it is awake.
    pub(super) fn last_held(&self, id: &str) -> Option<EntityState<M>> {
        read(self.shard(id)).get(id)?.last.get()
    }

    /// Removes an entity whose actor has ended, unless another has taken its place.
    pub(super) fn evict(&self, id: &str, actor: &ActorCell) {
        let mut directory = write(self.shard(id));
        if directory.get(id).is_some_and(|entity| entity.actor.get_id() == actor.get_id()) {
            directory.remove(id);
        }
    }

    /// Ends those that were not asked for `idle` and returns how many there were.
    pub(super) fn rest(&self, now: Timestamp, idle: Duration) -> usize {
        let mut rested = 0;
        for shard in &self.shards {
            write(shard).retain(|_, entity| {
                let idle = entity.load.is_idle(now, idle);
                if idle {
                    rested += 1;
                    entity.actor.stop(None);
                }
                !idle
            });
        }
        // Give back the memory of many that have gone.
        if rested > 1_000 {
            self.shards.iter().for_each(|shard| write(shard).shrink_to_fit());
        }
        rested
    }

    pub(super) fn count(&self) -> usize {
        self.shards.iter().map(|shard| read(shard).len()).sum()
    }

    fn shard(&self, id: &str) -> &Shard<M> {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        &self.shards[usize::try_from(hasher.finish() % SHARDS as u64).unwrap_or(0)]
    }
}

// A panic under these locks can only come from an allocation; the map stays whole.
fn read<T>(shard: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    shard.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(shard: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    shard.write().unwrap_or_else(PoisonError::into_inner)
}
