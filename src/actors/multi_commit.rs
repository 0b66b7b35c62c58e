//! Several entities decided one after the other and committed as one.
//!
//! For what must happen whole across entities that exist already: a provisioning file, above all. It
//! goes round the actors, as another node would; their versions notice. If any entity has moved on
//! meanwhile the commit is a conflict, nothing is written, and the caller begins anew.

use super::{
    commit_builder::{add_effects, nothing_yet, step},
    services::Services,
};
use crate::{
    domain::{Decision, Machine, Requirement, Timestamp},
    store::{Change, Commit, CommitError, ReadError},
};
use std::{any::Any, collections::HashMap, sync::Arc};

/// An entity could not be read.
#[derive(Debug, thiserror::Error)]
pub enum MultiCommitError {
    #[error("an entity cannot be read")]
    Unavailable(#[from] ReadError),
    #[error("{kind} {id} was written by a newer binary")]
    TooNew { kind: &'static str, id: String },
    #[error("the stored state of {kind} {id} makes no sense")]
    Poisoned {
        kind: &'static str,
        id: String,
        #[source]
        source: serde_json::Error,
    },
}

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

    pub fn begin(&self) -> MultiCommit {
        MultiCommit::new(self.0.clone())
    }
}

/// Decisions that are committed together or not at all.
pub struct MultiCommit {
    services: Arc<Services>,
    at: Timestamp,
    commit: Commit,
    entities: HashMap<(&'static str, String), StagedEntity>,
    /// In the order in which entities were first decided on.
    order: Vec<(&'static str, String)>,
}

impl MultiCommit {
    pub(crate) fn new(services: Arc<Services>) -> Self {
        let at = services.clock.now();
        let (entities, order) = (HashMap::new(), Vec::new());
        Self { services, at, commit: nothing_yet(at), entities, order }
    }

    /// Decides `command` on the entity `id`, on top of what was decided on it here before.
    pub async fn decide<M: Machine>(
        &mut self,
        id: &str,
        command: &M::Command,
    ) -> Result<Result<M::Reply, M::Refusal>, MultiCommitError> {
        let mut staged = match self.take::<M>(id) {
            Some(staged) => staged,
            None => self.read::<M>(id).await?,
        };
        let Decision { events, effects, outcome } = staged.next.decide(command, self.at);
        staged.changed |= !events.is_empty();
        for event in &events {
            staged.next.apply(event);
        }
        add_effects::<M>(&mut self.commit, id, effects, &self.services);
        let entity = StagedEntity { staged: Box::new(staged), outcome: outcome_of::<M> };
        self.entities.insert((M::KIND, id.to_owned()), entity);
        Ok(outcome)
    }

    /// Shows the entity `id` as it would be after what was decided here so far.
    ///
    /// What was looked at must be unchanged when the rest is committed. A row that was not there
    /// cannot be required to stay away: whoever relies on its absence decides to create it.
    pub async fn look<M: Machine>(&mut self, id: &str) -> Result<&M, MultiCommitError> {
        let key = (M::KIND, id.to_owned());
        if !self.entities.contains_key(&key) {
            let staged = self.read::<M>(id).await?;
            let entity = StagedEntity { staged: Box::new(staged), outcome: outcome_of::<M> };
            self.entities.insert(key.clone(), entity);
        }
        let staged = self.entities.get(&key).and_then(|entity| entity.staged.downcast_ref());
        let Staged::<M> { next, .. } = staged.expect("a entity holds the machine of its kind");
        Ok(next)
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

    async fn read<M: Machine>(&mut self, id: &str) -> Result<Staged<M>, MultiCommitError> {
        self.order.push((M::KIND, id.to_owned()));
        let Some(row) = self.services.store.load(M::KIND, id).await? else {
            let (before, next) = (M::default(), M::default());
            return Ok(Staged { before, next, version: 0, changed: false });
        };
        if row.revision > M::REVISION.into() {
            return Err(MultiCommitError::TooNew { kind: M::KIND, id: id.to_owned() });
        }
        let before: M = serde_json::from_str(&row.state).map_err(|source| {
            MultiCommitError::Poisoned { kind: M::KIND, id: id.to_owned(), source }
        })?;
        Ok(Staged { next: before.clone(), before, version: row.version, changed: false })
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
