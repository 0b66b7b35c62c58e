//! What is sent, and what is made of the answer.

use super::{client, loopback, peer::Peer, plain};
use crate::outbound::{OutboundError, Request};
use hyper::header::{HeaderName, HeaderValue};
use std::sync::Arc;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::JoinSet,
};
use url::Url;

async fn outcome_of(answer: impl Into<Vec<u8>>) -> Result<Vec<u8>, OutboundError> {
    let peer = Peer::answering(answer).await;
    client(loopback()).send(plain(&peer.url("/"))).await.map(|answer| answer.body)
}

#[tokio::test]
async fn a_get_is_sent_in_origin_form_with_our_own_headers() {
    let peer = Peer::answering("HTTP/1.1 204 No Content\r\nx-seen: yes\r\n\r\n").await;
    let answer = client(loopback()).send(plain(&peer.url("/keys?a=b#c"))).await.unwrap();
    assert_eq!(answer.status, 204);
    assert_eq!(answer.headers["x-seen"], "yes");
    assert!(answer.body.is_empty());
    let heard = &peer.heard()[0];
    assert!(heard.starts_with("GET /keys?a=b HTTP/1.1\r\n"), "{heard}");
    for line in [
        format!("host: {}", peer.address),
        format!("user-agent: porteiro/{}", env!("CARGO_PKG_VERSION")),
        "accept-encoding: identity".to_owned(),
        "connection: close".to_owned(),
    ] {
        assert!(heard.contains(&format!("{line}\r\n")), "{line} in {heard}");
    }
}

#[tokio::test]
async fn a_post_carries_its_body_and_headers_but_cannot_take_over_the_framing() {
    let peer = Peer::answering("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
    let header = |name| HeaderName::from_static(name);
    let request = Request::post(Url::parse(&peer.url("/hook")).unwrap(), "{\"a\":1}")
        .allow_plain_http()
        .header(header("content-type"), HeaderValue::from_static("application/json"))
        .header(header("transfer-encoding"), HeaderValue::from_static("chunked"))
        .header(header("content-length"), HeaderValue::from_static("3"))
        .header(header("host"), HeaderValue::from_static("elsewhere.example"));
    assert_eq!(client(loopback()).send(request).await.unwrap().body, b"ok");
    let heard = &peer.heard()[0];
    assert!(heard.starts_with("POST /hook HTTP/1.1\r\n"));
    assert!(heard.contains("content-type: application/json\r\n"));
    assert!(heard.contains("content-length: 7\r\n"));
    assert!(!heard.contains("chunked") && !heard.contains("elsewhere"));
    assert!(heard.ends_with("\r\n\r\n{\"a\":1}"));
}

#[tokio::test]
async fn an_empty_post_says_that_it_is_empty() {
    let peer = Peer::answering("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let request = Request::post(Url::parse(&peer.url("/")).unwrap(), "").allow_plain_http();
    client(loopback()).send(request).await.unwrap();
    assert!(peer.heard()[0].contains("content-length: 0\r\n"));
}

#[tokio::test]
async fn many_tasks_may_share_one_client() {
    let peer = Peer::answering("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
    let client = Arc::new(client(loopback()));
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let (client, url) = (client.clone(), peer.url("/"));
        tasks.spawn(async move { client.send(plain(&url)).await.unwrap().body });
    }
    assert!(tasks.join_all().await.iter().all(|body| body == b"ok"));
}

#[tokio::test]
async fn a_redirect_is_returned_and_not_followed() {
    let inside = Peer::answering("HTTP/1.1 200 OK\r\n\r\nsecret").await;
    let location = inside.url("/");
    let peer = Peer::answering(format!(
        "HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"
    ))
    .await;
    let answer = client(loopback()).send(plain(&peer.url("/"))).await.unwrap();
    assert_eq!(answer.status, 302);
    assert_eq!(answer.headers["location"], location);
    assert!(inside.heard().is_empty());
}

#[tokio::test]
async fn bodies_framed_in_each_way_are_read_whole() {
    let chunked =
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    assert_eq!(outcome_of(chunked).await.unwrap(), b"abcde");
    let counted = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabcde";
    assert_eq!(outcome_of(counted).await.unwrap(), b"abcde");
    let until_close = "HTTP/1.0 200 OK\r\n\r\nabcde";
    assert_eq!(outcome_of(until_close).await.unwrap(), b"abcde");
    let informed = format!("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\n\r\n{counted}");
    assert_eq!(outcome_of(informed).await.unwrap(), b"abcde");
}

#[tokio::test]
async fn a_body_cut_off_is_an_error_and_not_a_short_success() {
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabcde",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nabcde\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nabc",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n",
        "HTTP/1.1 200 OK\r\ncontent-le",
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n",
        "",
    ] {
        let error = outcome_of(answer).await.expect_err(answer);
        assert!(matches!(error, OutboundError::Broken(_)), "{answer:?}: {error:?}");
    }
}

#[tokio::test]
async fn a_connection_reset_in_the_body_is_an_error() {
    let peer = Peer::behaving(|mut stream| async move {
        let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nabcde\r\n";
        stream.write_all(head).await.unwrap();
        stream.set_zero_linger().unwrap();
    })
    .await;
    let outcome = client(loopback()).send(plain(&peer.url("/"))).await;
    assert!(matches!(outcome, Err(OutboundError::Broken(_))));
}

#[tokio::test]
async fn an_answer_cut_off_while_we_still_speak_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let request = Request::post(Url::parse(&url).unwrap(), vec![b'x'; 16 << 20]);
    let peer = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nabcde\r\n";
        stream.write_all(head).await.unwrap();
        // Long enough for the client to have taken what was written.
        stream.read_exact(&mut vec![0; 1 << 20]).await.unwrap();
        stream.set_zero_linger().unwrap();
    };
    let client = client(loopback());
    let (outcome, ()) = tokio::join!(client.send(request.allow_plain_http()), peer);
    assert!(matches!(outcome, Err(OutboundError::Broken(_))));
}

#[tokio::test]
async fn what_is_not_http_is_an_error() {
    for answer in [
        b"garbage\r\n\r\n".as_slice(),
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        b"HTTP/2.0 200 OK\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 99999 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: a\0b\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx : spaced\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: a\r\n folded\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!",
        b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5, 6\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\nhello\r\n",
    ] {
        let text = String::from_utf8_lossy(answer);
        let error = outcome_of(answer).await.expect_err(&text);
        let clean = matches!(error, OutboundError::Malformed(_) | OutboundError::Broken(_));
        assert!(clean, "{text}: {error:?}");
    }
}

#[tokio::test]
async fn a_second_answer_behind_the_first_is_not_read() {
    let split = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\n\r\nevil";
    assert_eq!(outcome_of(split).await.unwrap(), b"hello");
}

#[tokio::test]
async fn a_change_of_protocol_nobody_asked_for_yields_no_body() {
    let switch =
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nevil";
    if let Ok(body) = outcome_of(switch).await {
        assert!(body.is_empty());
    }
}

#[tokio::test]
async fn an_error_says_nothing_of_the_query_or_the_body() {
    let peer = Peer::answering("nonsense").await;
    let url = Url::parse(&peer.url("/path?code=hunter2")).unwrap();
    let request = Request::post(url, "password=hunter2").allow_plain_http();
    let error = client(loopback()).send(request).await.err().unwrap();
    assert!(!format!("{error} {error:?}").contains("hunter2"));
}
