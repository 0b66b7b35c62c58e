//! One address must not take every connection, and no client must fill the memory by not reading.

use super::{client::*, *};
use axum::http::HeaderValue;
use hyper::header::LOCATION;
use tokio::{
    io::AsyncWriteExt,
    net::{TcpSocket, TcpStream},
};

/// Rules under which each address of loopback is a client like any other.
fn everywhere() -> Arc<AddressRules> {
    Arc::new(AddressRules::new("https://id.example.com", Vec::new()))
}

async fn start_limited(limits: ConnectionLimits, router: Router) -> (Server, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let options = ServerOptions {
        listeners: vec![Listener { socket: listener, tls: None, router }],
        limits,
        addresses: everywhere(),
        dice: Arc::new(SystemDice),
    };
    (Server::start(options), address)
}

/// Connects from an address of loopback.
async fn connect_from(host: u8, address: SocketAddr) -> Client<TcpStream> {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, host], 0))).unwrap();
    Client::new(socket.connect(address).await.unwrap())
}

fn few(max_connections: usize, max_per_address: usize) -> ConnectionLimits {
    ConnectionLimits { max_connections, max_per_address, linger: HASTY, ..Default::default() }
}

#[tokio::test]
async fn one_address_does_not_take_every_connection() {
    let gate = Arc::new(Semaphore::new(0));
    let (server, address) = start_limited(few(80, 4), router(gate.clone())).await;
    let mut attacker = Vec::new();
    for _ in 0..4 {
        let mut client = connect_from(2, address).await;
        client.request("/gate").await.unwrap();
        attacker.push(client);
    }
    until(|| server.report().requests_under_way == 4).await;
    let mut refused = connect_from(2, address).await;
    assert_eq!(refused.farewell().await, "", "all of its connections are in use");
    assert_eq!(server.report().refused, 1);
    let mut other = connect_from(3, address).await;
    assert_eq!(other.get("/").await.unwrap().body, "hello");
    gate.add_permits(4);
    for client in &mut attacker {
        assert_eq!(soon(client.answer()).await.unwrap().body, "through");
    }
    drop(attacker);
    until(|| server.report().open == 1).await;
    let mut again = connect_from(2, address).await;
    assert_eq!(again.get("/").await.unwrap().body, "hello");
}

#[tokio::test]
async fn an_address_with_too_many_connections_loses_its_own_longest_idle() {
    let (server, address) = start_limited(few(80, 3), router(Arc::new(Semaphore::new(0)))).await;
    let mut clients = Vec::new();
    for _ in 0..3 {
        let mut client = connect_from(2, address).await;
        assert_eq!(client.get("/").await.unwrap().body, "hello");
        clients.push(client);
    }
    assert_eq!(clients[0].get("/").await.unwrap().body, "hello");
    let mut newest = connect_from(2, address).await;
    assert_eq!(newest.get("/").await.unwrap().body, "hello");
    assert_eq!(clients[1].farewell().await, "", "it was used the longest ago");
    for kept in [0, 2] {
        assert_eq!(clients[kept].get("/").await.unwrap().body, "hello", "{kept}");
    }
    let report = server.report();
    assert_eq!((report.closed_idle, report.refused), (1, 0));
}

#[tokio::test]
async fn where_no_permit_is_left_the_longest_idle_connection_of_all_is_closed() {
    let (server, address) = start_limited(few(24, 3), router(Arc::new(Semaphore::new(0)))).await;
    let mut idle = Vec::new();
    for number in 0..24 {
        let mut client = connect_from(2 + number / 3, address).await;
        match number % 3 {
            0 => assert_eq!(client.get("/").await.unwrap().body, "hello"),
            1 => client.send("GET / HTT").await.unwrap(),
            _ => {}
        }
        idle.push(client);
    }
    until(|| server.report().open == 24).await;
    let mut newcomer = connect_from(100, address).await;
    assert_eq!(newcomer.get("/").await.unwrap().body, "hello");
    assert_eq!(idle[0].farewell().await, "", "it was used the longest ago");
    assert_eq!(server.report().closed_idle, 1, "and no other");
    assert_eq!(newcomer.get("/").await.unwrap().body, "hello");
}

#[tokio::test]
async fn an_idle_http2_connection_is_told_to_go_when_its_permit_is_needed() {
    let (server, address) = start_limited(few(1, 1), router(Arc::new(Semaphore::new(0)))).await;
    let mut first = Client2::over(connect_from(2, address).await.stream).await.unwrap();
    assert_eq!(first.get("/").await.body(), "hello");
    let mut second = connect_from(3, address).await;
    assert_eq!(second.get("/").await.unwrap().body, "hello");
    assert_eq!(server.report().closed_idle, 1);
    first.farewell().await;
}

/// Answers of so many bytes, in the body and in a header.
fn large(body: usize, header: usize) -> Router {
    let location = HeaderValue::try_from("x".repeat(header)).unwrap();
    let answer = move || async move { ([(LOCATION, location.clone())], "x".repeat(body)) };
    Router::new().route("/", routing::get(answer)).route("/small", routing::get(|| async { "ok" }))
}

/// Opens an HTTP/2 connection whose every stream has a window of so many bytes, and asks for `/` on
/// so many streams; reads nothing.
async fn unread(from: u8, address: SocketAddr, window: u8, streams: u32) -> Client<TcpStream> {
    let mut client = connect_from(from, address).await;
    client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    let mut bytes = vec![0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, window];
    let block = b"\x82\x86\x84\x41\x01x";
    for stream in 0..streams {
        bytes.extend([0, 0, u8::try_from(block.len()).unwrap(), 1, 5]);
        bytes.extend((2 * stream + 1).to_be_bytes());
        bytes.extend(block);
    }
    client.stream.write_all(&bytes).await.unwrap();
    client
}

#[tokio::test]
async fn answers_that_are_not_read_are_bounded_in_all() {
    for window in [0, 1] {
        let limits = ConnectionLimits { memory: 1_000_000, ..few(800, 100) };
        let (server, address) = start_limited(limits, large(20_000, 10)).await;
        let mut attackers = Vec::new();
        for number in 0..20 {
            attackers.push(unread(2 + number, address, window, 10).await);
            let mut other = connect_from(200, address).await;
            assert_eq!(other.get("/small").await.unwrap().body, "ok");
            let mut other = Client2::over(connect_from(200, address).await.stream).await.unwrap();
            assert_eq!(other.get("/").await.body().len(), 20_000);
        }
        until(|| server.report().cut_off > 0).await;
        until(|| server.report().owed_bytes <= 1_000_000).await;
        assert!(server.report().open >= 2, "those that fit are kept");
        drop(attackers);
        until(|| server.report().open == 0).await;
        until(|| server.report().owed_bytes == 0).await;
        assert_eq!(server.report().requests_under_way, 0, "{window}");
    }
}

#[tokio::test]
async fn heads_of_answers_that_are_not_read_are_counted_too() {
    let limits = ConnectionLimits {
        memory_per_connection: 400_000,
        concurrent_streams: 10_000,
        ..few(800, 100)
    };
    let (server, address) = start_limited(limits, large(0, 30_000)).await;
    let mut attacker = unread(2, address, 0, 0).await;
    // More than the system keeps for a connection that is not read.
    let block = b"\x82\x86\x84\x41\x01x";
    for stream in 0_u32..2_000 {
        let mut bytes = vec![0, 0, u8::try_from(block.len()).unwrap(), 1, 5];
        bytes.extend((2 * stream + 1).to_be_bytes());
        bytes.extend(block);
        if attacker.stream.write_all(&bytes).await.is_err() {
            break;
        }
    }
    until(|| server.report().cut_off == 1).await;
    until(|| server.report().open == 0).await;
    until(|| server.report().owed_bytes == 0).await;
}

#[tokio::test]
async fn what_was_sent_is_not_owed() {
    let (server, address) = start_limited(few(80, 4), large(20_000, 10)).await;
    let mut client = connect_from(2, address).await;
    let mut client2 = Client2::over(connect_from(2, address).await.stream).await.unwrap();
    for _ in 0..50 {
        assert_eq!(client.get("/").await.unwrap().body.len(), 20_000);
        assert_eq!(client2.get("/").await.body().len(), 20_000);
    }
    until(|| server.report().owed_bytes == 0).await;
    assert_eq!((server.report().requests_under_way, server.report().cut_off), (0, 0));
}
