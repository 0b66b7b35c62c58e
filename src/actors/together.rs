//! Several entities decided one after the other and committed as one.
//!
//! For what must happen whole across entities that exist already: a provisioning file, above all. It
//! goes round the actors, as another node would; their versions notice. If any entity has moved on
//! meanwhile the commit is a conflict, nothing is written, and the caller begins anew.

use super::{
    lent::Lent,
    staging::{add_effects, nothing_yet, step},
};
use crate::{
    domain::{Decision, Machine, Requirement, Timestamp},
    store::{Change, Commit, CommitError, ReadError},
};
use std::{any::Any, collections::HashMap, sync::Arc};

/// An entity could not be read.
#[derive(Debug, thiserror::Error)]
pub enum TogetherError {
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
struct Place {
    staged: Box<dyn Any + Send>,
    outcome: fn(&str, &dyn Any) -> Outcome,
}

/// What a staged entity asks of the commit.
enum Outcome {
    Change(Box<Change>),
    Require(Requirement),
    Nothing,
}

/// Decisions that are committed together or not at all.
pub struct Together {
    lent: Arc<Lent>,
    at: Timestamp,
    commit: Commit,
    places: HashMap<(&'static str, String), Place>,
    /// In the order in which entities were first decided on.
    order: Vec<(&'static str, String)>,
}

impl Together {
    pub(crate) fn new(lent: Arc<Lent>) -> Self {
        let at = lent.clock.now();
        let (places, order) = (HashMap::new(), Vec::new());
        Self { lent, at, commit: nothing_yet(at), places, order }
    }

    /// Decides `command` on the entity `id`, on top of what was decided on it here before.
    pub async fn decide<M: Machine>(
        &mut self,
        id: &str,
        command: &M::Command,
    ) -> Result<Result<M::Reply, M::Refusal>, TogetherError> {
        let mut staged = match self.take::<M>(id) {
            Some(staged) => staged,
            None => self.read::<M>(id).await?,
        };
        let Decision { events, effects, outcome } = staged.next.decide(command, self.at);
        staged.changed |= !events.is_empty();
        for event in &events {
            staged.next.apply(event);
        }
        add_effects::<M>(&mut self.commit, id, effects, &self.lent);
        let place = Place { staged: Box::new(staged), outcome: outcome_of::<M> };
        self.places.insert((M::KIND, id.to_owned()), place);
        Ok(outcome)
    }

    /// Shows the entity `id` as it would be after what was decided here so far.
    ///
    /// What was looked at must be unchanged when the rest is committed. A row that was not there
    /// cannot be required to stay away: whoever relies on its absence decides to create it.
    pub async fn look<M: Machine>(&mut self, id: &str) -> Result<&M, TogetherError> {
        let key = (M::KIND, id.to_owned());
        if !self.places.contains_key(&key) {
            let staged = self.read::<M>(id).await?;
            let place = Place { staged: Box::new(staged), outcome: outcome_of::<M> };
            self.places.insert(key.clone(), place);
        }
        let staged = self.places.get(&key).and_then(|place| place.staged.downcast_ref());
        let Staged::<M> { next, .. } = staged.expect("a place holds the machine of its kind");
        Ok(next)
    }

    /// Commits everything, or nothing; what was read and left alone must still be as it was.
    pub async fn commit(mut self) -> Result<(), CommitError> {
        let born = std::mem::take(&mut self.commit.changes);
        for key in &self.order {
            let Some(Place { staged, outcome }) = self.places.get(key) else { continue };
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
        self.lent.store.commit(self.commit).await.map(drop)
    }

    fn take<M: Machine>(&mut self, id: &str) -> Option<Staged<M>> {
        let place = self.places.remove(&(M::KIND, id.to_owned()))?;
        place.staged.downcast().ok().map(|staged| *staged)
    }

    async fn read<M: Machine>(&mut self, id: &str) -> Result<Staged<M>, TogetherError> {
        self.order.push((M::KIND, id.to_owned()));
        let Some(row) = self.lent.store.load(M::KIND, id).await? else {
            let (before, next) = (M::default(), M::default());
            return Ok(Staged { before, next, version: 0, changed: false });
        };
        if row.revision > M::REVISION.into() {
            return Err(TogetherError::TooNew { kind: M::KIND, id: id.to_owned() });
        }
        let before: M = serde_json::from_str(&row.state).map_err(|source| {
            TogetherError::Poisoned { kind: M::KIND, id: id.to_owned(), source }
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
