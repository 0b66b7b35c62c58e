//! Connections that are opened and kept.

use crate::{
    Measured, Outcome,
    caller::{Fared, GET, connect_from, exchange, pause},
    installation::Server,
};
use std::time::Duration;
use tokio::{net::TcpStream, time::timeout};

/// Counts those that the server has not closed.
fn still_open(connections: &[TcpStream]) -> usize {
    let mut byte = [0];
    connections
        .iter()
        .filter(|stream| match stream.try_read(&mut byte) {
            Ok(many) => many > 0,
            Err(error) => error.kind() == std::io::ErrorKind::WouldBlock,
        })
        .count()
}

/// Opens so many connections from an address; each makes a request and stays, or says nothing.
async fn open(server: &Server, host: u8, many: usize, speaking: bool) -> Vec<TcpStream> {
    let mut open = Vec::new();
    for _ in 0..many {
        let connecting = timeout(Duration::from_secs(2), connect_from(host, server.address));
        let Ok(Ok(mut stream)) = connecting.await else { continue };
        if speaking {
            let asked = timeout(Duration::from_secs(2), exchange(&mut stream, GET));
            if !matches!(asked.await, Ok(Ok(200))) {
                continue;
            }
        }
        open.push(stream);
    }
    open
}

pub async fn one_address() -> Outcome<Measured> {
    const MANY: usize = 2_000;
    let server = Server::start("", "").await?;
    let kept = open(&server, 2, MANY, true).await;
    let mut fared = Fared::default();
    for _ in 0..50 {
        fared.ask(3, server.address, GET, &[200]).await;
    }
    let left = still_open(&kept);
    let mut failures: Vec<String> = fared.failure().into_iter().collect();
    if left > 512 {
        failures.push(format!("one address keeps {left} connections, and may have 512"));
    }
    let memory = server.peak()?;
    drop(kept);
    Ok(Measured {
        attack: "one address opens 2,000 connections, each with one request, and keeps them",
        took: format!("{left} connections; {memory:.0} MB resident"),
        others: fared.told(),
        failures,
    })
}

pub async fn many_addresses() -> Outcome<Measured> {
    let server = Server::start("", "[limits]\nconnections = 800").await?;
    let mut kept = Vec::new();
    for host in 2..22 {
        kept.extend(open(&server, host, 90, false).await);
    }
    pause(500).await?;
    let mut fared = Fared::default();
    for _ in 0..50 {
        fared.ask(200, server.address, GET, &[200]).await;
    }
    let left = still_open(&kept);
    let failures = fared.failure().into_iter().collect();
    drop(kept);
    Ok(Measured {
        attack: "20 addresses open 90 connections each and say nothing; there are 800 in all",
        took: format!("{left} connections"),
        others: fared.told(),
        failures,
    })
}
