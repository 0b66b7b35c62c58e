//! Creates an entity whose id was drawn a moment ago, by its first command and without an actor.
//!
//! No other command can be under way for it, so there is nothing to serialise: it is decided on no row, and
//! the commit insists that there is none. An actor is started by the next command, if one ever comes: most
//! families, requests and assertions hear of nothing but their beginning for a long time.

use super::{
    commit_builder::Author,
    concurrent_work,
    deciding::{self, Outcome},
    entity_state::EntityState,
    failure::{Answer, Failure, answer},
    kind_shared::KindContext,
    mailbox::Request,
};
use crate::{domain::Machine, store::CommitError};
use std::sync::Arc;

/// Notes a failure where a decision panics.
struct FailureGuard<'a, M: Machine> {
    shared: &'a KindContext<M>,
    id: &'a str,
    ended: bool,
}

impl<M: Machine> Drop for FailureGuard<'_, M> {
    fn drop(&mut self) {
        if !self.ended {
            self.shared.failed(self.id);
        }
    }
}

/// Decides and commits; `None` where only the row can say what is true.
pub(super) async fn create<M: Machine>(
    shared: &KindContext<M>,
    id: &str,
    request: &Request<M>,
) -> Option<Answer<M>> {
    let mut begun = FailureGuard { shared, id, ended: false };
    let answer = decide_and_commit(shared, id, request).await;
    begun.ended = true;
    answer
}

async fn decide_and_commit<M: Machine>(
    shared: &KindContext<M>,
    id: &str,
    request: &Request<M>,
) -> Option<Answer<M>> {
    let Request { context, command, .. } = request;
    let services = &shared.services;
    let now = services.clock.now();
    let unborn = M::default();
    let author = Author { kind: M::KIND, id, context, services };
    let decided = deciding::decide((&unborn, 0), command, (&author, now)).await;
    // What commits nothing must rest on the row.
    let Ok((Outcome::Write { next, commit, answer: decision }, _)) = decided else { return None };
    match concurrent_work::commit((services, commit), request, &decision).await {
        Ok(version) => {
            // Before the answer: what is asked next may be asked of it.
            shared
                .newborns
                .hold(id, EntityState { machine: Arc::new(next), version, seen_at: now });
            Some(answer::<M>(decision, version))
        }
        Err(CommitError::Unknown) => {
            shared.metrics.unknown();
            Some(Err(Failure::Unknown))
        }
        Err(CommitError::Unavailable) => Some(Err(Failure::Unavailable)),
        Err(CommitError::Conflict) => {
            shared.metrics.conflict();
            None
        }
        // Said on the strength of there being no row: the actor looks.
        Err(CommitError::Taken { .. } | CommitError::Unmet { .. }) => None,
    }
}
