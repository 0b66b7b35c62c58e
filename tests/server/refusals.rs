//! Bad input: a clear standard error that names what is wrong, never a 500, never a hang.

use crate::{
    http::raw,
    nodes::BALANCER_ANSWERS,
    support::{SECRET, TestOptions, TestServer, basic, form, sealed},
};
use http_body_util::Full;
use hyper::Method;
use porteiro::http::Limits;
use serde_json::json;
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

#[tokio::test]
async fn whoever_cannot_prove_itself_is_told_the_same_whatever_was_wrong() {
    let server = TestServer::open().await;
    let mut told = Vec::new();
    let grant = ("grant_type", "client_credentials");
    for (id, secret) in
        [("billing", "wrong"), ("unheard-of", SECRET), ("app", SECRET), ("billing", "")]
    {
        let request = server
            .request(Method::POST, "/connect/token")
            .header("authorization", basic(id, secret))
            .header("content-type", "application/x-www-form-urlencoded");
        let answer = server.send(request.body(form(&[grant])).unwrap()).await;
        told.push(answer.refused(401, "invalid_client"));
        assert!(answer.header("www-authenticate").unwrap().starts_with("Basic realm="));
    }
    let posted = [grant, ("client_id", "billing"), ("client_secret", "wrong")];
    told.push(server.post("/connect/token", &posted).await.refused(401, "invalid_client"));
    told.push(
        server
            .post("/connect/token", &[grant, ("client_id", "billing")])
            .await
            .refused(401, "invalid_client"),
    );
    told.dedup();
    assert_eq!(told.len(), 1, "{told:?}");
    server.post("/connect/token", &[grant]).await.refused(401, "invalid_client");
    server.stop().await;
}

#[tokio::test]
async fn every_malformed_request_is_refused_by_name() {
    let server = TestServer::open().await;
    let send = async |kind: &str, body: &[u8]| {
        let request = server
            .request(Method::POST, "/connect/token")
            .header("authorization", basic("billing", SECRET))
            .header("content-type", kind);
        server.send(request.body(Full::new(body.to_vec().into())).unwrap()).await
    };
    let usual = "application/x-www-form-urlencoded";
    for (body, named) in [
        (&b"grant_type=client_credentials&scope=%zz"[..], "percent-encoding"),
        (b"grant_type=client_credentials&scope=%ff", "UTF-8"),
        (b"grant_type=client_credentials&scope=\xff\xfe", "UTF-8"),
        (b"grant_type=client_credentials&scope=%00", "NUL"),
        (b"grant_type=client_credentials&grant_type=client_credentials", "grant_type is repeated"),
        (b"grant_type=client_credentials&scope=a:b&scope=a:c", "scope is repeated"),
        (b"grant_type=client_credentials&x=1&x=2", "repeated"),
        (b"scope=invoices:read", "grant_type is missing"),
        (b"grant_type=", "grant_type is missing"),
        (b"", "grant_type is missing"),
        (b"grant_type=client_credentials&client_id=other", "Authorization header"),
        (b"grant_type=client_credentials&client_secret=x", "more than one way"),
    ] {
        let answer = send(usual, body).await;
        let description = answer.refused(400, "invalid_request");
        assert!(description.contains(named), "{description}: {body:?}");
        sealed(&answer.headers);
    }
    for kind in ["application/json", "text/plain", "", "multipart/form-data; boundary=x"] {
        let answer = send(kind, b"grant_type=client_credentials").await;
        assert!(answer.refused(400, "invalid_request").contains("x-www-form-urlencoded"));
    }
    let utf16 = "application/x-www-form-urlencoded; charset=utf-16";
    send(utf16, b"grant_type=client_credentials").await.refused(400, "invalid_request");
    let zipped = server
        .request(Method::POST, "/connect/token")
        .header("authorization", basic("billing", SECRET))
        .header("content-encoding", "gzip")
        .header("content-type", usual);
    let zipped = zipped.body(form(&[("grant_type", "client_credentials")])).unwrap();
    server.send(zipped).await.refused(415, "invalid_request");
    let charset = "Application/X-WWW-Form-Urlencoded; charset=UTF-8";
    assert_eq!(send(charset, b"grant_type=client_credentials").await.status, 200);
    for grant in
        ["password", "implicit", "urn:ietf:params:oauth:grant-type:saml2-bearer", "nonsense"]
    {
        let answer = send(usual, format!("grant_type={grant}").as_bytes()).await;
        answer.refused(400, "unsupported_grant_type");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_client_uses_only_the_grants_it_was_registered_for() {
    let server = TestServer::open().await;
    server.ask("invoices-api", &[]).await.refused(400, "unauthorized_client");
    server.stop().await;
}

#[tokio::test]
async fn parameters_in_the_address_are_refused() {
    let server = TestServer::open().await;
    let request = server
        .request(Method::POST, "/connect/token?client_id=billing&client_secret=x")
        .header("content-type", "application/x-www-form-urlencoded");
    let answer = server.send(request.body(form(&[("grant_type", "client_credentials")])).unwrap());
    assert!(answer.await.refused(400, "invalid_request").contains("body"));
    server.stop().await;
}

#[tokio::test]
async fn an_oversized_body_is_413_and_an_oversized_head_431() {
    let server = TestServer::open().await;
    server.on_one_node(BALANCER_ANSWERS);
    let long = "x".repeat(70_000);
    let answer = server.ask("billing", &[("scope", &long)]).await;
    answer.refused(413, "invalid_request");
    sealed(&answer.headers);
    let promised = "POST /connect/token HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999999\r\n\
                    Content-Type: application/x-www-form-urlencoded\r\n\r\n";
    let answer = raw(server.address, promised.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "said before it comes: {answer}");
    let head =
        format!("GET /connect/jwks HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(40_000));
    let answer = raw(server.address, head.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    assert!(answer.to_lowercase().contains("x-frame-options: deny"), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn other_methods_are_405_in_the_voice_of_the_endpoint() {
    let server = TestServer::open().await;
    for (method, path, allowed) in [
        (Method::GET, "/connect/token", "POST"),
        (Method::PUT, "/connect/revoke", "POST"),
        (Method::DELETE, "/connect/introspect", "POST"),
        (Method::POST, "/connect/jwks", "GET,HEAD"),
    ] {
        let request = server.request(method, path).body(Full::default()).unwrap();
        let answer = server.send(request).await;
        answer.refused(405, "invalid_request");
        assert_eq!(answer.header("allow"), Some(allowed), "{path}");
        sealed(&answer.headers);
    }
    let answer = server
        .send(
            server
                .request(Method::POST, "/.well-known/openid-configuration")
                .body(Full::default())
                .unwrap(),
        )
        .await;
    assert_eq!(
        (answer.status.as_u16(), answer.json()["code"].clone()),
        (405, "method_not_allowed".into())
    );
    server.stop().await;
}

#[tokio::test]
async fn what_is_not_there_is_404_and_says_nothing_of_what_was_asked() {
    let server = TestServer::open().await;
    for path in ["/nowhere", "/connect/nothing", "/%3Cscript%3E", "/metrics", "/readyz", "/livez"] {
        let answer = server.get(path).await;
        assert_eq!(answer.status, 404, "{path}");
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
        assert_eq!(answer.json()["code"], "not_found");
        assert!(!answer.text().contains("nowhere") && !answer.text().contains("script"));
        sealed(&answer.headers);
    }
    server.stop().await;
}

#[tokio::test]
async fn an_address_that_is_no_text_names_nothing() {
    let server = TestServer::open().await;
    for id in ["%ff", "%c3", "a%80b", "%00", "%zz", "%F0%28%8C%28"] {
        let path = format!("/flows/{id}");
        server.get(&path).await.problem(404, "flow_not_found");
        for step in ["identifier", "password", "totp", "organization", "consent"] {
            let answer = server.post_json(&format!("{path}/{step}"), &json!({}), &[]).await;
            answer.problem(404, "flow_not_found");
            sealed(&answer.headers);
        }
        let request = server
            .request(Method::GET, &format!("/connect/register/{id}"))
            .header("authorization", "Bearer prt_x");
        let answer = server.send(request.body(Full::default()).unwrap()).await;
        answer.refused(401, "invalid_token");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_body_that_never_ends_is_given_up() {
    let limits = Limits { body: Duration::from_millis(300), ..Limits::default() };
    let server = TestServer::open_in(TestOptions { limits, ..TestOptions::default() }).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = "POST /connect/token HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\
                Content-Type: application/x-www-form-urlencoded\r\n\r\ngrant";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = [0; 4096];
    let many = stream.read(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer[..many]).into_owned();
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.to_lowercase().contains("x-content-type-options: nosniff"));
    server.stop().await;
}

#[tokio::test]
async fn whoever_finds_no_room_is_told_when_to_come_back() {
    let limits = Limits { request_permits: 1, ..Limits::default() };
    let server = TestServer::open_in(TestOptions { limits, ..TestOptions::default() }).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = "POST /connect/token HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\
                Content-Type: application/x-www-form-urlencoded\r\n\r\ngrant";
    stream.write_all(head.as_bytes()).await.unwrap();
    crate::shared::eventually("a full house", async || {
        let answer = server.ask("billing", &[]).await;
        if answer.status == 503 {
            assert_eq!(answer.header("retry-after"), Some("1"));
            assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
            answer.refused(503, "temporarily_unavailable");
            sealed(&answer.headers);
        }
        answer.status == 503
    })
    .await;
    assert_eq!(server.get("/connect/jwks").await.status, 200, "what has no body needs no room");
    drop(stream);
    crate::shared::eventually("room again", async || {
        server.ask("billing", &[]).await.status == 200
    })
    .await;
    server.stop().await;
}
