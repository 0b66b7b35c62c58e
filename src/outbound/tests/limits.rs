//! How much and how long.

use super::{HASTY, client, loopback, peer::Peer, plain};
use crate::{
    clock::Stopwatch,
    outbound::{Addresses, OutboundClient, OutboundError, Policy, Resolver},
};
use std::{future::pending, sync::Arc, time::Duration};
use tokio::{io::AsyncWriteExt, net::TcpStream, time::sleep};

const TEN: &str = "0123456789";

fn ten_bytes() -> Policy {
    Policy { size_limit: 10, ..loopback() }
}

fn hasty() -> Policy {
    Policy { time_limit: HASTY, ..loopback() }
}

async fn outcome_of(answer: String) -> Result<Vec<u8>, OutboundError> {
    let peer = Peer::answering(answer).await;
    client(ten_bytes()).send(plain(&peer.url("/"))).await.map(|answer| answer.body)
}

/// Writes `piece` for ever, with a pause after each, until the client has enough.
async fn drip(mut stream: TcpStream, piece: &[u8], pause: Duration) {
    while stream.write_all(piece).await.is_ok() {
        sleep(pause).await;
    }
}

async fn runs_out_of_time(peer: &Peer, scheme: &str) {
    let stopwatch = Stopwatch::start();
    let url = format!("{scheme}://{}/", peer.address);
    let outcome = client(hasty()).send(plain(&url)).await;
    assert!(matches!(outcome, Err(OutboundError::TimedOut)));
    assert!(stopwatch.elapsed() >= HASTY);
    assert!(stopwatch.elapsed() < super::PATIENT);
}

#[tokio::test]
async fn a_body_of_exactly_the_limit_passes_in_every_framing() {
    for answer in [
        format!("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{TEN}"),
        format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\na\r\n{TEN}\r\n0\r\n\r\n"),
        format!("HTTP/1.1 200 OK\r\n\r\n{TEN}"),
    ] {
        assert_eq!(outcome_of(answer).await.unwrap(), TEN.as_bytes());
    }
}

#[tokio::test]
async fn a_body_one_byte_longer_is_an_error_in_every_framing() {
    for answer in [
        format!("HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n{TEN}!"),
        format!(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\na\r\n{TEN}\r\n1\r\n!\r\n0\r\n\r\n"
        ),
        format!("HTTP/1.1 200 OK\r\n\r\n{TEN}!"),
        "HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551000\r\n\r\n".to_owned(),
    ] {
        assert!(matches!(outcome_of(answer).await, Err(OutboundError::TooLong)));
    }
}

#[tokio::test]
async fn a_body_announced_too_long_is_refused_before_it_comes() {
    let peer = Peer::behaving(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n").await.unwrap();
        pending::<()>().await;
    })
    .await;
    let outcome = client(ten_bytes()).send(plain(&peer.url("/"))).await;
    assert!(matches!(outcome, Err(OutboundError::TooLong)));
}

#[tokio::test]
async fn an_endless_body_ends_at_the_limit() {
    let peer = Peer::behaving(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        drip(stream, &[b'x'; 4096], Duration::ZERO).await;
    })
    .await;
    let outcome = client(loopback()).send(plain(&peer.url("/"))).await;
    assert!(matches!(outcome, Err(OutboundError::TooLong)));
}

#[tokio::test]
async fn endless_headers_are_an_error() {
    for piece in ["x-more: and more\r\n".repeat(64), "x".repeat(1024)] {
        let peer = Peer::behaving(move |mut stream| {
            let piece = piece.clone();
            async move {
                stream.write_all(b"HTTP/1.1 200 OK\r\n").await.unwrap();
                drip(stream, piece.as_bytes(), Duration::ZERO).await;
            }
        })
        .await;
        let outcome = client(loopback()).send(plain(&peer.url("/"))).await;
        assert!(matches!(outcome, Err(OutboundError::Malformed(_))));
    }
}

#[tokio::test]
async fn more_headers_than_anyone_needs_are_an_error_even_when_short() {
    let answer = |count| {
        let headers = "a: b\r\n".repeat(count);
        format!("HTTP/1.1 200 OK\r\n{headers}content-length: 0\r\n\r\n")
    };
    assert!(outcome_of(answer(99)).await.is_ok());
    assert!(matches!(outcome_of(answer(100)).await, Err(OutboundError::Malformed(_))));
}

#[tokio::test]
async fn a_body_that_drips_runs_into_the_time_limit() {
    let peer = Peer::behaving(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        drip(stream, b"x", Duration::from_millis(5)).await;
    })
    .await;
    runs_out_of_time(&peer, "http").await;
}

#[tokio::test]
async fn endless_interim_answers_run_into_the_time_limit() {
    let peer = Peer::behaving(|stream| async move {
        drip(stream, b"HTTP/1.1 100 Continue\r\n\r\n", Duration::from_millis(5)).await;
    })
    .await;
    runs_out_of_time(&peer, "http").await;
}

#[tokio::test]
async fn a_peer_that_never_answers_runs_into_the_time_limit() {
    let peer = Peer::behaving(|stream| async move {
        let _open = stream;
        pending::<()>().await;
    })
    .await;
    runs_out_of_time(&peer, "http").await;
}

#[tokio::test]
async fn a_tls_handshake_that_is_never_answered_runs_into_the_time_limit() {
    // What it hears never looks like the end of a request, so it listens on in silence.
    let peer = Peer::behaving(|_| async {}).await;
    runs_out_of_time(&peer, "https").await;
}

#[tokio::test]
async fn a_resolver_that_never_answers_runs_into_the_time_limit() {
    struct Silence;
    impl Resolver for Silence {
        fn addresses_of<'a>(&'a self, _host: &'a str) -> Addresses<'a> {
            Box::pin(pending())
        }
    }
    let client = OutboundClient::new(hasty(), Arc::new(Silence)).unwrap();
    let outcome = client.send(plain("http://silent.example/")).await;
    assert!(matches!(outcome, Err(OutboundError::TimedOut)));
}
