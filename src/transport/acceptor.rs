//! Accepts the connections of one listener.

use super::{
    connection::serve,
    shared::{AddressPermit, ConnectionGuard, Entrance, ServerState, Stage},
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
    time::{sleep, timeout},
};

/// How long we wait when the system has no descriptor or no memory for another connection.
const PAUSE: Duration = Duration::from_millis(100);

/// How long we wait for a permit before we look again for idle connections to close.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// A connection that has been accepted and has no permit yet.
struct AcceptedConnection {
    tcp: TcpStream,
    address: SocketAddr,
    admitted: AddressPermit,
}

impl AcceptedConnection {
    fn spawn(self, permit: Option<OwnedSemaphorePermit>, connections: &mut Connections) {
        let Self { tcp, address, admitted } = self;
        let guard = ConnectionGuard::begin(admitted, permit);
        connections.tasks.spawn(serve(guard, connections.entrance.clone(), tcp, address));
    }
}

/// The connections of one listener.
struct Connections {
    entrance: Arc<Entrance>,
    tasks: JoinSet<()>,
}

/// Accepts until the server is shut, and ends when the last of its connections has.
pub(super) async fn accept(
    listener: TcpListener,
    entrance: Arc<Entrance>,
    shared: Arc<ServerState>,
) {
    let mut connections = Connections { entrance, tasks: JoinSet::new() };
    let mut stage = shared.stage();
    // Outside of what may be given up in between: an accepted connection must not be lost.
    let mut waiting: Option<AcceptedConnection> = None;
    while *stage.borrow_and_update() < Stage::Shut {
        tokio::select! {
            _ = stage.changed() => {}
            Some(ended) = connections.tasks.join_next() => note(ended),
            accepted = next(&listener, &shared), if waiting.is_none() => {
                match shared.permits.clone().try_acquire_owned() {
                    Ok(permit) => accepted.spawn(Some(permit), &mut connections),
                    Err(_full) => waiting = Some(accepted),
                }
            }
            permit = permit(&shared), if waiting.is_some() => {
                if let Some(accepted) = waiting.take() {
                    accepted.spawn(Some(permit), &mut connections);
                }
            }
        }
    }
    if let Some(accepted) = waiting {
        accepted.spawn(None, &mut connections);
    }
    if let Err(error) = sweep(listener, &shared, &mut connections) {
        tracing::warn!(%error, "connections may have been left in the backlog");
    }
    while let Some(ended) = connections.tasks.join_next().await {
        note(ended);
    }
}

/// Says so if a task ended in a panic; no other task ended with it.
pub(super) fn note(ended: Result<(), JoinError>) {
    if ended.is_err_and(|error| error.is_panic()) {
        tracing::error!("a connection ended in a panic");
    }
}

/// Waits for a permit; connections that are idle are closed for it.
async fn permit(shared: &ServerState) -> OwnedSemaphorePermit {
    loop {
        if let Ok(permit) = shared.permits.clone().try_acquire_owned() {
            return permit;
        }
        shared.registry.close_longest_idle();
        let permit = timeout(LOOK_AGAIN, shared.permits.clone().acquire_owned());
        if let Ok(permit) = permit.await {
            return permit.expect("no code closes the semaphore");
        }
    }
}

/// Waits for a connection that its address may have.
async fn next(listener: &TcpListener, shared: &Arc<ServerState>) -> AcceptedConnection {
    let mut struggling = false;
    loop {
        match listener.accept().await {
            Ok((tcp, address)) => {
                if let Some(admitted) = AddressPermit::of(shared, address.ip()) {
                    send_at_once(&tcp);
                    return AcceptedConnection { tcp, address, admitted };
                }
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

/// Accepts every connection in the backlog, beyond the limit if need be, and closes the listener.
///
/// The system itself is asked: the reactor may not have heard yet of the last to come.
fn sweep(
    listener: TcpListener,
    shared: &Arc<ServerState>,
    connections: &mut Connections,
) -> io::Result<()> {
    let listener = listener.into_std()?;
    loop {
        match listener.accept() {
            Ok((tcp, address)) => {
                let Some(admitted) = AddressPermit::of(shared, address.ip()) else { continue };
                tcp.set_nonblocking(true)?;
                let tcp = TcpStream::from_std(tcp)?;
                send_at_once(&tcp);
                let permit = shared.permits.clone().try_acquire_owned().ok();
                AcceptedConnection { tcp, address, admitted }.spawn(permit, connections);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) if is_theirs(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Has the system send small answers at once.
fn send_at_once(tcp: &TcpStream) {
    if let Err(error) = tcp.set_nodelay(true) {
        tracing::debug!(%error, "a connection ended before it was served");
    }
}

/// Whether an error is about the connection that was to be accepted, and not about accepting.
fn is_theirs(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::ConnectionRefused
    )
}
