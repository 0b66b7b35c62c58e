//! Leaving while everybody asks.

use super::{client::*, *};
use std::{
    io::ErrorKind,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};
use tokio::{
    net::TcpStream,
    runtime::{self, Runtime},
    task::JoinSet,
};

/// What all clients of a test have seen together.
#[derive(Default)]
struct ClientTally {
    answers: AtomicU64,
    /// Connections over which at least one answer came.
    served: AtomicU64,
}

/// Asks over one connection until the server says that it closes, or `times` have passed.
///
/// Whatever goes wrong once the connection has been served is a request that was lost.
async fn ask_over(tcp: TcpStream, times: u64, seen: &ClientTally) {
    let mut client = Client::new(tcp);
    for asked in 0..times {
        match client.get("/work").await {
            Ok(answer) => {
                assert_eq!(answer.body, "done");
                seen.answers.fetch_add(1, Relaxed);
                seen.served.fetch_add(u64::from(asked == 0), Relaxed);
                if answer.closes() {
                    return;
                }
            }
            // It may have waited in the backlog when the door was shut; the counts will tell.
            Err(_) if asked == 0 => return,
            Err(error) => panic!("request {asked} of a connection was lost: {error}"),
        }
    }
}

/// The same over HTTP/2, for ever.
async fn ask_over_http2(tcp: TcpStream, seen: &ClientTally) {
    let Ok(mut client) = Client2::over(tcp).await else { return };
    for asked in 0_u64.. {
        match client.get("/work").await {
            Outcome::Answered(200, body) => {
                assert_eq!(body, "done");
                seen.answers.fetch_add(1, Relaxed);
                seen.served.fetch_add(u64::from(asked == 0), Relaxed);
            }
            Outcome::SentAway => return,
            Outcome::Failed(_) if asked == 0 => return,
            Outcome::Answered(status, _) => panic!("request {asked} was answered with {status}"),
            Outcome::Failed(error) => panic!("request {asked} was lost: {error:?}"),
        }
    }
}

#[derive(Clone, Copy)]
enum Habit {
    Keeps,
    Reconnects,
    SpeaksHttp2,
}

/// Comes back until it is refused.
async fn come_back(address: SocketAddr, habit: Habit, seen: Arc<ClientTally>) {
    loop {
        let tcp = match TcpStream::connect(address).await {
            Ok(tcp) => tcp,
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => return,
            // Between the two steps of its handshake the door was shut.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return,
            Err(error) => panic!("{error}"),
        };
        match habit {
            Habit::Keeps => ask_over(tcp, u64::MAX, &seen).await,
            Habit::Reconnects => ask_over(tcp, 1, &seen).await,
            Habit::SpeaksHttp2 => ask_over_http2(tcp, &seen).await,
        }
    }
}

/// The server runs on threads of its own, as it would. The clients share one: hyper's HTTP/2 client
/// can take a GOAWAY that comes between two steps of its sending for the end of what it has sent.
fn elsewhere() -> Runtime {
    runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

#[tokio::test]
async fn no_request_is_lost_in_a_drain_under_load() {
    for round in 0..5 {
        let begun = Arc::new(AtomicU64::new(0));
        let counted = begun.clone();
        let work = || async move {
            counted.fetch_add(1, Relaxed);
            sleep(Duration::from_millis(1)).await;
            "done"
        };
        let router = Router::new().route("/work", routing::get(work));
        let runtime = elsewhere();
        let serving = runtime.spawn(serve(router, ConnectionLimits::default(), None));
        let (server, address) = serving.await.unwrap();
        let (meter, seen) = (server.meter(), Arc::new(ClientTally::default()));
        let mut clients = JoinSet::new();
        for habit in [Habit::Keeps, Habit::Reconnects, Habit::SpeaksHttp2] {
            for _ in 0..4 {
                clients.spawn(come_back(address, habit, seen.clone()));
            }
        }
        until(|| seen.answers.load(Relaxed) >= 200).await;
        let lame_duck = Duration::from_millis(50);
        let limits = DrainLimits { lame_duck, idle_grace: HASTY, timeout: PATIENT };
        assert_eq!(soon(server.drain(limits)).await, DrainOutcome::InOrder);
        while let Some(ended) = soon(clients.join_next()).await {
            ended.unwrap();
        }
        assert_eq!(begun.load(Relaxed), seen.answers.load(Relaxed), "round {round}");
        // Who was turned away had not been let in: that is the system's backlog, and not ours.
        assert_eq!(meter.report().accepted, seen.served.load(Relaxed), "round {round}");
        runtime.shutdown_background();
    }
}
