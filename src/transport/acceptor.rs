//! Lets connections in at one listener.

use super::{
    connection::attend,
    shared::{ConnectionGuard, Shared, Stage},
};
use std::{
    io::{self, ErrorKind},
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::OwnedSemaphorePermit,
    task::{JoinError, JoinSet},
    time::sleep,
};

/// How long we wait when the system has no descriptor or no memory for another connection.
const PAUSE: Duration = Duration::from_millis(100);

/// Accepts until the server is shut, and ends when the last of its connections has.
pub(super) async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut guests = JoinSet::new();
    let mut stage = shared.stage();
    while *stage.borrow_and_update() < Stage::Shut {
        tokio::select! {
            _ = stage.changed() => {}
            Some(ended) = guests.join_next() => note(ended),
            (tcp, address, place) = next(&listener, &shared) => {
                let guard = ConnectionGuard::begin(shared.clone(), Some(place));
                guests.spawn(attend(guard, tcp, address));
            }
        }
    }
    if let Err(error) = sweep(listener, &shared, &mut guests) {
        tracing::warn!(%error, "connections may have been left in the backlog");
    }
    while let Some(ended) = guests.join_next().await {
        note(ended);
    }
}

/// Says so if a task ended in a panic; it has taken only itself with it.
pub(super) fn note(ended: Result<(), JoinError>) {
    if ended.is_err_and(|error| error.is_panic()) {
        tracing::error!("a connection ended in a panic");
    }
}

/// Waits for a place, and then for somebody to take it.
async fn next(
    listener: &TcpListener,
    shared: &Shared,
) -> (TcpStream, SocketAddr, OwnedSemaphorePermit) {
    let places = shared.places.clone();
    let place = places.acquire_owned().await.expect("nobody closes the semaphore");
    let mut struggling = false;
    loop {
        match listener.accept().await {
            Ok((tcp, address)) => {
                quicken(&tcp);
                return (tcp, address, place);
            }
            Err(error) if is_theirs(&error) => {}
            Err(error) => {
                if !struggling {
                    tracing::warn!(%error, "connections cannot be accepted at the moment");
                }
                struggling = true;
                sleep(PAUSE).await;
            }
        }
    }
}

/// Takes in everybody who waits in the backlog, beyond the limit if need be, and shuts the door.
///
/// The system itself is asked: the reactor may not have heard yet of the last to come.
fn sweep(listener: TcpListener, shared: &Arc<Shared>, guests: &mut JoinSet<()>) -> io::Result<()> {
    let listener = listener.into_std()?;
    loop {
        match listener.accept() {
            Ok((tcp, address)) => {
                tcp.set_nonblocking(true)?;
                let tcp = TcpStream::from_std(tcp)?;
                quicken(&tcp);
                let place = shared.places.clone().try_acquire_owned().ok();
                guests.spawn(attend(ConnectionGuard::begin(shared.clone(), place), tcp, address));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) if is_theirs(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Sends small answers at once.
fn quicken(tcp: &TcpStream) {
    if let Err(error) = tcp.set_nodelay(true) {
        tracing::debug!(%error, "a connection went before it was served");
    }
}

/// Whether an error is about the connection that was to be accepted, and not about accepting.
fn is_theirs(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::ConnectionRefused
    )
}
