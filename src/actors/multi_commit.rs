//! Several entities decided one after the other and committed as one.
//!
//! For what must happen whole across entities that exist already: a provisioning file, above all. It
//! does not use the actors, as another node would not; versions tell. If any entity has changed
//! meanwhile the commit is a conflict, nothing is written, and the caller begins anew.

use super::{
    commit_builder::{Author, add_effects, nothing_yet},
    hydrate::HydrateError,
    services::Services,
    staging::{StagedEntity, Staging},
};
use crate::{
    domain::{Context, Decision, EntityKind, Machine, Requirement, Staged, Timestamp},
    store::{Commit, CommitError},
};
use std::{any::Any, sync::Arc};

/// Begins decisions over several entities; clones are the same.
#[derive(Clone)]
pub struct MultiCommits(Arc<Services>);

impl MultiCommits {
    pub(crate) fn new(services: Arc<Services>) -> Self {
        Self(services)
    }

    pub fn begin(&self, context: &Context) -> MultiCommit {
        MultiCommit::new(self.0.clone(), context.clone())
    }
}

/// Decisions that are committed together or not at all.
pub struct MultiCommit {
    services: Arc<Services>,
    context: Context,
    commit: Commit,
    staging: Staging,
}

impl MultiCommit {
    pub(crate) fn new(services: Arc<Services>, context: Context) -> Self {
        let commit = nothing_yet(services.clock.now());
        Self { services, context, commit, staging: Staging::default() }
    }

    /// Decides `command` on the entity `id`, on top of what was decided on it here before.
    pub async fn decide<M: Machine>(
        &mut self,
        id: &str,
        command: &M::Command,
    ) -> Result<Result<M::Reply, M::Refusal>, HydrateError> {
        let at = self.commit.at;
        let Decision { effects, commands, mut outcome, .. } =
            self.staged_mut::<M>(id).await?.decide(command, at);
        let (context, services) = (&self.context, &*self.services);
        let author = Author { kind: M::KIND, id, context, services };
        add_effects(&mut self.commit, effects, &author);
        if let Ok(reply) = &mut outcome
            && !commands.is_empty()
        {
            let into = (&mut self.commit, &author);
            if let Err(refusal) = self.staging.carry_out(commands, reply, into).await? {
                outcome = Err(refusal);
            }
        }
        Ok(outcome)
    }

    /// Shows the entity `id` as it would be after what was decided here so far.
    ///
    /// What was looked at must be unchanged when the rest is committed. A row that was not there
    /// cannot be required to stay away: a caller that relies on its absence decides to create it.
    pub async fn look<M: Machine>(&mut self, id: &str) -> Result<&M, HydrateError> {
        Ok(self.staged_mut::<M>(id).await?.next())
    }

    /// Returns the version at which the entity `id` was read, 0 where it was not there.
    pub async fn version<M: Machine>(&mut self, id: &str) -> Result<i64, HydrateError> {
        Ok(self.entity::<M>(id).await?.version)
    }

    /// Writes the entity `id` again as it is, so that of two commits that touch it one loses.
    ///
    /// For what is decided over a list: two decisions over one list may change no row in common.
    pub async fn touch<M: Machine>(&mut self, id: &str) -> Result<(), HydrateError> {
        let entity = self.entity::<M>(id).await?;
        if entity.version > 0 {
            entity.machine.touch();
        }
        Ok(())
    }

    /// The time at which everything is decided.
    pub fn at(&self) -> Timestamp {
        self.commit.at
    }

    /// Commits only while this is so as well, in the very transaction.
    pub fn require(&mut self, fact: Requirement) {
        self.commit.requirements.push(fact);
    }

    /// Commits everything, or nothing; what was read and left alone must still be as it was.
    pub async fn commit(mut self) -> Result<(), CommitError> {
        let born = std::mem::take(&mut self.commit.changes);
        self.staging.add_to(&mut self.commit);
        self.commit.changes.extend(born);
        if self.commit.changes.is_empty() {
            return Ok(());
        }
        self.services.store.commit(self.commit).await.map(drop)
    }

    async fn entity<M: Machine>(&mut self, id: &str) -> Result<&mut StagedEntity, HydrateError> {
        self.staging.entity(&self.services.store, EntityKind::of::<M>(), id).await
    }

    async fn staged_mut<M: Machine>(&mut self, id: &str) -> Result<&mut Staged<M>, HydrateError> {
        let entity: &mut dyn Any = &mut *self.entity::<M>(id).await?.machine;
        let staged = entity.downcast_mut::<Staged<M>>();
        Ok(staged.expect("an entity is staged as the machine of its kind"))
    }
}
