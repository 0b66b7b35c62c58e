//! How often one address is written to: strangers do not take what the person needs (review 2, A11).

use crate::{
    browser::Browser,
    http::Answer,
    mails::{code, mails, wait_for},
    outside::Outside,
    passwords::unlocked,
    person::{PASSWORD, text},
    support::{TestOptions, TestServer},
};
use serde_json::{Value, json};
use std::time::Duration;

const ANA: &str = "ana@acme.test";

/// Callers come through a proxy, so that each has an address of its own.
async fn open() -> TestServer {
    let proxies = vec!["127.0.0.1/32".parse().unwrap()];
    TestServer::open_in(TestOptions { proxies, mailbox: true, ..TestOptions::default() }).await
}

/// Asks for a code from an address.
async fn send(server: &Outside, email: &str, from: &str) -> Answer {
    let headers = [("x-forwarded-for", from)];
    let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &headers).await.json();
    let path = |step: &str| format!("/flows/{}/{step}", text(&flow["id"]));
    server.post_json(&path("identifier"), &json!({ "identifier": email }), &headers).await;
    server.post_json(&path("email_code/send"), &json!({}), &headers).await
}

async fn count(server: &Outside, email: &str, from: &str, tries: usize) -> usize {
    let mut sent = 0;
    for _ in 0..tries {
        let answer = send(server, email, from).await;
        match answer.status.as_u16() {
            200 => sent += 1,
            _ => answer.problem(429, "too_many_requests"),
        }
    }
    sent
}

#[tokio::test]
async fn one_network_of_strangers_does_not_take_what_others_may_send() {
    let server = open().await;
    assert_eq!(count(&server, ANA, "203.0.113.7", 12).await, 5);
    let own = send(&server, ANA, "198.51.100.1").await;
    assert_eq!(own.status, 200, "the person, from anywhere else: {own:?}");
    // Of all of a network that one person holds.
    assert_eq!(count(&server, ANA, "2001:db8::1", 4).await, 4);
    server.stop().await;
}

#[tokio::test]
async fn an_address_is_written_to_at_most_sixty_times_a_day_at_the_wish_of_strangers() {
    let server = open().await;
    let (mut sent, mut unknown) = (0, 0);
    for minute in 0..(24 * 60 / 4) {
        let from = format!("198.18.{}.{}", minute / 250, minute % 250);
        sent += usize::from(send(&server, ANA, &from).await.status == 200);
        unknown += usize::from(send(&server, "eva@acme.test", &from).await.status == 200);
        server.clock.advance(Duration::from_mins(4));
    }
    assert!((30..=60).contains(&sent), "{sent}");
    assert_eq!(sent, unknown, "an address of no account is the same");
    server.stop().await;
}

#[tokio::test]
async fn a_known_browser_is_sent_a_code_whatever_strangers_have_taken() {
    let server = open().await;
    let mut known = Browser { server: &server, cookies: Vec::new() };
    assert_eq!(known.password(ANA, PASSWORD).await.json()["state"], "done");
    known.forget_session();
    let mut other = Browser { server: &server, cookies: Vec::new() };
    assert_eq!(other.password("bruno@acme.test", PASSWORD).await.json()["state"], "done");
    other.forget_session();
    for number in 0..4 {
        count(&server, ANA, &format!("198.51.100.{number}"), 5).await;
    }
    let refused = send(&server, ANA, "203.0.113.9").await;
    refused.problem(429, "too_many_requests");
    let ask = async |browser: &mut Browser<'_>| -> (Value, Answer) {
        let flow = browser.post("/flows", &json!({ "kind": "sign_in" })).await.json();
        let path = |step: &str| format!("/flows/{}/{step}", text(&flow["id"]));
        browser.post(&path("identifier"), &json!({ "identifier": ANA })).await;
        let sent = browser.post(&path("email_code/send"), &json!({})).await;
        (flow, sent)
    };
    let (_, refused) = ask(&mut other).await;
    refused.problem(429, "too_many_requests");
    server.quiet().await;
    let before = mails(&server).await.len();
    let (flow, sent) = ask(&mut known).await;
    assert_eq!(sent.status, 200, "{sent:?}");
    let right = code(&wait_for(&server, before + 1).await[0]);
    let path = format!("/flows/{}/email_code", text(&flow["id"]));
    let done = known.post(&path, &json!({ "code": right })).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    // Its own allowance is no way to flood the person either.
    let mut sent = 0;
    for _ in 0..15 {
        let (_, answer) = ask(&mut known).await;
        sent += usize::from(answer.status == 200);
    }
    assert!(sent <= 10, "{sent}");
    // Without a known browser the operator helps.
    unlocked(&server, ANA).await.unwrap();
    server.clock.advance(Duration::from_secs(1));
    assert_eq!(send(&server, ANA, "203.0.113.9").await.status, 200);
    server.stop().await;
}
