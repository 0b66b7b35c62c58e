//! Leaving, one connection at a time.

use super::{client::*, identity::Authority, *};
use crate::clock::Stopwatch;
use tokio::{io::AsyncWriteExt, net::TcpStream, task::JoinSet};

fn brief() -> ConnectionLimits {
    ConnectionLimits { linger: HASTY, ..ConnectionLimits::default() }
}

fn brisk() -> DrainLimits {
    DrainLimits { lame_duck: HASTY, idle_grace: HASTY, timeout: PATIENT }
}

/// Long enough for a test to do what it wants to within it.
fn leisurely() -> DrainLimits {
    DrainLimits { lame_duck: PATIENT, ..brisk() }
}

struct DrainTask(JoinSet<DrainOutcome>);

impl DrainTask {
    fn begin(server: Server, limits: DrainLimits) -> Self {
        let mut tasks = JoinSet::new();
        tasks.spawn(server.drain(limits));
        Self(tasks)
    }

    async fn end(mut self) -> DrainOutcome {
        soon(self.0.join_next()).await.unwrap().unwrap()
    }
}

async fn is_refused(address: SocketAddr) -> bool {
    TcpStream::connect(address).await.is_err()
}

/// Waits until the listener is closed, whatever else still runs.
async fn door_shut(address: SocketAddr) {
    soon(async { while !is_refused(address).await {} }).await;
}

#[tokio::test]
async fn a_server_with_nobody_there_drains_at_once() {
    let started = start(ConnectionLimits::default()).await;
    drop(connect(started.address).await);
    until(|| started.server.report().accepted == 1 && started.server.report().open == 0).await;
    let stopwatch = Stopwatch::start();
    assert_eq!(started.server.drain(DrainLimits::default()).await, DrainOutcome::InOrder);
    assert!(stopwatch.elapsed() < Duration::from_millis(500));
    assert!(is_refused(started.address).await);
}

#[tokio::test]
async fn a_lame_duck_serves_old_and_new_connections_once_more() {
    let started = start(brief()).await;
    let mut old = connect(started.address).await;
    assert!(!old.get("/").await.unwrap().closes());
    let draining = DrainTask::begin(started.server, leisurely());
    tokio::task::yield_now().await;
    for client in [&mut old, &mut connect(started.address).await] {
        let answer = client.get("/").await.unwrap();
        assert!(answer.closes());
        assert_eq!(answer.body, "hello");
        assert_eq!(client.farewell().await, "");
    }
    drop(old);
    assert_eq!(draining.end().await, DrainOutcome::InOrder);
    assert!(is_refused(started.address).await);
}

#[tokio::test]
async fn a_lame_duck_sends_used_http2_connections_away_and_answers_fresh_ones_first() {
    let authority = Authority::new();
    let started = start_with(brief(), Some(authority.identity())).await;
    let stream = authority.connect(started.address, &["h2"]).await.unwrap();
    let mut old = Client2::over(stream).await.unwrap();
    assert_eq!(old.get("/").await.body(), "hello");
    let stream = authority.connect(started.address, &["h2"]).await.unwrap();
    let mut fresh = Client2::over(stream).await.unwrap();
    until(|| started.server.report().open == 2).await;
    let meter = started.server.meter();
    let draining = DrainTask::begin(started.server, leisurely());
    old.farewell().await;
    until(|| meter.report().open == 1).await;
    assert_eq!(fresh.get("/").await.body(), "hello");
    fresh.farewell().await;
    assert_eq!(draining.end().await, DrainOutcome::InOrder);
}

#[tokio::test]
async fn silent_connections_go_after_the_grace() {
    let started = start(brief()).await;
    let fresh = connect(started.address).await;
    let mut used = connect(started.address).await;
    assert_eq!(used.get("/").await.unwrap().body, "hello");
    let stream = TcpStream::connect(started.address).await.unwrap();
    let unused2 = Client2::over(stream).await.unwrap();
    until(|| started.server.report().open == 3).await;
    let stopwatch = Stopwatch::start();
    let draining = DrainTask::begin(started.server, brisk());
    assert_eq!(draining.end().await, DrainOutcome::InOrder);
    assert!(stopwatch.elapsed() >= HASTY * 2);
    for mut client in [fresh, used] {
        assert_eq!(client.farewell().await, "");
    }
    unused2.farewell().await;
}

#[tokio::test]
async fn a_handshake_that_never_comes_does_not_hold_up_the_drain() {
    let authority = Authority::new();
    let started = start_with(brief(), Some(authority.identity())).await;
    let _silent = connect(started.address).await;
    until(|| started.server.report().open == 1).await;
    assert_eq!(soon(started.server.drain(brisk())).await, DrainOutcome::InOrder);
}

#[tokio::test]
async fn requests_under_way_are_finished_however_late() {
    let started = start(brief()).await;
    let mut client = connect(started.address).await;
    client.request("/gate").await.unwrap();
    let stream = TcpStream::connect(started.address).await.unwrap();
    let client2 = Client2::over(stream).await.unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut client2 = client2;
        client2.get("/gate").await.body()
    });
    until(|| started.server.report().requests_under_way == 2).await;
    let draining = DrainTask::begin(started.server, brisk());
    door_shut(started.address).await;
    // The connections without a request would have gone by now.
    sleep(HASTY * 2).await;
    started.gate.add_permits(2);
    let answer = soon(client.answer()).await.unwrap();
    assert!(answer.closes());
    assert_eq!(answer.body, "through");
    assert_eq!(soon(tasks.join_next()).await.unwrap().unwrap(), "through");
    drop(client);
    assert_eq!(draining.end().await, DrainOutcome::InOrder);
}

#[tokio::test]
async fn who_waits_in_the_backlog_is_served_although_the_house_is_full() {
    let started = start(ConnectionLimits { max_connections: 1, ..brief() }).await;
    let mut inside = connect(started.address).await;
    inside.request("/gate").await.unwrap();
    until(|| started.server.report().requests_under_way == 1).await;
    let mut waiting = connect(started.address).await;
    waiting.request("/").await.unwrap();
    let draining = DrainTask::begin(started.server, brisk());
    let answer = soon(waiting.answer()).await.unwrap();
    assert!(answer.closes());
    started.gate.add_permits(1);
    assert_eq!(soon(inside.answer()).await.unwrap().body, "through");
    drop((inside, waiting));
    assert_eq!(draining.end().await, DrainOutcome::InOrder);
}

#[tokio::test]
async fn a_request_that_has_come_in_half_is_waited_for() {
    let started = start(brief()).await;
    let mut first = connect(started.address).await;
    first.send("GET / HTTP/1.1\r\n").await.unwrap();
    let mut second = connect(started.address).await;
    assert_eq!(second.get("/").await.unwrap().body, "hello");
    second.send("GET / HTTP/1.1\r\n").await.unwrap();
    until(|| started.server.report().open == 2).await;
    let draining = DrainTask::begin(started.server, brisk());
    door_shut(started.address).await;
    sleep(HASTY * 2).await;
    for mut client in [first, second] {
        client.send("host: x\r\n\r\n").await.unwrap();
        let answer = soon(client.answer()).await.unwrap();
        assert!(answer.closes());
        assert_eq!(answer.body, "hello");
    }
    assert_eq!(draining.end().await, DrainOutcome::InOrder);
}

#[tokio::test]
async fn what_does_not_end_is_cut_off_when_patience_runs_out() {
    let started = start(brief()).await;
    let mut client = connect(started.address).await;
    client.request("/never").await.unwrap();
    let stream = TcpStream::connect(started.address).await.unwrap();
    let client2 = Client2::over(stream).await.unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut client2 = client2;
        matches!(client2.get("/never").await, Outcome::Failed(_))
    });
    until(|| started.server.report().requests_under_way == 2).await;
    let meter = started.server.meter();
    let limits = DrainLimits { timeout: HASTY * 2, ..brisk() };
    assert_eq!(soon(started.server.drain(limits)).await, DrainOutcome::CutOff(2));
    assert_eq!(client.farewell().await, "");
    assert!(soon(tasks.join_next()).await.unwrap().unwrap());
    until(|| meter.report().open == 0 && meter.report().requests_under_way == 0).await;
}

#[tokio::test]
async fn a_client_that_never_closes_is_not_lingered_for_longer_than_allowed() {
    let started = start(brief()).await;
    let mut client = connect(started.address).await;
    client.send("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
    assert_eq!(soon(client.answer()).await.unwrap().body, "hello");
    let stopwatch = Stopwatch::start();
    until(|| started.server.report().open == 0).await;
    assert!(stopwatch.elapsed() < PATIENT / 2);
    client.stream.shutdown().await.unwrap_or_default();
}
