//! Handshakes that the plans demand to fail: old versions, and suites that are not recommended.
//!
//! The library that the tests connect with speaks none of them, so the first message is written here.

use super::run::Run;
use crate::support::TestOptions;
use std::net::SocketAddr;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

const TLS_1_0: u16 = 0x0301;
const TLS_1_1: u16 = 0x0302;
const TLS_1_2: u16 = 0x0303;
/// ECDHE with AES-GCM, by keys of either sort.
const STRONG: [u16; 4] = [0xc02b, 0xc02c, 0xc02f, 0xc030];
/// RSA key exchange, CBC and 3DES.
const WEAK: [u16; 10] =
    [0x000a, 0x002f, 0x0035, 0x003c, 0x009c, 0x009d, 0xc009, 0xc00a, 0xc013, 0xc023];

/// Writes a list with its length before it.
fn listed(items: &[u16]) -> Vec<u8> {
    let bytes: Vec<u8> = items.iter().flat_map(|item| item.to_be_bytes()).collect();
    prefixed(&bytes)
}

fn prefixed(bytes: &[u8]) -> Vec<u8> {
    [&u16::try_from(bytes.len()).unwrap().to_be_bytes()[..], bytes].concat()
}

/// Writes a `ClientHello` (RFC 5246 §7.4.1.2) that offers this version at most.
fn hello(version: u16, suites: &[u16]) -> Vec<u8> {
    let extension = |id: u16, body: &[u8]| [&id.to_be_bytes()[..], &prefixed(body)].concat();
    let extensions = [
        extension(0x000a, &listed(&[0x001d, 0x0017])),
        extension(0x000b, &[1, 0]),
        extension(0x000d, &listed(&[0x0403, 0x0804, 0x0401])),
        // The extended master secret, without which no certificate is asked for (RFC 7627).
        extension(0x0017, &[]),
    ]
    .concat();
    let body = [
        &version.to_be_bytes()[..],
        &[7; 32],
        &[0],
        &listed(suites),
        &[1, 0],
        &prefixed(&extensions),
    ]
    .concat();
    let length = u32::try_from(body.len()).unwrap().to_be_bytes();
    let message = [&[1][..], &length[1..], &body].concat();
    [&[0x16, 3, 1][..], &prefixed(&message)].concat()
}

/// Tells whether the server goes on with such a handshake.
async fn goes_on(address: SocketAddr, version: u16, suites: &[u16]) -> bool {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(&hello(version, suites)).await.unwrap();
    let mut kind = [0];
    // 22 is a handshake, 21 an alert; the end of the connection is neither.
    stream.read_exact(&mut kind).await.is_ok() && kind == [22]
}

/// Insists that both listeners speak TLS 1.2 with good suites, and nothing that is worse. The tests call the
/// public one without TLS, so another node opens it with.
pub async fn scan(run: &Run) {
    scan_at(run, run.server.running().mtls.unwrap()).await;
    let options = TestOptions { tls: Some(run.partners.identity()), ..TestOptions::default() };
    let node = run.server.beside(options).await;
    scan_at(run, node.running().address).await;
    node.stop().await;
}

async fn scan_at(run: &Run, address: SocketAddr) {
    assert!(goes_on(address, TLS_1_2, &STRONG).await, "{run}: TLS 1.2 with good suites");
    for version in [TLS_1_0, TLS_1_1] {
        let all = [&STRONG[..], &WEAK].concat();
        assert!(!goes_on(address, version, &all).await, "{run}: version {version:#x}");
    }
    for suite in WEAK {
        assert!(!goes_on(address, TLS_1_2, &[suite]).await, "{run}: suite {suite:#x}");
    }
}
