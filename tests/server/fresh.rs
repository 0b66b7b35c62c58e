//! What one process ends, another knows at once: no answer about a token is older than its question, though
//! both processes remember what they have verified and read.

use crate::{
    api_caller::{DIRECTORY, EVERYTHING},
    exchange::AGENTS,
    http::Answer,
    outside::Outside,
    person::{parameter, redirect, text},
    races::Pair,
};
use hyper::Method;
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
};
use tokio::sync::watch;

/// How often each is tried, times `PORTEIRO_TEST_ROUNDS` (see `bench/long/fresh`).
const REVOCATIONS: usize = 100;
const CHANGES_OF_ROLES: usize = 25;
const LOOKS: usize = 10;
const SIGN_OUTS: usize = 4;
const SUSPENSIONS: usize = 4;

fn rounds(usual: usize) -> usize {
    let times = std::env::var("PORTEIRO_TEST_ROUNDS").ok().and_then(|times| times.parse().ok());
    usual * times.unwrap_or(1)
}

/// Asks one process about the token of the moment without a pause, so that it always remembers it; without a token
/// it waits for one.
struct Asking {
    token: watch::Sender<Option<String>>,
    ended: Arc<AtomicBool>,
    answers: Arc<AtomicU64>,
}

impl Asking {
    fn start(node: Outside) -> Self {
        let (token, mut seen) = watch::channel(None);
        let (ended, answers) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let asking = Self { token, ended: ended.clone(), answers: answers.clone() };
        tokio::spawn(async move {
            while !ended.load(SeqCst) {
                let Ok(token) = seen.wait_for(Option::is_some).await.map(|token| token.clone())
                else {
                    return;
                };
                node.introspect("invoices-api", &token.unwrap()).await;
                answers.fetch_add(1, SeqCst);
            }
        });
        asking
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.ended.store(true, SeqCst);
    }
}

/// Tells whether an agent may act with the token, though it asks for nothing that a role confers.
async fn is_exchanged(node: Outside, token: &str) -> bool {
    let answer = node.exchange("agent", token, &[("scope", "openid")]).await;
    if answer.status != 200 {
        assert_eq!(answer.status, 400, "{answer:?}");
    }
    answer.status == 200
}

/// Calls the management API or `/me`.
async fn call(
    node: Outside,
    (method, path): (Method, &str),
    (name, value): (&str, &str),
    body: Option<Value>,
) -> Answer {
    let request = node.request(method, path).header(name, value).header("if-match", "*");
    let request = request.header("content-type", "application/json");
    let body = body.map(|body| body.to_string()).unwrap_or_default();
    node.send(request.body(body.into()).unwrap()).await
}

/// A member whom an administrator changes at one process.
struct Member {
    node: Outside,
    administrator: String,
    path: String,
    session: String,
}

impl Member {
    async fn bruno(node: Outside) -> Self {
        let rita = node.tokens("rita@acme.test", "web", EVERYTHING).await;
        let administrator = format!("Bearer {}", text(&rita["access_token"]));
        let found = "/api/organizations/acme/members?email=bruno@acme.test";
        let by = ("authorization", administrator.as_str());
        let found = call(node, (Method::GET, found), by, None).await.json();
        let path = format!("/api/organizations/acme/members/{}", text(&found["items"][0]["id"]));
        let session = node.sign_in("bruno@acme.test").await;
        Self { node, administrator, path, session }
    }

    async fn change(&self, change: Value) {
        let by = ("authorization", self.administrator.as_str());
        let answer = call(self.node, (Method::PATCH, &self.path), by, Some(change)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    async fn token(&self) -> String {
        // He is a member of two.
        let asked = [("scope", "openid invoices:read"), ("organization", "acme")];
        let answer = self.node.authorize_in(&self.session, "web", &asked).await;
        let code = parameter(&redirect(&answer), "code").expect("a code");
        let answer = self.node.redeem("web", &code).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        text(&answer.json()["access_token"]).to_owned()
    }
}

/// The other process has looked at the member a moment ago, and does not look again before it commits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_is_not_exchanged_where_a_role_went_after_it_was_looked_at() {
    let pair = Pair::start().await;
    pair.apply(DIRECTORY);
    pair.apply(AGENTS);
    let [one, other] = pair.nodes;
    let bruno = Member::bruno(one).await;
    // Without the one role the token may do no less, but it names it.
    bruno.change(json!({ "roles": ["auditor", "clerk"] })).await;
    let token = bruno.token().await;
    for round in 0..rounds(LOOKS) {
        assert!(is_exchanged(other, &token).await, "round {round}");
        bruno.change(json!({ "roles": ["clerk"] })).await;
        assert!(!is_exchanged(other, &token).await, "round {round}: it names a role that is gone");
        bruno.change(json!({ "roles": ["auditor", "clerk"] })).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_process_ends_is_over_for_another_at_once() {
    let pair = Pair::start().await;
    pair.apply(DIRECTORY);
    pair.apply(AGENTS);
    let [one, other] = pair.nodes;
    let asking = Asking::start(other);

    for round in 0..rounds(REVOCATIONS) {
        let token = one.token("billing", "invoices:read").await;
        asking.token.send_replace(Some(token.clone()));
        assert!(other.is_active(&token).await, "revocation {round}");
        let revoked = one.post_as("billing", "/connect/revoke", &[("token", &token)]).await;
        assert_eq!(revoked.status, 200);
        assert!(!other.is_active(&token).await, "revocation {round}");
    }

    let bruno = Member::bruno(one).await;
    let token = bruno.token().await;
    asking.token.send_replace(Some(token.clone()));
    for round in 0..rounds(CHANGES_OF_ROLES) {
        assert!(other.is_active(&token).await, "role {round}");
        assert!(is_exchanged(other, &token).await, "role {round}");
        bruno.change(json!({ "roles": [] })).await;
        assert!(!is_exchanged(other, &token).await, "role {round}: the token is void as a whole");
        assert!(!other.is_active(&token).await, "role {round}");
        bruno.change(json!({ "roles": ["clerk"] })).await;
    }

    for round in 0..rounds(SIGN_OUTS) {
        let session = one.sign_in("ana@acme.test").await;
        let code = one.code(&session, "web", "openid invoices:read").await;
        let tokens = one.redeem("web", &code).await.json();
        let token = text(&tokens["access_token"]);
        asking.token.send_replace(Some(token.to_owned()));
        assert!(other.is_active(token).await, "sign-out {round}");
        assert_eq!(other.userinfo(token).await.status, 200);
        assert!(is_exchanged(other, token).await, "sign-out {round}");
        let mine = ("x-session-token", session.as_str());
        let sessions = call(one, (Method::GET, "/me/sessions"), mine, None).await.json();
        let is_this = |one: &&Value| one["current"] == true;
        let this = sessions["items"].as_array().unwrap().iter().find(is_this).unwrap();
        let path = format!("/me/sessions/{}", text(&this["id"]));
        assert_eq!(call(one, (Method::DELETE, &path), mine, None).await.status, 204);
        assert!(!is_exchanged(other, token).await, "sign-out {round}");
        assert!(!other.is_active(token).await, "sign-out {round}");
        assert_eq!(other.userinfo(token).await.status, 401);
    }

    for round in 0..rounds(SUSPENSIONS) {
        // What issues a token may rest on what was true a second ago.
        asking.token.send_replace(None);
        tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
        let token = bruno.token().await;
        asking.token.send_replace(Some(token.clone()));
        assert!(other.is_active(&token).await, "suspension {round}");
        assert!(is_exchanged(other, &token).await, "suspension {round}");
        bruno.change(json!({ "enabled": false })).await;
        assert!(!is_exchanged(other, &token).await, "suspension {round}");
        assert!(!other.is_active(&token).await, "suspension {round}");
        bruno.change(json!({ "enabled": true })).await;
        assert!(!other.is_active(&token).await, "nothing revives");
    }
    assert!(asking.answers.load(SeqCst) > 0);
}
