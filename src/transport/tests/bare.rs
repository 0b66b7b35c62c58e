//! Hyper's own answers, provoked.

use super::{client::*, *};
use crate::crypto::{Dice, draw_text};

const EXPECTED: [(&str, &str); 4] = [
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
    ("cache-control", "no-store"),
];

async fn refuses(requests: &[String], status: u16) {
    let started = start(ConnectionLimits::default()).await;
    let mut ids = Vec::new();
    for request in requests {
        let shown = &request[..request.len().min(60)];
        let mut client = connect(started.address).await;
        client.send(request).await.unwrap();
        let answer = soon(client.answer()).await.expect(shown);
        assert_eq!(answer.status, status, "{shown}");
        for (name, value) in EXPECTED {
            assert_eq!(answer.header(name), Some(value), "{shown}");
        }
        assert_eq!(answer.header("content-length"), Some("0"), "{shown}");
        assert!(answer.closes(), "{shown}");
        ids.push(answer.header("x-request-id").expect(shown).to_owned());
        assert_eq!(client.farewell().await, "", "{shown}");
    }
    assert!(ids.iter().all(|id| id.len() == 22));
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), requests.len(), "each has an id of its own");
}

#[tokio::test]
async fn what_cannot_be_parsed_is_refused_with_all_headers() {
    let requests = [
        "\0\0\0\0\r\n\r\n",
        "GET\r\n\r\n",
        "GET /a b c HTTP/1.1\r\n\r\n",
        "G@T / HTTP/1.1\r\n\r\n",
        "GET \u{7f} HTTP/1.1\r\n\r\n",
        "GET http:// HTTP/1.1\r\n\r\n",
        "GET / HTTP/3.0\r\n\r\n",
        "GET / HTTP/1.2\r\n\r\n",
        "GET / FTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "GET / HTTP/1.1\r\nx: \0\r\n\r\n",
        "POST /echo HTTP/1.1\r\ncontent-length: many\r\n\r\n",
        "POST /echo HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        "POST /echo HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx",
        "POST /echo HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n",
        "POST /echo HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked, gzip\r\n\r\nx",
        "POST /echo HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ];
    refuses(&requests.map(str::to_owned), 400).await;
}

#[tokio::test]
async fn what_is_too_long_is_refused_with_all_headers() {
    let long = "x".repeat(40_000);
    let requests = [
        format!("GET / HTTP/1.1\r\nx: {long}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nx: {long}"),
        format!("GET /{long} HTTP/1.1\r\n\r\n"),
        format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(101)),
        format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "x".repeat(500_000)),
        "POST /echo HTTP/1.1\r\ncontent-length: 18446744073709551615\r\n\r\n".to_owned(),
    ];
    refuses(&requests, 431).await;
}

#[tokio::test]
async fn a_head_just_below_the_limit_is_served() {
    let started = start(ConnectionLimits::default()).await;
    let mut client = connect(started.address).await;
    let long = "x".repeat(32_000);
    client.send(&format!("GET / HTTP/1.1\r\nx: {long}\r\n\r\n")).await.unwrap();
    assert_eq!(soon(client.answer()).await.unwrap().body, "hello");
}

#[tokio::test]
async fn a_refusal_after_good_requests_is_dressed_and_they_are_not() {
    let started = start(ConnectionLimits::default()).await;
    let mut client = connect(started.address).await;
    for path in ["/", "/nowhere"] {
        let answer = client.get(path).await.unwrap();
        assert_eq!(answer.header("x-content-type-options"), None);
    }
    client.send("GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n").await.unwrap();
    assert_eq!(soon(client.answer()).await.unwrap().body, "hello");
    client.send("GET / HTTP/1.1\r\nhost: x\r\n\r\nrubbish\r\n\r\n").await.unwrap();
    assert_eq!(soon(client.answer()).await.unwrap().header("x-content-type-options"), None);
    let refusal = soon(client.answer()).await.unwrap();
    assert_eq!(refusal.status, 400);
    assert_eq!(refusal.header("x-content-type-options"), Some("nosniff"));
}

#[tokio::test]
async fn of_two_lengths_the_chunks_count_and_the_connection_closes() {
    let started = start(ConnectionLimits::default()).await;
    let lengths = ["content-length: 4", "transfer-encoding: chunked"];
    for (first, second) in [(lengths[0], lengths[1]), (lengths[1], lengths[0])] {
        let mut client = connect(started.address).await;
        let head = format!("POST /echo HTTP/1.1\r\nhost: x\r\n{first}\r\n{second}\r\n\r\n");
        client.send(&format!("{head}5\r\nwhole\r\n0\r\n\r\n")).await.unwrap();
        let answer = soon(client.answer()).await.unwrap();
        assert_eq!(answer.body, "whole");
        assert!(answer.closes());
        assert_eq!(client.farewell().await, "");
    }
}

#[tokio::test]
async fn the_id_of_a_refusal_comes_from_the_dice_that_were_lent() {
    struct ConstantDice(u8);
    impl Dice for ConstantDice {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0);
        }
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let _server = Server::start(ServerOptions {
        listeners: vec![Listener { socket: listener, tls: None, router: Router::new() }],
        limits: ConnectionLimits::default(),
        addresses: here(),
        dice: Arc::new(ConstantDice(7)),
    });
    let mut client = connect(address).await;
    client.send("rubbish\r\n\r\n").await.unwrap();
    let answer = soon(client.answer()).await.unwrap();
    assert_eq!(answer.header("x-request-id"), Some(draw_text(&ConstantDice(7), 16).as_str()));
}
