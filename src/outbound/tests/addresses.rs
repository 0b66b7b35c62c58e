//! Whom the client agrees to call.

use super::{HASTY, PATIENT, Script, client, loopback, peer::Peer, plain};
use crate::outbound::{DnsResolver, OutboundClient, OutboundError, Policy};
use std::{sync::Arc, time::Duration};
use tokio::{io::AsyncWriteExt, net::TcpListener};

const HELLO: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";

fn guarded(resolver: Arc<Script>, time_limit: Duration) -> OutboundClient {
    OutboundClient::new(Policy { time_limit, ..Policy::default() }, resolver).unwrap()
}

#[tokio::test]
async fn a_name_that_changes_its_answer_is_asked_once_and_never_reaches_loopback() {
    let peer = Peer::answering(HELLO).await;
    // Global unicast that was never assigned: allowed, and no host has it.
    let resolver = Script::of(&[&["2000::1"], &["127.0.0.1"]]);
    let url = format!("http://rebind.example:{}/", peer.address.port());

    let outcome = guarded(resolver.clone(), HASTY).send(plain(&url)).await;
    let error = outcome.err().unwrap();
    assert!(matches!(error, OutboundError::Unreachable(_) | OutboundError::TimedOut), "{error}");
    assert_eq!(resolver.questions(), 1);
    assert!(peer.heard().is_empty());
}

#[tokio::test]
async fn the_connection_goes_to_the_address_that_was_judged() {
    let judged = Peer::answering(HELLO).await;
    let port = judged.address.port();
    let listener = TcpListener::bind(("127.0.0.2", port)).await.unwrap();
    let swapped = Peer::listening(listener, |_| async {});
    let resolver = Script::of(&[&["127.0.0.1"], &["127.0.0.2"]]);
    let client = OutboundClient::new(loopback(), resolver.clone()).unwrap();

    let answer = client.send(plain(&format!("http://rebind.example:{port}/"))).await.unwrap();
    assert_eq!(answer.body, b"hello");
    assert_eq!(resolver.questions(), 1);
    assert!(swapped.heard().is_empty());
}

#[tokio::test]
async fn a_name_with_one_forbidden_address_is_refused_as_a_whole() {
    for addresses in [
        &["2000::1", "127.0.0.1"] as &[&str],
        &["127.0.0.1", "2000::1"],
        &["2000::1", "2000::2", "::ffff:10.0.0.1"],
        &["169.254.169.254"],
    ] {
        let client = guarded(Script::of(&[addresses]), PATIENT);
        let outcome = client.send(plain("http://mixed.example/")).await;
        assert!(matches!(outcome, Err(OutboundError::Forbidden)), "{addresses:?}");
    }
}

#[tokio::test]
async fn loopback_is_refused_however_it_is_spelled() {
    let peer = Peer::answering(HELLO).await;
    let port = peer.address.port();
    let resolver = Script::of(&[&["2000::1"]]);
    let client = guarded(resolver.clone(), PATIENT);
    for host in [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "0177.1",
        "127.0.0.1.",
        "127.000.000.001",
        "%31%32%37.0.0.1",
        "①②⑦.0.0.1",
        "127。0。0。1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[0:0:0:0:0:0:0:1]",
        "[64:ff9b::127.0.0.1]",
        "[2002:7f00:1::]",
        "0",
        "0.0.0.0",
        "[::]",
    ] {
        let outcome = client.send(plain(&format!("http://{host}:{port}/"))).await;
        assert!(matches!(outcome, Err(OutboundError::Forbidden)), "{host}");
    }
    assert_eq!(resolver.questions(), 0);
    assert!(peer.heard().is_empty());
}

#[tokio::test]
async fn the_name_localhost_is_resolved_and_refused() {
    let policy = Policy { time_limit: PATIENT, ..Policy::default() };
    let client = OutboundClient::new(policy, Arc::new(DnsResolver::of_system())).unwrap();
    let outcome = client.send(plain("http://localhost/")).await;
    assert!(matches!(outcome, Err(OutboundError::Forbidden)));
}

#[tokio::test]
async fn private_networks_can_be_allowed_but_metadata_services_stay_closed() {
    let peer = Peer::answering(HELLO).await;
    let client = client(loopback());
    assert_eq!(client.send(plain(&peer.url("/"))).await.unwrap().body, b"hello");
    for host in ["169.254.169.254", "[fe80::1]", "0.0.0.0", "[::ffff:169.254.169.254]"] {
        let outcome = client.send(plain(&format!("http://{host}/"))).await;
        assert!(matches!(outcome, Err(OutboundError::Forbidden)), "{host}");
    }
}

#[tokio::test]
async fn the_next_address_is_tried_when_one_does_not_answer() {
    let peer = Peer::behaving(|mut stream| async move {
        stream.write_all(HELLO.as_bytes()).await.unwrap();
    })
    .await;
    // No server listens on this port of the other two.
    let resolver = Script::of(&[&["127.0.0.3", "::1", "127.0.0.1"]]);
    let client = OutboundClient::new(loopback(), resolver).unwrap();
    let url = format!("http://three.example:{}/", peer.address.port());
    assert_eq!(client.send(plain(&url)).await.unwrap().body, b"hello");
}

#[tokio::test]
async fn a_name_without_addresses_and_a_closed_port_are_told_apart() {
    let client_of = |addresses| OutboundClient::new(loopback(), Script::of(&[addresses])).unwrap();
    let nowhere = client_of(&[]).send(plain("http://void.example/")).await;
    assert!(matches!(nowhere, Err(OutboundError::Unresolved(_))));

    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let url = format!("http://shut.example:{port}/");
    let closed = client_of(&["127.0.0.1"]).send(plain(&url)).await;
    assert!(matches!(closed, Err(OutboundError::Unreachable(_))));
}
