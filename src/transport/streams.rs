//! The tasks of one HTTP/2 connection's requests.

use super::acceptor::note;
use hyper::rt::Executor;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::task::JoinSet;

/// Owns the tasks; they end with it.
#[derive(Default)]
pub(super) struct Streams(Arc<Mutex<JoinSet<()>>>);

/// Starts them. It is held by the tasks themselves and must not keep them alive.
#[derive(Clone)]
pub(super) struct StreamStarter(Weak<Mutex<JoinSet<()>>>);

impl Streams {
    pub(super) fn starter(&self) -> StreamStarter {
        StreamStarter(Arc::downgrade(&self.0))
    }
}

impl<F> Executor<F> for StreamStarter
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let Some(tasks) = self.0.upgrade() else { return };
        let mut tasks = tasks.lock().unwrap_or_else(PoisonError::into_inner);
        reap(&mut tasks);
        tasks.spawn(stream);
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        reap(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

fn reap(tasks: &mut JoinSet<()>) {
    while let Some(ended) = tasks.try_join_next() {
        note(ended);
    }
}
