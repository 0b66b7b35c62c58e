//! Sends an actor its message each time there is something to do.

use ractor::ActorRef;
use std::future::Future;
use tokio::task::JoinSet;

/// Sends `message` to `actor` now and after each `signal`; ends with the set that is returned, or
/// with the actor.
pub(super) fn send_on_signal<T, S>(
    actor: ActorRef<T>,
    message: impl Fn() -> T + Send + 'static,
    signal: impl Fn() -> S + Send + 'static,
) -> JoinSet<()>
where
    T: ractor::Message,
    S: Future<Output = ()> + Send,
{
    let mut sender = JoinSet::new();
    sender.spawn(async move {
        while actor.send_message(message()).is_ok() {
            signal().await;
        }
    });
    sender
}
