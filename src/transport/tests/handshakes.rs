//! Handshakes that one address begins and never ends do not keep another out.

use super::{client::*, identity::Authority, *};
use std::io::ErrorKind;
use tokio::{
    io::AsyncWriteExt,
    net::{TcpSocket, TcpStream},
};

/// Connects from an address of loopback.
async fn connect_from(host: u8, address: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, host], 0))).unwrap();
    socket.connect(address).await.unwrap()
}

/// Tells whether the server has not closed.
fn is_open(stream: &TcpStream) -> bool {
    let mut byte = [0];
    stream.try_read(&mut byte).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

/// How many connections an address may have here.
const MOST: u8 = 100;

#[tokio::test]
async fn a_thousand_handshakes_of_one_address_keep_no_other_out() {
    let authority = Authority::new();
    let mut listeners = Vec::new();
    let mut addresses = Vec::new();
    for tls in [TlsMode::Plain, TlsMode::AskingForCertificates] {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        addresses.push(socket.local_addr().unwrap());
        let router = router(Arc::new(Semaphore::new(0)));
        listeners.push(Listener { socket, tls: Some(tls(authority.identity())), router });
    }
    let limits = ConnectionLimits {
        // Only a limit of numbers helps here.
        handshake: PATIENT * 10,
        max_connections: 8 * usize::from(MOST),
        max_per_address: MOST.into(),
        ..ConnectionLimits::default()
    };
    let rules = Arc::new(AddressRules::new("https://id.example.com", Vec::new()));
    let options = ServerOptions { listeners, limits, addresses: rules, dice: Arc::new(SystemDice) };
    let server = Server::start(options);
    // It keeps every connection that the server keeps.
    let mut attacker = Vec::new();
    for number in 0..1_000 {
        let mut stream = connect_from(2, addresses[number % 2]).await;
        let beginning: &[u8] = if number % 3 == 0 { b"" } else { b"\x16\x03\x01\x02\x00\x01" };
        let _ = stream.write_all(beginning).await;
        attacker.push(stream);
        if number % 100 == 99 {
            attacker.retain(is_open);
        }
    }
    until(|| server.report().open <= MOST.into()).await;
    attacker.retain(is_open);
    assert!(!attacker.is_empty(), "it holds what one address may have");
    for address in addresses {
        for _ in 0..20 {
            let stream = connect_from(3, address).await;
            let stream = soon(authority.secure(stream)).await.unwrap();
            assert_eq!(Client::new(stream).get("/").await.unwrap().body, "hello");
        }
    }
    until(|| server.report().open <= MOST.into()).await;
}
