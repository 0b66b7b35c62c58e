//! Flows that are begun on one node and end on another, with nodes that stop in between.

use crate::{
    links::{node, sent_by_either},
    mails::{begin, code, link, names},
    person::{PASSWORD, parameter, text},
    support::TestServer,
};
use serde_json::{Value, json};

const ANA: &str = "ana@acme.test";
const EVA: &str = "eva@acme.test";
const NEW: &str = "a long enough new password";

/// Two nodes of one installation, of which either can be stopped and started again.
struct Nodes {
    one: TestServer,
    other: TestServer,
}

impl Nodes {
    async fn start() -> Self {
        let one = TestServer::open_in(node()).await;
        let other = one.beside(node()).await;
        Self { one, other }
    }

    /// Stops the first node, and starts another in its place: nothing is left of its memory.
    async fn restart_one(self) -> Self {
        let Self { one, other } = self;
        one.stop().await;
        Self { one: other.beside(node()).await, other }
    }

    async fn stop(self) {
        self.other.stop().await;
        self.one.stop().await;
    }
}

async fn sign_in_with(server: &TestServer, email: &str, password: &str) -> Value {
    let flow = begin(server, "sign_in").await;
    server.step(&flow, "identifier", json!({ "identifier": email })).await;
    server.step(&flow, "password", json!({ "password": password })).await.json()
}

#[tokio::test]
async fn a_sign_up_goes_on_after_a_restart_and_on_another_node() {
    let mut nodes = Nodes::start().await;
    let flow = begin(&nodes.one, "sign_up").await;
    nodes = nodes.restart_one().await;
    let described = nodes.one.step(&flow, "profile", json!({ "email": EVA })).await;
    assert_eq!(described.json()["state"], "proof", "{described:?}");
    let mail = sent_by_either([&nodes.one, &nodes.other], &flow, "email_code/send").await;
    nodes = nodes.restart_one().await;
    // A wrong one is counted where it is tried, and known where the next is.
    let right = code(&mail);
    let wrong = if right == "000000" { "000001" } else { "000000" };
    let refused = nodes.other.step(&flow, "email_code", json!({ "code": wrong })).await;
    refused.problem(401, "invalid_credentials");
    let proved = nodes.one.step(&flow, "email_code", json!({ "code": right })).await.json();
    assert_eq!(proved["state"], "credential", "{proved}");
    let again = nodes.other.step(&flow, "email_code", json!({ "code": right })).await;
    again.problem(409, "step_not_available");
    nodes = nodes.restart_one().await;
    let shown = nodes.one.get(&format!("/flows/{}", text(&flow["id"]))).await.json();
    assert_eq!(names(&shown), names(&proved), "{shown}");
    let done = nodes.other.step(&flow, "new_password", json!({ "password": NEW })).await.json();
    assert_eq!(done["state"], "done", "{done}");
    let session = text(&done["result"]["session_token"]);
    nodes.one.code(session, "web", "openid").await;
    for late in [&nodes.one, &nodes.other] {
        late.step(&flow, "new_password", json!({ "password": NEW }))
            .await
            .problem(409, "flow_over");
    }
    assert_eq!(sign_in_with(&nodes.one, EVA, NEW).await["state"], "done");
    nodes.stop().await;
}

#[tokio::test]
async fn a_recovery_goes_on_after_a_restart_and_on_another_node() {
    let mut nodes = Nodes::start().await;
    let session = nodes.one.sign_in(ANA).await;
    let flow = begin(&nodes.one, "recovery").await;
    nodes.one.step(&flow, "identifier", json!({ "identifier": ANA })).await;
    nodes = nodes.restart_one().await;
    let mail = sent_by_either([&nodes.one, &nodes.other], &flow, "magic_link/send").await;
    let token = parameter(&link(&mail), "token").unwrap();
    nodes = nodes.restart_one().await;
    let proved = nodes.other.step(&flow, "magic_link", json!({ "token": token })).await.json();
    assert_eq!(proved["state"], "credential", "{proved}");
    nodes = nodes.restart_one().await;
    let again = nodes.one.step(&flow, "magic_link", json!({ "token": token })).await;
    again.problem(409, "step_not_available");
    let done = nodes.one.step(&flow, "new_password", json!({ "password": NEW })).await.json();
    assert_eq!(done["state"], "done", "{done}");
    for node in [&nodes.one, &nodes.other] {
        let asked = node.authorize_in(&session, "web", &[]).await.json();
        assert_eq!(asked["state"], "identify", "the session is over: {asked}");
        let late = node.step(&flow, "new_password", json!({ "password": NEW })).await;
        late.problem(409, "flow_over");
    }
    assert_eq!(sign_in_with(&nodes.other, ANA, NEW).await["state"], "done");
    let refused = sign_in_with(&nodes.one, ANA, PASSWORD).await;
    assert_eq!(refused["code"], "invalid_credentials", "{refused}");
    nodes.stop().await;
}
