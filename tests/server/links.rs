//! Links that were mailed: one use on however many nodes, and none by a program that only looks or in
//! a browser that did not ask.

use crate::{
    browser::Browser,
    http::Answer,
    mails::{begin, link, mails, sent},
    outside::Outside,
    person::{parameter, text},
    shared::eventually,
    support::{TestOptions, TestServer},
};
use bytes::Bytes;
use http_body_util::Full;
use hyper::Method;
use porteiro::server::Issuer;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::task::JoinSet;

const ANA: &str = "ana@acme.test";
const NEW: &str = "a long enough new password";

/// A node of an installation whose nodes have one name.
pub fn node() -> TestOptions {
    let issuer = Issuer::Named("http://localhost:8080".to_owned());
    TestOptions { mailbox: true, issuer, ..TestOptions::default() }
}

/// Waits for a mail that either node has delivered, and returns it.
pub async fn sent_by_either(nodes: [&TestServer; 2], flow: &Value, step: &str) -> Value {
    let both = async || [mails(nodes[0]).await, mails(nodes[1]).await];
    let before = both().await.map(|mails| mails.len());
    let answer = nodes[0].step(flow, step, json!({})).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let mut newest = None;
    eventually("the mail", async || {
        for (mut mails, before) in both().await.into_iter().zip(before) {
            if mails.len() > before {
                newest = Some(mails.swap_remove(0));
            }
        }
        newest.is_some()
    })
    .await;
    newest.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_fifty_uses_of_one_link_on_two_nodes_one_succeeds() {
    let one = TestServer::open_in(TestOptions { rates: None, ..node() }).await;
    let other = one.beside(TestOptions { rates: None, ..node() }).await;
    for (kind, rounds) in [("sign_in", 3), ("recovery", 1)] {
        for _ in 0..rounds {
            let flow = begin(&one, kind).await;
            one.step(&flow, "identifier", json!({ "identifier": ANA })).await;
            let mail = sent_by_either([&one, &other], &flow, "magic_link/send").await;
            let token = parameter(&link(&mail), "token").unwrap();
            let mut answers = race([*one, *other], &flow, &token).await;
            let reached = if kind == "sign_in" { "done" } else { "credential" };
            let shown = async || {
                let path = format!("/flows/{}", text(&flow["id"]));
                other.get(&path).await.json()["state"] == reached
            };
            if !shown().await {
                // Under load every request may have been told to come back later.
                answers.push(other.step(&flow, "magic_link", json!({ "token": token })).await);
            }
            assert!(shown().await, "{kind}: {answers:?}");
            answers.push(other.step(&flow, "magic_link", json!({ "token": token })).await);
            let won = answers.iter().filter(|answer| answer.status == 200).count();
            assert!(won <= 1, "{kind}: {answers:?}");
            let known = |answer: &Answer| [200, 401, 409, 503].contains(&answer.status.as_u16());
            assert!(answers.iter().all(known), "{kind}: {answers:?}");
        }
    }
    other.stop().await;
    one.stop().await;
}

async fn race(nodes: [Outside; 2], flow: &Value, token: &str) -> Vec<Answer> {
    let mut racers = JoinSet::new();
    for number in 0..50 {
        let (node, flow, token) = (nodes[number % 2], flow.clone(), token.to_owned());
        racers
            .spawn(async move { node.step(&flow, "magic_link", json!({ "token": token })).await });
    }
    racers.join_all().await
}

/// Opens a link as a program does that looks for harmful pages.
async fn scan(server: &TestServer, path: &str, cookies: &str) {
    for method in [Method::GET, Method::HEAD] {
        let request = server.request(method, path).header("accept", "text/html");
        let request = request.header("cookie", cookies).header("sec-fetch-site", "cross-site");
        let answer = server.send(request.body(Full::new(Bytes::new())).unwrap()).await;
        assert!(answer.status != 200 || answer.header("set-cookie").is_none(), "{answer:?}");
    }
}

#[tokio::test]
async fn a_link_completes_nothing_for_a_scanner_or_in_another_browser() {
    let options = TestOptions { mailbox: true, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    let identifier = json!({ "identifier": ANA });
    for (kind, step, body, reached) in [
        ("sign_in", "identifier", identifier.clone(), "done"),
        ("sign_up", "profile", json!({ "email": "eva@acme.test" }), "credential"),
        ("recovery", "identifier", identifier, "credential"),
    ] {
        let mut asked = Browser { server: &server, cookies: Vec::new() };
        let flow = asked.post("/flows", &json!({ "kind": kind })).await.json();
        let path = |step: &str| format!("/flows/{}/{step}", text(&flow["id"]));
        asked.post(&path(step), &body).await;
        let before = mails(&server).await.len();
        let sending = asked.post(&path("magic_link/send"), &json!({})).await;
        assert_eq!(sending.status, 200, "{kind}: {sending:?}");
        let mail = crate::mails::wait_for(&server, before + 1).await.swap_remove(0);
        let link = link(&mail);
        let (token, query) = (parameter(&link, "token").unwrap(), link.query().unwrap());
        let cookies = asked.cookies.join("; ");
        // It may hold the cookies of the person: an extension of the browser does.
        for cookies in ["", &*cookies] {
            scan(&server, &format!("{}?{query}", link.path()), cookies).await;
            scan(&server, &format!("{}?{query}", path("magic_link")), cookies).await;
        }
        let body = json!({ "token": token });
        // The link was opened in another browser, which has a flow of its own; and by a program.
        let mut other = Browser { server: &server, cookies: Vec::new() };
        other.post("/flows", &json!({ "kind": kind })).await;
        let held = other.cookies.len();
        for _ in 0..12 {
            other.post(&path("magic_link"), &body).await.problem(403, "wrong_channel");
        }
        assert_eq!(other.cookies.len(), held, "no session: {:?}", other.cookies);
        server.step(&flow, "magic_link", body.clone()).await.problem(403, "wrong_channel");
        // None of that was counted against the person, and the link is still good where it was
        // asked for.
        let done = asked.post(&path("magic_link"), &body).await;
        assert_eq!(done.json()["state"], reached, "{kind}: {done:?}");
        if kind == "sign_in" {
            continue;
        }
        let body = json!({ "password": NEW });
        other.post(&path("new_password"), &body).await.problem(403, "wrong_channel");
        let done = asked.post(&path("new_password"), &body).await;
        assert_eq!(done.json()["state"], "done", "{kind}: {done:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_link_is_good_for_its_quarter_of_an_hour() {
    let options = TestOptions { mailbox: true, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    for kind in ["sign_in", "recovery"] {
        let flow = begin(&server, kind).await;
        server.step(&flow, "identifier", json!({ "identifier": ANA })).await;
        let token =
            parameter(&link(&sent(&server, &flow, "magic_link/send").await), "token").unwrap();
        server.clock.advance(Duration::from_mins(15));
        let late = server.step(&flow, "magic_link", json!({ "token": token })).await;
        assert!([401, 404, 409, 410].contains(&late.status.as_u16()), "{kind}: {late:?}");
    }
    server.stop().await;
}
