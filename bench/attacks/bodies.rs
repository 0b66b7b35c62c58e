//! Bodies that never come to their end.

use crate::{
    Measured, Outcome,
    caller::{Fared, connect_from, form, pause},
    installation::Server,
};
use tokio::{io::AsyncWriteExt as _, net::TcpStream};

/// What a caller with a good form is told; the scope is not one of the client's.
const SERVED: [u16; 2] = [200, 400];

/// Begins a form, and sends all but its last byte.
async fn unfinished(server: &Server, host: u8, client: Option<&str>) -> Outcome<TcpStream> {
    let mut stream = connect_from(host, server.address).await?;
    let whole = form(client);
    stream.write_all(&whole.as_bytes()[..whole.len() - 1]).await?;
    Ok(stream)
}

/// Counts those that were not refused at once.
fn waiting(connections: &[TcpStream]) -> usize {
    let mut byte = [0];
    let waits = |stream: &&TcpStream| {
        let read = stream.try_read(&mut byte);
        read.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    };
    connections.iter().filter(waits).count()
}

pub async fn one_network_behind_a_proxy() -> Outcome<Measured> {
    let server = Server::start("trusted_proxies = [\"127.0.0.1/32\"]", "").await?;
    let mut held = Vec::new();
    for address in 0..16 {
        for _ in 0..128 {
            let client = format!("2001:db8::{address:x}");
            held.push(unfinished(&server, 1, Some(&client)).await?);
        }
    }
    pause(300).await?;
    let left = waiting(&held);
    let mut fared = Fared::default();
    for number in 0..50 {
        let client = format!("192.0.2.{number}");
        fared.ask(1, server.address, &form(Some(&client)), &SERVED).await;
    }
    let mut failures: Vec<String> = fared.failure().into_iter().collect();
    if left > 128 {
        failures.push(format!("one /64 holds {left} body permits, and may hold 128"));
    }
    drop(held);
    Ok(Measured {
        attack: "16 addresses of one IPv6 /64 behind the proxy send 128 bodies each, all unfinished",
        took: format!("{left} of 2,048 body permits"),
        others: fared.told(),
        failures,
    })
}

pub async fn one_address() -> Outcome<Measured> {
    let server = Server::start("", "").await?;
    let mut held = Vec::new();
    for _ in 0..500 {
        held.push(unfinished(&server, 2, None).await?);
    }
    pause(300).await?;
    let left = waiting(&held);
    let mut fared = Fared::default();
    for number in 0..50 {
        fared.ask(3 + number, server.address, &form(None), &SERVED).await;
    }
    let mut failures: Vec<String> = fared.failure().into_iter().collect();
    if left > 128 {
        failures.push(format!("one address holds {left} body permits, and may hold 128"));
    }
    drop(held);
    Ok(Measured {
        attack: "one address sends 500 bodies, all unfinished",
        took: format!("{left} of 2,048 body permits"),
        others: fared.told(),
        failures,
    })
}
