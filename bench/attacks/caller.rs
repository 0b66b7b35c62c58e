//! Other callers, who want to be served while an attack goes on.

use crate::{Outcome, installation::SECRET};
use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

/// How long a caller waits before it gives up.
const PATIENCE: Duration = Duration::from_secs(5);

/// Connects from an address of loopback.
pub async fn connect_from(host: u8, address: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from(([127, 0, 0, host], 0)))?;
    socket.connect(address).await
}

/// Sends a request as it is, and returns the status of the answer; the connection stays open.
pub async fn exchange(stream: &mut TcpStream, request: &str) -> std::io::Result<u16> {
    stream.write_all(request.as_bytes()).await?;
    let mut answer = vec![0; 16 * 1024];
    let many = stream.read(&mut answer).await?;
    let line = String::from_utf8_lossy(&answer[..many]).into_owned();
    Ok(line.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default())
}

pub const GET: &str = "GET /connect/jwks HTTP/1.1\r\nHost: id.example.com\r\n\r\n";

/// A form that is answered with a status of its own once all of it has come.
pub fn form(client: Option<&str>) -> String {
    let body =
        format!("grant_type=client_credentials&client_id=machine&client_secret={SECRET}&scope=x:y");
    let forwarded = client.map(|client| format!("X-Forwarded-For: {client}\r\n"));
    format!(
        "POST /connect/token HTTP/1.1\r\nHost: id.example.com\r\n{}Content-Length: {}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\n\r\n{body}",
        forwarded.unwrap_or_default(),
        body.len()
    )
}

/// How a number of callers fared, each on a connection of its own.
#[derive(Default)]
pub struct Fared {
    pub served: usize,
    pub asked: usize,
    slowest: Duration,
}

impl Fared {
    /// Asks once, from an address; served is who gets one of these statuses.
    pub async fn ask(&mut self, host: u8, address: SocketAddr, request: &str, served: &[u16]) {
        let began = Instant::now();
        let asked = async {
            let mut stream = connect_from(host, address).await?;
            exchange(&mut stream, request).await
        };
        self.asked += 1;
        if let Ok(Ok(status)) = timeout(PATIENCE, asked).await
            && served.contains(&status)
        {
            self.served += 1;
        }
        self.slowest = self.slowest.max(began.elapsed());
    }

    pub fn told(&self) -> String {
        let Self { served, asked, slowest } = self;
        format!("{served} of {asked} served, the slowest after {} ms", slowest.as_millis())
    }

    /// Insists that all were served.
    pub fn failure(&self) -> Option<String> {
        (self.served < self.asked).then(|| "other callers were not served".to_owned())
    }
}

/// Waits for a moment.
pub async fn pause(millis: u64) -> Outcome<()> {
    tokio::time::sleep(Duration::from_millis(millis)).await;
    Ok(())
}
