//! Several entities decided one after the other and committed as one.
//!
//! For what must happen whole across entities that exist already: a provisioning file, above all. It
//! does not use the actors, as another node would not; versions tell. If any entity has changed
//! meanwhile the commit is a conflict, nothing is written, and the caller begins anew.

use super::{
    commit_builder::{Author, add_effects, nothing_yet, step},
    hydrate::{HydrateError, Hydrated, hydrate},
    services::Services,
};
use crate::{
    domain::{Context, Decision, Machine, Requirement, Timestamp},
    store::{Change, Commit, CommitError},
};
use std::{any::Any, collections::HashMap, sync::Arc};

/// One entity as it was read and as it would be.
struct Staged<M> {
    before: M,
    next: M,
    version: i64,
    changed: bool,
}

/// A staged entity whose kind is known to `outcome` alone.
struct StagedEntity {
    staged: Box<dyn Any + Send>,
    outcome: fn(&str, &dyn Any) -> Outcome,
}

/// What a staged entity asks of the commit.
enum Outcome {
    Change(Box<Change>),
    Require(Requirement),
    Nothing,
}

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
    at: Timestamp,
    commit: Commit,
    entities: HashMap<(&'static str, String), StagedEntity>,
    /// In the order in which entities were first decided on.
    order: Vec<(&'static str, String)>,
}

impl MultiCommit {
    pub(crate) fn new(services: Arc<Services>, context: Context) -> Self {
        let at = services.clock.now();
        let (entities, order) = (HashMap::new(), Vec::new());
        Self { services, context, at, commit: nothing_yet(at), entities, order }
    }

    /// Decides `command` on the entity `id`, on top of what was decided on it here before.
    pub async fn decide<M: Machine>(
        &mut self,
        id: &str,
        command: &M::Command,
    ) -> Result<Result<M::Reply, M::Refusal>, HydrateError> {
        let mut staged = match self.take::<M>(id) {
            Some(staged) => staged,
            None => self.read::<M>(id).await?,
        };
        let Decision { events, effects, outcome } = staged.next.decide(command, self.at);
        staged.changed |= !events.is_empty();
        for event in &events {
            staged.next.apply(event);
        }
        let author = Author { id, context: &self.context, services: &self.services };
        add_effects::<M>(&mut self.commit, effects, &author);
        let entity = StagedEntity { staged: Box::new(staged), outcome: outcome_of::<M> };
        self.entities.insert((M::KIND, id.to_owned()), entity);
        Ok(outcome)
    }

    /// Shows the entity `id` as it would be after what was decided here so far.
    ///
    /// What was looked at must be unchanged when the rest is committed. A row that was not there
    /// cannot be required to stay away: a caller that relies on its absence decides to create it.
    pub async fn look<M: Machine>(&mut self, id: &str) -> Result<&M, HydrateError> {
        let key = (M::KIND, id.to_owned());
        if !self.entities.contains_key(&key) {
            let staged = self.read::<M>(id).await?;
            let entity = StagedEntity { staged: Box::new(staged), outcome: outcome_of::<M> };
            self.entities.insert(key.clone(), entity);
        }
        let staged = self.entities.get(&key).and_then(|entity| entity.staged.downcast_ref());
        let Staged::<M> { next, .. } =
            staged.expect("an entity is staged as the machine of its kind");
        Ok(next)
    }

    /// Returns the version at which the entity `id` was read, 0 where it was not there.
    pub async fn version<M: Machine>(&mut self, id: &str) -> Result<i64, HydrateError> {
        let key = (M::KIND, id.to_owned());
        self.look::<M>(id).await?;
        let staged = self.entities.get(&key).and_then(|entity| entity.staged.downcast_ref());
        Ok(staged.map_or(0, |staged: &Staged<M>| staged.version))
    }

    /// Writes the entity `id` again as it is, so that of two commits that touch it one loses.
    ///
    /// For what is decided over a list: two decisions over one list may change no row in common.
    pub async fn touch<M: Machine>(&mut self, id: &str) -> Result<(), HydrateError> {
        let mut staged = match self.take::<M>(id) {
            Some(staged) => staged,
            None => self.read::<M>(id).await?,
        };
        staged.changed |= staged.version > 0;
        let entity = StagedEntity { staged: Box::new(staged), outcome: outcome_of::<M> };
        self.entities.insert((M::KIND, id.to_owned()), entity);
        Ok(())
    }

    /// Commits everything, or nothing; what was read and left alone must still be as it was.
    pub async fn commit(mut self) -> Result<(), CommitError> {
        let born = std::mem::take(&mut self.commit.changes);
        for key in &self.order {
            let Some(StagedEntity { staged, outcome }) = self.entities.get(key) else { continue };
            match outcome(&key.1, &**staged) {
                Outcome::Change(change) => self.commit.changes.push(*change),
                Outcome::Require(fact) => self.commit.requirements.push(fact),
                Outcome::Nothing => {}
            }
        }
        self.commit.changes.extend(born);
        if self.commit.changes.is_empty() {
            return Ok(());
        }
        self.services.store.commit(self.commit).await.map(drop)
    }

    fn take<M: Machine>(&mut self, id: &str) -> Option<Staged<M>> {
        let entity = self.entities.remove(&(M::KIND, id.to_owned()))?;
        entity.staged.downcast().ok().map(|staged| *staged)
    }

    async fn read<M: Machine>(&mut self, id: &str) -> Result<Staged<M>, HydrateError> {
        self.order.push((M::KIND, id.to_owned()));
        let Hydrated { machine: before, version } = hydrate::<M>(&self.services.store, id).await?;
        Ok(Staged { next: before.clone(), before, version, changed: false })
    }
}

fn outcome_of<M: Machine>(id: &str, staged: &dyn Any) -> Outcome {
    let Some(Staged::<M> { before, next, version, changed }) = staged.downcast_ref() else {
        return Outcome::Nothing;
    };
    match (changed, version) {
        (true, version) => Outcome::Change(Box::new(step(id, before, next, *version))),
        (false, 0) => Outcome::Nothing,
        (false, version) => Outcome::Require(Requirement::unchanged::<M>(id, *version)),
    }
}
