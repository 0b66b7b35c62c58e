//! The transport over loopback sockets, each server on a port of its own.

mod bare;
mod client;
mod connection_state;
mod crowding;
mod drain;
mod drain_under_load;
mod handshakes;
mod identity;
mod limits;
mod requests;
mod tls;

use super::*;
use crate::crypto::SystemDice;
use axum::{Extension, Router, routing};
use std::{
    future::{Ready, pending},
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};
use tokio::{
    net::TcpListener,
    sync::Semaphore,
    time::{sleep, timeout},
};

/// Longer than anything here takes, so that only what never ends runs into it.
const PATIENT: Duration = Duration::from_secs(20);
const HASTY: Duration = Duration::from_millis(200);

/// A server, and the gate behind which requests to `/gate` wait.
struct StartedServer {
    server: Server,
    address: SocketAddr,
    gate: Arc<Semaphore>,
}

async fn start(limits: ConnectionLimits) -> StartedServer {
    start_with(limits, None).await
}

async fn start_with(limits: ConnectionLimits, tls: Option<Arc<TlsIdentity>>) -> StartedServer {
    let gate = Arc::new(Semaphore::new(0));
    let (server, address) = serve(router(gate.clone()), limits, tls).await;
    StartedServer { server, address, gate }
}

async fn serve(
    router: Router,
    limits: ConnectionLimits,
    tls: Option<Arc<TlsIdentity>>,
) -> (Server, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let tls = tls.map(TlsMode::Plain);
    let listeners = vec![Listener { socket: listener, tls, router }];
    let (dice, addresses) = (Arc::new(SystemDice), here());
    (Server::start(ServerOptions { listeners, limits, addresses, dice }), address)
}

/// Serves the usual routes in clear.
fn plain(socket: TcpListener) -> Listener {
    Listener { socket, tls: None, router: router(Arc::new(Semaphore::new(0))) }
}

/// Rules under which loopback is not limited.
fn here() -> Arc<AddressRules> {
    Arc::new(AddressRules::new("http://localhost", Vec::new()))
}

fn router(gate: Arc<Semaphore>) -> Router {
    let whole = |body: String| async move { body };
    let peer = |Extension(peer): Extension<Peer>| async move {
        format!("{} {}", peer.address, peer.secure)
    };
    let wait = || async move {
        gate.acquire().await.unwrap().forget();
        "through"
    };
    Router::new()
        .route("/", routing::get(|| async { "hello" }))
        .route("/echo", routing::post(whole))
        .route("/peer", routing::get(peer))
        .route("/gate", routing::get(wait))
        .route("/never", routing::get(pending::<()>))
        .route("/panic", routing::get(trip))
}

fn trip() -> Ready<()> {
    panic!("on purpose")
}

/// Waits until something is so.
async fn until(mut is_so: impl FnMut() -> bool) {
    let patient = timeout(PATIENT, async {
        while !is_so() {
            sleep(Duration::from_millis(1)).await;
        }
    });
    patient.await.expect("it becomes so");
}

/// Refuses to wait for ever.
async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(PATIENT, what).await.expect("it happens soon")
}
