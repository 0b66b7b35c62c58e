//! The limits at the edge: what one caller can take from the others, and what it is told.

use crate::{
    binary::Installation,
    http::{Answer, raw},
    nodes::{BALANCER_ANSWERS, EACH_LIMITS},
    support::{ACME, TestOptions, TestServer, basic, form},
};
use http_body_util::Full;
use hyper::Method;
use porteiro::{
    domain::Rate,
    http::{
        Limits,
        limits::{pace::Rates, purpose::Purpose},
    },
    server::Issuer,
};
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

const FORM: &str = "application/x-www-form-urlencoded";

/// An issuer that is not on loopback, so that callers on loopback are limited like any other.
fn public() -> TestOptions {
    let issuer = Issuer::Named("https://id.example.com".to_owned());
    TestOptions { issuer, ..TestOptions::default() }
}

/// Begins a form on behalf of a client, and sends no more than its beginning.
async fn unfinished(server: &TestServer, client: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = format!(
        "POST /connect/token HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\
         X-Forwarded-For: {client}\r\nContent-Type: {FORM}\r\n\r\ngrant"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

/// Asks for a token on behalf of a client.
async fn ask_for(server: &TestServer, client: &str) -> Answer {
    let request = server
        .request(Method::POST, "/connect/token")
        .header("x-forwarded-for", client)
        .header("authorization", basic("billing", crate::support::SECRET))
        .header("content-type", FORM);
    server.send(request.body(form(&[("grant_type", "client_credentials")])).unwrap()).await
}

#[tokio::test]
async fn one_client_behind_the_proxy_does_not_hold_every_body_permit() {
    let limits = Limits { request_permits: 16, body_permits_per_address: 3, ..Limits::default() };
    let proxies = vec!["127.0.0.1/32".parse().unwrap()];
    let server = TestServer::open_in(TestOptions { limits, proxies, ..public() }).await;
    let mut held = Vec::new();
    for number in 0..16 {
        held.push(unfinished(&server, &format!("2001:db8::{number:x}")).await);
    }
    crate::shared::eventually("the limit of one network", async || {
        ask_for(&server, "2001:db8::ffff").await.status == 429
    })
    .await;
    for other in ["2001:db8:1::1", "192.0.2.1"] {
        assert_eq!(ask_for(&server, other).await.status, 200, "{other}");
    }
    drop(held);
    server.stop().await;
}

#[tokio::test]
async fn an_address_asks_for_authorization_at_its_pace() {
    let mut rates = Rates::default();
    rates[Purpose::Authorize] = Rate { burst: 2, refill: Duration::from_secs(7) };
    let server = TestServer::open_in(TestOptions { rates: Some(rates), ..public() }).await;
    server.on_one_node(EACH_LIMITS);
    let ask = async || {
        let request = server.request(Method::GET, "/connect/authorize?client_id=none");
        let request = request.header("accept", "application/json");
        server.send(request.body(Full::default()).unwrap()).await
    };
    for _ in 0..2 {
        assert_eq!(ask().await.status, 400);
    }
    let refused = ask().await;
    refused.refused(429, "temporarily_unavailable");
    assert_eq!(refused.header("retry-after"), Some("7"));
    let posted = server.post("/connect/authorize", &[("client_id", "none")]).await;
    assert_eq!(posted.status, 429, "a form counts as a link does");
    server.clock.advance(Duration::from_secs(7));
    assert_eq!(ask().await.status, 400);
    server.stop().await;
}

#[tokio::test]
async fn userinfo_takes_a_work_permit_however_it_is_asked() {
    let limits = Limits { requests: 0, ..Limits::default() };
    let server = TestServer::open_in(TestOptions { limits, ..TestOptions::default() }).await;
    let post = || server.request(Method::POST, "/connect/userinfo");
    for request in [
        server.request(Method::GET, "/connect/userinfo"),
        post(),
        post().header("content-type", FORM),
    ] {
        let answer = server.send(request.body(Full::default()).unwrap()).await;
        answer.refused(503, "temporarily_unavailable");
    }
    server.stop().await;
}

/// Sends a head and no body, and returns the head of the answer.
async fn answer_before_body(server: &TestServer, lines: &str) -> String {
    let head = format!("{lines}\r\nHost: a\r\nContent-Length: 100\r\n\r\n");
    let answer = raw(server.address, head.as_bytes()).await.to_lowercase();
    answer.split_once("\r\n\r\n").map(|(head, _)| head.to_owned()).unwrap()
}

#[tokio::test]
async fn an_answer_that_comes_before_the_body_says_that_the_connection_closes() {
    let server = TestServer::open().await;
    server.on_one_node(BALANCER_ANSWERS);
    for (lines, status) in [
        ("POST /connect/register HTTP/1.1\r\nContent-Type: text/plain", 415),
        ("POST /connect/token HTTP/1.1\r\nContent-Type: text/plain", 400),
        ("POST /connect/token?a=b HTTP/1.1", 400),
        ("PUT /connect/token HTTP/1.1", 405),
        ("POST /nowhere HTTP/1.1", 404),
        ("POST /connect/userinfo HTTP/1.1", 401),
        (
            "POST /connect/register HTTP/1.1\r\nContent-Type: text/plain\r\nExpect: 100-continue",
            415,
        ),
    ] {
        let head = answer_before_body(&server, lines).await;
        assert!(head.starts_with(&format!("http/1.1 {status}")), "{lines}: {head}");
        assert!(head.contains("\r\nconnection: close"), "{lines}: {head}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_connection_whose_body_was_read_serves_the_next_request() {
    let server = TestServer::open().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    for (kind, length) in [(FORM, 5), ("application/json", 2), (FORM, 0)] {
        // Refused for what is in the body, or read by a handler that wants none.
        let body = "{}=12".get(..length).unwrap();
        let path = if kind == FORM { "/connect/token" } else { "/connect/register" };
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: {kind}\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = vec![0; 4096];
        let many = stream.read(&mut answer).await.unwrap();
        let answer = String::from_utf8_lossy(&answer[..many]).to_lowercase();
        assert!(answer.starts_with("http/1.1 40"), "{kind}: {answer}");
        assert!(!answer.contains("connection: close"), "{kind}: {answer}");
    }
    server.stop().await;
}

#[tokio::test]
async fn the_log_names_the_address_and_the_request_of_a_refusal() {
    let installation = Installation::new().await;
    installation.apply(ACME);
    let serving = installation.serve();
    let server = crate::outside::Outside { address: installation.address };
    let request = server
        .request(Method::POST, "/connect/token")
        .header("authorization", basic("billing", "a wrong secret"))
        .header("content-type", FORM);
    let fields = [("grant_type", "client_credentials")];
    let refused = server.send(request.body(form(&fields)).unwrap()).await;
    assert_eq!(refused.status, 401);
    let ids = [refused.header("x-request-id").unwrap().to_owned()];
    serving.signal("-TERM");
    let (_, log) = tokio::task::spawn_blocking(move || serving.end()).await.unwrap();
    for id in ids {
        let line = log.iter().find(|line| line.contains(&id)).expect("a line of its own");
        assert!(line.contains("refused") && line.contains("\"address\":\"127.0.0.1\""), "{line}");
        assert!(!line.contains("a wrong secret"), "{line}");
    }
}

#[tokio::test]
async fn an_https_issuer_that_nothing_serves_is_warned_of() {
    let installation = Installation::new().await;
    let config = |more: &str| {
        let text = format!(
            "issuer = \"https://id.example.com\"\nlisten = \"{}\"\n{more}\
             [store]\nurl = \"sqlite://porteiro.db\"\n[keys]\ndir = \"keys\"\n\
             [operator]\nlisten = \"0.0.0.0:{}\"\n",
            installation.address,
            installation.operator.port()
        );
        std::fs::write(installation.config(), text).unwrap();
    };
    for (more, settings) in [
        ("", ["operator.listen", "issuer"]),
        ("public_proxy = true\n", ["operator.listen", "trusted_proxies"]),
    ] {
        config(more);
        let serving = installation.serve();
        serving.signal("-TERM");
        let (code, log) = tokio::task::spawn_blocking(move || serving.end()).await.unwrap();
        assert_eq!(code, Some(0));
        let looked = String::from_utf8(installation.run(&["doctor"]).stdout).unwrap();
        for setting in settings {
            let warned = |line: &String| line.contains("WARN") && line.contains(setting);
            assert!(log.iter().any(warned), "{setting}: {log:?}");
            let found = |line: &str| line.starts_with("look") && line.contains(setting);
            assert!(looked.lines().any(found), "{setting}: {looked}");
        }
    }
}
