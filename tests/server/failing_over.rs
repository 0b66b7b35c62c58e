//! What callers are answered while a standby takes the place of its primary.

use crate::{
    outside::Outside,
    person::text,
    server_pair::{Pair, beside_a_pair},
    support::TestServer,
};
use rustix::process::Signal;
use serde_json::json;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

/// What one caller was answered.
#[derive(Default)]
struct Answered {
    granted: Vec<Instant>,
    /// Tokens whose revocation was acknowledged.
    revoked: Vec<String>,
    /// Refusals that said when to come back.
    refused: usize,
    /// Anything else.
    others: Vec<String>,
}

impl Answered {
    fn note(&mut self, answer: &crate::http::Answer) -> bool {
        match (answer.status.as_u16(), answer.header("retry-after")) {
            (200, _) => self.granted.push(Instant::now()),
            (503, Some(_)) => self.refused += 1,
            _ => self.others.push(format!("{answer:?}")),
        }
        answer.status == 200
    }
}

/// Gets tokens and revokes them until it is told to end.
async fn call(outside: Outside, is_over: Arc<AtomicBool>, done: Arc<AtomicUsize>) -> Answered {
    let mut answered = Answered::default();
    while !is_over.load(SeqCst) {
        let answer = outside.ask("billing", &[("scope", "invoices:read")]).await;
        if answered.note(&answer) {
            let token = text(&answer.json()["access_token"]).to_owned();
            let answer = outside.post_as("billing", "/connect/revoke", &[("token", &token)]).await;
            if answered.note(&answer) {
                answered.revoked.push(token);
                done.fetch_add(1, SeqCst);
            }
        }
    }
    answered
}

/// Callers at work.
struct Calls {
    callers: JoinSet<Answered>,
    is_over: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
}

impl Calls {
    fn of(server: &TestServer) -> Self {
        let (is_over, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let call = |_| call(**server, is_over.clone(), done.clone());
        let callers = (0..6).map(call).collect();
        Self { callers, is_over, done }
    }

    /// Waits until so many more tokens were revoked.
    async fn served(&self, more: usize) {
        let wanted = self.done.load(SeqCst) + more;
        let ended = tokio::time::timeout(Duration::from_secs(30), async {
            while self.done.load(SeqCst) < wanted {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        ended.await.expect("callers are served");
    }

    /// Ends them, and insists that each was served or told to come back, and that what was revoked is revoked.
    async fn end(self, server: &TestServer) -> Vec<Answered> {
        self.is_over.store(true, SeqCst);
        let answered = self.callers.join_all().await;
        let others: Vec<&String> = answered.iter().flat_map(|caller| &caller.others).collect();
        assert!(others.is_empty(), "neither success nor 503 with Retry-After: {others:?}");
        for token in answered.iter().flat_map(|caller| &caller.revoked) {
            assert_eq!(server.introspect("invoices-api", token).await, json!({ "active": false }));
        }
        answered
    }
}

#[tokio::test]
async fn while_a_standby_is_promoted_callers_are_told_to_come_back_and_no_revocation_is_lost() {
    beside_a_pair("sync", "failing_over::beside_a_pair_that_fails_over").await;
}

/// Not a test of its own: what runs beside the servers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beside_a_pair_that_fails_over() {
    let Some(pair) = Pair::beside_us() else { return };
    let server = TestServer::open().await;
    let calls = Calls::of(&server);
    calls.served(60).await;
    let token = server.ask("billing", &[("scope", "invoices:read")]).await.json();
    let token = text(&token["access_token"]);
    pair.signal_primary(Signal::KILL);
    pair.lead_to_standby();
    tokio::time::sleep(Duration::from_millis(500)).await;
    // A standby may lack a revocation, so nothing is answered by what it holds.
    let asked = server.post_as("invoices-api", "/connect/introspect", &[("token", token)]).await;
    assert_eq!((asked.status.as_u16(), asked.header("retry-after")), (503, Some("1")), "{asked:?}");
    pair.promote_standby().await;
    let promoted = Instant::now();
    calls.served(60).await;
    let answered = calls.end(&server).await;
    let refused: usize = answered.iter().map(|caller| caller.refused).sum();
    assert!(refused > 0, "the end of the primary was felt");
    let granted = answered.iter().flat_map(|caller| &caller.granted);
    let first = granted.filter(|at| **at > promoted).min().unwrap().duration_since(promoted);
    assert!(first < Duration::from_secs(5), "{first:?}");
    println!(
        "measured: first success {} ms after the promotion; {refused} requests answered 503 with Retry-After, none otherwise",
        first.as_millis()
    );
    server.stop().await;
}

#[tokio::test]
async fn while_a_primary_hangs_callers_are_told_to_come_back() {
    beside_a_pair("async", "failing_over::beside_a_primary_that_hangs").await;
}

/// Not a test of its own: what runs beside the servers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beside_a_primary_that_hangs() {
    let Some(pair) = Pair::beside_us() else { return };
    let server = TestServer::open().await;
    let calls = Calls::of(&server);
    calls.served(60).await;
    pair.signal_primary(Signal::STOP);
    tokio::time::sleep(Duration::from_secs(7)).await;
    pair.signal_primary(Signal::CONT);
    let resumed = Instant::now();
    calls.served(60).await;
    let back = resumed.elapsed();
    let answered = calls.end(&server).await;
    let refused: usize = answered.iter().map(|caller| caller.refused).sum();
    println!(
        "measured: {refused} requests answered 503 with Retry-After while the primary hung for 7 s, none otherwise; 60 \
         revocations {} ms after it went on",
        back.as_millis()
    );
    server.stop().await;
}
