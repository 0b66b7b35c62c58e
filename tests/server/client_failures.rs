//! Callers that fail to prove which client they are, again and again.

use crate::{
    http::Answer,
    nodes::EACH_LIMITS,
    person::text,
    support::{SECRET, TestOptions, TestServer, basic, form},
};
use hyper::Method;
use serde_json::json;
use std::time::Duration;

const WRONG: &str = "a-secret-that-is-long-enough-and-wrong-all-the-same";

/// Believes what loopback forwards.
async fn server() -> TestServer {
    let proxies = vec!["127.0.0.0/8".parse().unwrap()];
    let server = TestServer::open_in(TestOptions { proxies, ..TestOptions::default() }).await;
    server.on_one_node(EACH_LIMITS);
    server
}

async fn ask(server: &TestServer, client: &str, secret: &str, from: &str) -> Answer {
    let request = server
        .request(Method::POST, "/connect/token")
        .header("authorization", basic(client, secret))
        .header("x-forwarded-for", from)
        .header("content-type", "application/x-www-form-urlencoded");
    server.send(request.body(form(&[("grant_type", "client_credentials")])).unwrap()).await
}

/// Fails until it is told to wait, and says how often that was.
async fn fail(server: &TestServer, client: &str, from: &str) -> usize {
    for number in 0..300 {
        let answer = ask(server, client, WRONG, from).await;
        if answer.status == 429 {
            answer.refused(429, "temporarily_unavailable");
            let wait: u32 = answer.header("retry-after").unwrap().parse().unwrap();
            assert!((1..=10).contains(&wait), "{wait}");
            return number;
        }
        answer.refused(401, "invalid_client");
    }
    panic!("three hundred wrong secrets were not limited");
}

#[tokio::test]
async fn wrong_secrets_for_one_client_are_told_to_wait_and_the_right_one_never_is() {
    let server = server().await;
    assert_eq!(fail(&server, "billing", "2001:db8::1").await, 100);
    assert_eq!(fail(&server, "billing", "2001:db8::2").await, 0, "its /64 is one caller");
    // From another address, and from the very same: a limit that refused it would be a lockout.
    for from in ["192.0.2.1", "2001:db8::1"] {
        assert_eq!(ask(&server, "billing", SECRET, from).await.status, 200, "{from}");
    }
    ask(&server, "billing", WRONG, "192.0.2.1").await.refused(401, "invalid_client");
    assert_eq!(ask(&server, "nobody", SECRET, "2001:db8::1").await.status, 200);
    ask(&server, "nobody", WRONG, "2001:db8::1").await.refused(401, "invalid_client");
    server.clock.advance(Duration::from_secs(6));
    ask(&server, "billing", WRONG, "2001:db8::1").await.refused(401, "invalid_client");
    server.stop().await;
}

#[tokio::test]
async fn many_addresses_are_limited_together_and_lock_no_client_out() {
    let server = server().await;
    let mut failed = 0;
    for number in 0..300 {
        let answer = ask(&server, "billing", WRONG, &format!("198.51.100.{}", number % 250)).await;
        failed += usize::from(answer.status == 401);
    }
    assert_eq!(failed, 200);
    assert_eq!(ask(&server, "billing", SECRET, "198.51.100.7").await.status, 200);
    ask(&server, "nobody", WRONG, "198.51.100.7").await.refused(401, "invalid_client");
    server.stop().await;
}

#[tokio::test]
async fn an_unknown_client_is_limited_like_a_known_one() {
    let server = server().await;
    assert_eq!(fail(&server, "unheard-of", "192.0.2.1").await, 100);
    assert_eq!(fail(&server, &"a".repeat(300), "192.0.2.1").await, 100);
    // Other endpoints count the same failures.
    let request = server
        .request(Method::POST, "/connect/introspect")
        .header("authorization", basic("unheard-of", WRONG))
        .header("x-forwarded-for", "192.0.2.1")
        .header("content-type", "application/x-www-form-urlencoded");
    let answer = server.send(request.body(form(&[("token", "x")])).unwrap()).await;
    answer.refused(429, "temporarily_unavailable");
    server.stop().await;
}

#[tokio::test]
async fn wrong_registration_tokens_are_told_to_wait_and_the_right_one_never_is() {
    let server = server().await;
    let asked = json!({ "redirect_uris": ["https://rp.example/cb"] });
    let told = server.post_json("/connect/register", &asked, &[]).await.json();
    let (id, token) = (text(&told["client_id"]), text(&told["registration_access_token"]));
    let read = async |token: &str| {
        let request = server.request(Method::GET, &format!("/connect/register/{id}"));
        let request = request.header("authorization", format!("Bearer {token}"));
        server.send(request.body(form(&[])).unwrap()).await
    };
    for _ in 0..100 {
        read("prt_wrong").await.refused(401, "invalid_token");
    }
    let refused = read("prt_wrong").await;
    refused.refused(429, "temporarily_unavailable");
    assert!(refused.header("retry-after").is_some());
    assert_eq!(read(token).await.status, 200);
    server.stop().await;
}
