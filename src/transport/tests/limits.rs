//! Connections that take too long, and connections that are too many.

use super::{client::*, identity::Authority, *};
use crate::clock::Stopwatch;
use bytes::Bytes;
use http_body_util::Empty;
use hyper::Request;
use tokio::{io::AsyncWriteExt, net::TcpStream};

fn hasty() -> ConnectionLimits {
    ConnectionLimits {
        handshake: HASTY,
        header_read: HASTY,
        idle: PATIENT * 10,
        linger: HASTY,
        ..ConnectionLimits::default()
    }
}

#[tokio::test]
async fn a_head_that_does_not_come_is_not_waited_for() {
    let started = start(hasty()).await;
    for beginning in ["", "G", "PRI", "PRI * HTTP/2.0\r\n", "GET / HTTP/1.1\r\nhost: x\r\nx:"] {
        let stopwatch = Stopwatch::start();
        let mut client = connect(started.address).await;
        client.send(beginning).await.unwrap();
        assert_eq!(client.farewell().await, "", "{beginning:?}");
        assert!(stopwatch.elapsed() >= HASTY, "{beginning:?}");
        assert!(stopwatch.elapsed() < PATIENT, "{beginning:?}");
    }
}

#[tokio::test]
async fn a_head_that_drips_is_not_waited_for_either() {
    let started = start(hasty()).await;
    let client = connect(started.address).await;
    let (reading, mut writing) = client.stream.into_split();
    let mut reader = Client::new(tokio::io::join(reading, tokio::io::sink()));
    let drip = async {
        while writing.write_all(b"G").await.is_ok() {
            sleep(HASTY / 20).await;
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        said = reader.farewell() => assert_eq!(said, ""),
        () = drip => {}
    }
}

#[tokio::test]
async fn the_head_of_a_later_request_has_the_same_time() {
    let started = start(hasty()).await;
    let mut client = connect(started.address).await;
    assert_eq!(client.get("/").await.unwrap().body, "hello");
    let stopwatch = Stopwatch::start();
    client.send("GET / HTT").await.unwrap();
    assert_eq!(client.farewell().await, "");
    assert!(stopwatch.elapsed() >= HASTY);
}

#[tokio::test]
async fn between_requests_there_is_more_time_but_not_for_ever() {
    let limits = ConnectionLimits { idle: HASTY * 3, ..hasty() };
    let started = start(limits).await;
    let mut client = connect(started.address).await;
    for _ in 0..2 {
        assert_eq!(client.get("/").await.unwrap().body, "hello");
        sleep(HASTY * 2).await;
    }
    let stopwatch = Stopwatch::start();
    assert_eq!(client.farewell().await, "");
    assert!(stopwatch.elapsed() < PATIENT);
}

#[tokio::test]
async fn a_request_under_way_is_not_timed() {
    let started = start(ConnectionLimits { idle: HASTY, ..hasty() }).await;
    let mut client = connect(started.address).await;
    client.request("/gate").await.unwrap();
    until(|| started.server.report().requests_under_way == 1).await;
    sleep(HASTY * 3).await;
    started.gate.add_permits(1);
    assert_eq!(soon(client.answer()).await.unwrap().body, "through");
}

#[tokio::test]
async fn an_http2_client_without_requests_is_asked_to_leave() {
    let started = start(ConnectionLimits { idle: HASTY, ..hasty() }).await;
    let stream = TcpStream::connect(started.address).await.unwrap();
    let mut client = Client2::over(stream).await.unwrap();
    assert_eq!(client.get("/").await.body(), "hello");
    client.farewell().await;
}

#[tokio::test]
async fn an_http2_client_that_says_no_more_is_let_go_in_the_middle_of_a_request() {
    let limits = ConnectionLimits { ping_interval: HASTY, ping_timeout: HASTY, ..hasty() };
    let started = start(limits).await;
    let mut client = connect(started.address).await;
    // The preface, empty settings, and the headers of GET /never.
    client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let block = b"\x82\x86\x04\x06/never\x41\x01x";
    let length = u8::try_from(block.len()).unwrap();
    let headers = [&[0, 0, length, 1, 5, 0, 0, 0, 1], &block[..]].concat();
    client.stream.write_all(&[&settings[..], &headers].concat()).await.unwrap();
    until(|| started.server.report().requests_under_way == 1).await;
    until(|| started.server.report().open == 0).await;
    assert_eq!(started.server.report().requests_under_way, 0);
}

#[tokio::test]
async fn an_answer_that_nobody_takes_is_not_kept_for_ever() {
    let limits = ConnectionLimits { answer: HASTY * 2, ..hasty() };
    let started = start(limits).await;
    let mut client = connect(started.address).await;
    client.request("/never").await.unwrap();
    until(|| started.server.report().requests_under_way == 1).await;
    assert_eq!(client.farewell().await, "");
    // Settings that leave no room for a single byte of an answer, and GET /.
    let mut client = connect(started.address).await;
    client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    let settings = [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0];
    let block = b"\x82\x86\x84\x41\x01x";
    let length = u8::try_from(block.len()).unwrap();
    let headers = [&[0, 0, length, 1, 5, 0, 0, 0, 1], &block[..]].concat();
    client.stream.write_all(&[&settings[..], &headers].concat()).await.unwrap();
    until(|| started.server.report().requests_under_way == 1).await;
    until(|| started.server.report().open == 0).await;
}

#[tokio::test]
async fn http2_headers_that_are_too_long_are_refused_and_others_served() {
    let started = start(ConnectionLimits::default()).await;
    let stream = TcpStream::connect(started.address).await.unwrap();
    let mut client = Client2::over(stream).await.unwrap();
    for (length, status) in [(1_000, 200), (40_000, 431), (1_000, 200)] {
        let request = Request::get("http://localhost/").header("x-long", "x".repeat(length));
        let sent = client.sender().send_request(request.body(Empty::<Bytes>::new()).unwrap());
        assert_eq!(soon(sent).await.unwrap().status().as_u16(), status);
    }
    assert_eq!(client.get("/").await.body(), "hello");
}

#[tokio::test]
async fn a_handshake_that_does_not_end_is_given_up_and_counted() {
    let authority = Authority::new();
    let started = start_with(hasty(), Some(authority.identity())).await;
    for (failed, beginning) in [(1, ""), (2, "\x16\x03\x01")] {
        let mut client = connect(started.address).await;
        client.send(beginning).await.unwrap();
        assert_eq!(client.farewell().await, "");
        until(|| started.server.report().handshakes_failed == failed).await;
    }
    let mut client = connect(started.address).await;
    client.request("/").await.unwrap();
    until(|| started.server.report().handshakes_failed == 3).await;
}

#[tokio::test]
async fn a_head_that_does_not_follow_the_handshake_is_not_waited_for() {
    let authority = Authority::new();
    let started = start_with(hasty(), Some(authority.identity())).await;
    for protocol in ["h2", "http/1.1"] {
        let stream = authority.connect(started.address, &[protocol]).await.unwrap();
        let _silent = Client::new(stream);
        until(|| started.server.report().open == 1).await;
        until(|| started.server.report().open == 0).await;
    }
    assert_eq!(started.server.report().handshakes_failed, 0);
}

#[tokio::test]
async fn where_every_connection_is_in_use_the_next_one_waits() {
    let started = start(ConnectionLimits { max_connections: 2, ..hasty() }).await;
    let mut inside = Vec::new();
    for _ in 0..2 {
        let mut client = connect(started.address).await;
        client.request("/gate").await.unwrap();
        inside.push(client);
    }
    until(|| started.server.report().requests_under_way == 2).await;
    let mut waiting = connect(started.address).await;
    waiting.request("/").await.unwrap();
    let answer = timeout(HASTY, waiting.answer()).await;
    assert!(answer.is_err(), "it is not served");
    assert_eq!(started.server.report().accepted, 2);
    started.gate.add_permits(1);
    assert_eq!(soon(waiting.answer()).await.unwrap().body, "hello");
}

#[tokio::test]
async fn several_listeners_share_the_permits_and_none_goes_without() {
    let listeners = [bind().await, bind().await, bind().await];
    let addresses = listeners.each_ref().map(|listener| listener.local_addr().unwrap());
    let _server = Server::start(ServerOptions {
        listeners: listeners.map(plain).into(),
        limits: ConnectionLimits { max_connections: 1, ..hasty() },
        addresses: here(),
        dice: Arc::new(SystemDice),
    });
    for address in addresses {
        assert_eq!(connect(address).await.get("/").await.unwrap().body, "hello");
    }
}

async fn bind() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.unwrap()
}
