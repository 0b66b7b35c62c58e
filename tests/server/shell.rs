//! What every response carries, and to whom we answer at all.

use crate::{
    http::{raw, request, send},
    nodes::BALANCER_ANSWERS,
    support::{TestOptions, TestServer, sealed},
};
use http_body_util::Full;
use hyper::Method;
use porteiro::http::Hosts;
use std::collections::HashSet;

#[tokio::test]
async fn every_answer_is_sealed_and_has_an_id_of_its_own() {
    let server = TestServer::open().await;
    let mut ids = HashSet::new();
    for path in ["/.well-known/openid-configuration", "/connect/jwks", "/nowhere"] {
        let answer = server.get(path).await;
        sealed(&answer.headers);
        assert!(answer.header("strict-transport-security").is_none(), "not over plain http");
        ids.insert(answer.header("x-request-id").unwrap().to_owned());
    }
    let operators = crate::http::get(server.operator(), "/livez").await;
    sealed(&operators.headers);
    ids.insert(operators.header("x-request-id").unwrap().to_owned());
    assert_eq!(ids.len(), 4);
    server.stop().await;
}

#[tokio::test]
async fn a_missing_or_doubled_host_is_400() {
    let server = TestServer::open().await;
    server.on_one_node(BALANCER_ANSWERS);
    for head in [
        "GET /connect/jwks HTTP/1.1\r\n\r\n",
        "GET /connect/jwks HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET /connect/jwks HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        "GET /connect/jwks HTTP/1.1\r\nHost:\r\n\r\n",
        "GET /nowhere HTTP/1.1\r\n\r\n",
    ] {
        let answer = raw(server.address, head.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{head:?}: {answer}");
        assert!(answer.to_lowercase().contains("x-frame-options: deny"), "{answer}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_development_server_does_not_answer_to_other_names() {
    let server =
        TestServer::open_in(TestOptions { hosts: Hosts::Loopback, ..TestOptions::default() }).await;
    assert_eq!(server.get("/connect/jwks").await.status, 200);
    let rebound = hyper::Request::builder()
        .method(Method::GET)
        .uri("/connect/jwks")
        .header("host", "evil.example:8080");
    let answer = send(server.address, rebound.body(Full::default()).unwrap()).await;
    answer.refused(421, "invalid_request");
    server.stop().await;
}

#[tokio::test]
async fn a_request_that_makes_no_sense_gets_a_sealed_400() {
    let server = TestServer::open().await;
    server.on_one_node(BALANCER_ANSWERS);
    for nonsense in
        ["\r\n\r\n\r\nGET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "{}\r\n\r\n", "G E T / x\r\n\r\n"]
    {
        let answer = raw(server.address, nonsense.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{nonsense:?}: {answer}");
        let lower = answer.to_lowercase();
        for header in ["x-frame-options: deny", "x-content-type-options: nosniff", "x-request-id: "]
        {
            assert!(lower.contains(header), "{answer}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_panic_is_a_sealed_500_and_the_next_request_is_served() {
    let server = TestServer::open().await;
    server.on_one_node("the clock of all nodes is told to panic");
    let mut seen = false;
    // The clock panics whoever looks next, and that may be somebody else in the house.
    for _ in 0..5 {
        let before = server.clock.readings();
        server.clock.panic_next_reader();
        let answer = server.ask("billing", &[]).await;
        assert!(server.clock.readings() > before && !server.clock.is_broken());
        if answer.status == 500 {
            seen = true;
            answer.refused(500, "server_error");
            assert!(!answer.text().contains("clock"), "{answer:?}");
            sealed(&answer.headers);
            break;
        }
    }
    assert!(seen, "no request met the panic");
    assert_eq!(server.ask("billing", &[]).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn head_is_answered_like_get_without_a_body() {
    let server = TestServer::open().await;
    let head =
        request(Method::HEAD, server.address, "/connect/jwks").body(Full::default()).unwrap();
    let answer = server.send(head).await;
    assert_eq!(answer.status, 200);
    assert!(answer.body.is_empty());
    server.stop().await;
}
