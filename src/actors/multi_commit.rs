//! Several entities decided one after the other, and one atomic commit for all of them.
//!
//! For what must happen whole across entities that exist already: a provisioning file, above all. It
//! does not use the actors, as another node would not; versions tell. If any entity has changed
//! meanwhile the commit is a conflict, nothing is written, and the caller begins anew.

use super::{
    commit_builder::{Author, add_effects, nothing_yet},
    hydrate::HydrateError,
    read_set::ReadSet,
    services::Services,
};
use crate::{
    clock::Stopwatch,
    domain::{Context, Decision, Machine, Requirement, Timestamp},
    store::{Commit, CommitError},
};
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;

/// Begins decisions over several entities; clones are the same.
#[derive(Clone)]
pub struct MultiCommits {
    services: Arc<Services>,
    /// So long a commit may take from the first read to its answer.
    limit: Option<Duration>,
}

impl MultiCommits {
    pub(crate) fn new(services: Arc<Services>) -> Self {
        Self { services, limit: None }
    }

    /// Bounds how long each commit may take. What is not begun by then is not written; what is, and has no answer
    /// by then, is of unknown fate.
    pub fn within(self, limit: Duration) -> Self {
        Self { limit: Some(limit), ..self }
    }

    pub fn begin(&self, context: &Context) -> MultiCommit {
        let deadline = self.limit.map(|limit| (Stopwatch::start(), limit));
        MultiCommit { deadline, ..MultiCommit::new(self.services.clone(), context.clone()) }
    }

    /// Begins to read what a decision rests on.
    pub fn read_set(&self) -> ReadSet {
        ReadSet::new(self.services.clone())
    }
}

/// Decisions that are committed together or not at all.
pub struct MultiCommit {
    context: Context,
    commit: Commit,
    reads: ReadSet,
    deadline: Option<(Stopwatch, Duration)>,
}

impl MultiCommit {
    pub(crate) fn new(services: Arc<Services>, context: Context) -> Self {
        let commit = nothing_yet(services.clock.now());
        Self { context, commit, reads: ReadSet::new(services), deadline: None }
    }

    /// Decides `command` on the entity `id`, on top of what was decided on it here before.
    pub async fn decide<M: Machine>(
        &mut self,
        id: &str,
        command: &M::Command,
    ) -> Result<Result<M::Reply, M::Refusal>, HydrateError> {
        let at = self.commit.at;
        let Decision { effects, commands, mut outcome, .. } =
            self.reads.staged_mut::<M>(id).await?.decide(command, at);
        let ReadSet { services, staging } = &mut self.reads;
        let (context, services) = (&self.context, &**services);
        let author = Author { kind: M::KIND, id, context, services };
        add_effects(&mut self.commit, effects, &author);
        if let Ok(reply) = &mut outcome
            && !commands.is_empty()
        {
            let into = (&mut self.commit, &author);
            if let Err(refusal) = staging.carry_out(commands, reply, into).await? {
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
        self.reads.look(id).await
    }

    /// What was read so far.
    pub fn reads(&mut self) -> &mut ReadSet {
        &mut self.reads
    }

    /// Returns the version at which the entity `id` was read, 0 where it was not there.
    pub async fn version<M: Machine>(&mut self, id: &str) -> Result<i64, HydrateError> {
        self.reads.version::<M>(id).await
    }

    /// Writes the entity `id` again as it is, so that of two commits that touch it one loses.
    ///
    /// For what is decided over a list: two decisions over one list may change no row in common.
    pub async fn touch<M: Machine>(&mut self, id: &str) -> Result<(), HydrateError> {
        let entity = self.reads.entity::<M>(id).await?;
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
        if let Some(kind) = self.reads.staging.judge_requirements(&mut self.commit) {
            return Err(CommitError::Unmet { kind });
        }
        self.reads.staging.add_to(&mut self.commit);
        self.commit.changes.extend(born);
        if self.commit.changes.is_empty() {
            return Ok(());
        }
        let committed = self.reads.services.commit(self.commit);
        let Some((since, limit)) = self.deadline else { return committed.await.map(drop) };
        let left = limit.saturating_sub(since.elapsed());
        if left.is_zero() {
            return Err(CommitError::Unavailable);
        }
        timeout(left, committed).await.unwrap_or(Err(CommitError::Unknown)).map(drop)
    }
}
