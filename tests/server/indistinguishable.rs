//! Nobody learns who has an account: known and unknown identifiers cost the same work, to the count,
//! and get the same answer. What time tells is measured by `bench/run identifiers`.

use crate::{
    http::Answer,
    person::text,
    support::{TestOptions, TestServer},
};
use serde_json::{Value, json};
use std::time::Duration;

/// An account that never had a password.
const PASSWORDLESS: &str = "[[account]]\nemail = \"eli@acme.test\"\n";

/// Somebody with a password, somebody without one, nobody, and what is no address at all.
const IDENTIFIERS: [&str; 4] = ["ana@acme.test", "eli@acme.test", "eva@acme.test", "whoever I am"];

/// The work that the server has done so far for whoever asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Work {
    hashes: u64,
    reads: u64,
    commits: u64,
}

impl Work {
    fn so_far(server: &TestServer) -> Self {
        let system = server.running().system();
        let (hashing, store) = (system.hashing().vitals(), system.store().report());
        Self {
            hashes: hashing.done + hashing.refused + hashing.abandoned + hashing.panicked,
            reads: store.reads,
            commits: store.commits + store.refused + store.failed + store.unknown,
        }
    }

    fn since(self, earlier: Self) -> Self {
        Self {
            hashes: self.hashes - earlier.hashes,
            reads: self.reads - earlier.reads,
            commits: self.commits - earlier.commits,
        }
    }
}

/// What can be told of an answer from outside, but for what is drawn anew for each.
type Look = (u16, Vec<(String, String)>, String);

fn look(answer: &Answer, flow: &str) -> Look {
    let drawn = ["date", "x-request-id"];
    let mut headers: Vec<(String, String)> = Vec::new();
    for (name, value) in &answer.headers {
        let value = if drawn.contains(&name.as_str()) { "" } else { value.to_str().unwrap() };
        headers.push((name.to_string(), value.to_owned()));
    }
    (answer.status.as_u16(), headers, answer.text().replace(flow, "FLOW"))
}

async fn open() -> TestServer {
    // What looks after the keys reads, and would be counted.
    let keys_every = Duration::from_hours(1);
    let server = TestServer::open_in(TestOptions { keys_every, ..TestOptions::default() }).await;
    server.apply(PASSWORDLESS).await;
    server
}

async fn begin(server: &TestServer) -> Value {
    let begun = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await;
    assert_eq!(begun.status, 201, "{begun:?}");
    begun.json()
}

/// Takes a step and says what it cost and how it looked.
async fn step(server: &TestServer, flow: &Value, name: &str, body: Value) -> (Work, Look) {
    let before = Work::so_far(server);
    let answer = server.step(flow, name, body).await;
    (Work::so_far(server).since(before), look(&answer, text(&flow["id"])))
}

#[tokio::test]
async fn an_identifier_costs_and_says_the_same_whoever_has_it() {
    let server = open().await;
    let mut seen = Vec::new();
    for identifier in IDENTIFIERS {
        let flow = begin(&server).await;
        seen.push(step(&server, &flow, "identifier", json!({ "identifier": identifier })).await);
    }
    let (work, (status, ..)) = &seen[0];
    assert_eq!((*status, work.hashes), (200, 0), "{work:?}");
    assert!(seen.iter().all(|one| one == &seen[0]), "{seen:#?}");
    server.stop().await;
}

#[tokio::test]
async fn a_wrong_password_costs_and_says_the_same_whoever_it_is_tried_for() {
    let server = open().await;
    // From the first attempt to the one that comes too soon.
    for attempt in 1..=11 {
        let mut seen = Vec::new();
        for identifier in IDENTIFIERS {
            let flow = begin(&server).await;
            server.step(&flow, "identifier", json!({ "identifier": identifier })).await;
            seen.push(step(&server, &flow, "password", json!({ "password": "wrong" })).await);
        }
        let (work, (status, ..)) = &seen[0];
        let wanted = if attempt <= 10 { (401, 1) } else { (429, 0) };
        assert_eq!((*status, work.hashes), wanted, "attempt {attempt}: {seen:#?}");
        assert!(work.reads > 0, "{work:?}");
        assert!(seen.iter().all(|one| one == &seen[0]), "attempt {attempt}: {seen:#?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn every_wrong_password_of_one_flow_costs_and_says_the_same() {
    let server = open().await;
    let mut flows = Vec::new();
    for identifier in IDENTIFIERS {
        let flow = begin(&server).await;
        server.step(&flow, "identifier", json!({ "identifier": identifier })).await;
        flows.push(flow);
    }
    for attempt in 1..=11 {
        let mut seen = Vec::new();
        for flow in &flows {
            seen.push(step(&server, flow, "password", json!({ "password": "wrong" })).await);
        }
        let (work, (status, ..)) = &seen[0];
        let wanted = if attempt <= 10 { (401, 1) } else { (409, 0) };
        assert_eq!((*status, work.hashes), wanted, "attempt {attempt}: {seen:#?}");
        assert!(seen.iter().all(|one| one == &seen[0]), "attempt {attempt}: {seen:#?}");
    }
    server.stop().await;
}
