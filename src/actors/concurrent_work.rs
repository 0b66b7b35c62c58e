//! Concurrent work, as signing while committing: a reply is worked on while its decision is on its way to the disk
//! (adr/0101).
//!
//! A token can be signed before the commit that grants it is durable, as long as it leaves this process only
//! after that. So what was worked out is handed over with the answer alone: it is thrown away when the
//! commit fails, and when the entity decides once more.

use super::{mailbox::Request, services::Services};
use crate::{
    domain::Machine,
    store::{Commit, CommitError},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Work on the replies of a machine.
pub(super) trait Work<M: Machine>: Send + Sync {
    /// Works on what was just decided.
    fn begin(&self, reply: &M::Reply);

    /// Throws away what was worked out: it belonged to a decision that does not stand.
    fn forget(&self);
}

/// A piece of work that runs beside a commit, and what came of it.
pub(super) struct ConcurrentWork<T, F> {
    work: F,
    done: Mutex<Option<T>>,
}

impl<T, F> ConcurrentWork<T, F> {
    pub(super) fn new(work: F) -> Arc<Self> {
        Arc::new(Self { work, done: Mutex::new(None) })
    }

    /// Returns what came of the work on this reply, which stands now.
    pub(super) fn result<R>(&self, reply: &R) -> T
    where
        F: Fn(&R) -> T,
    {
        // A reply that was read, and not committed, was not worked on yet.
        let done = self.done().take();
        done.unwrap_or_else(|| (self.work)(reply))
    }

    fn done(&self) -> MutexGuard<'_, Option<T>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M, T, F> Work<M> for ConcurrentWork<T, F>
where
    M: Machine,
    T: Send,
    F: Fn(&M::Reply) -> T + Send + Sync,
{
    fn begin(&self, reply: &M::Reply) {
        let done = (self.work)(reply);
        *self.done() = Some(done);
    }

    fn forget(&self) {
        *self.done() = None;
    }
}

/// Commits what was decided on a request, and works on its reply meanwhile.
pub(super) async fn commit<M: Machine>(
    (services, commit): (&Services, Commit),
    request: &Request<M>,
    outcome: &Result<M::Reply, M::Refusal>,
) -> Result<i64, CommitError> {
    let (Some(work), Ok(reply)) = (&request.work, outcome) else {
        return services.commit(commit).await;
    };
    // In this order: the commit is handed over before the work begins.
    let committed = services.commit(commit);
    tokio::join!(biased; committed, async { work.begin(reply) }).0
}
