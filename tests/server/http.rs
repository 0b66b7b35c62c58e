//! A client that sends exactly what it is told to.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{HeaderMap, Method, Request, StatusCode, client::conn::http1};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::{net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

/// A whole answer.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.to_vec()).unwrap()
    }

    /// Insists on an OAuth refusal of this status and code.
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str) -> String {
        assert_eq!(
            (self.status.as_u16(), &self.json()["error"]),
            (status, &code.into()),
            "{self:?}"
        );
        assert_eq!(self.header("cache-control"), Some("no-store"));
        let description = self.json()["error_description"].as_str().unwrap().to_owned();
        let allowed = |byte: u8| matches!(byte, 0x20..=0x21 | 0x23..=0x5b | 0x5d..=0x7e);
        assert!(description.bytes().all(allowed), "RFC 6749 §5.2: {description}");
        description
    }
}

/// Sends a request on a connection of its own.
pub async fn send(address: SocketAddr, request: Request<Full<Bytes>>) -> Answer {
    try_send(address, request).await.unwrap()
}

pub async fn try_send(
    address: SocketAddr,
    request: Request<Full<Bytes>>,
) -> Result<Answer, Box<dyn std::error::Error + Send + Sync>> {
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let running = tokio::spawn(connection);
    let answer = sender.send_request(request).await?;
    let (head, body) = answer.into_parts();
    let body = body.collect().await?.to_bytes();
    running.abort();
    Ok(Answer { status: head.status, headers: head.headers, body })
}

/// Begins a request; the host is the server's own.
pub fn request(method: Method, address: SocketAddr, path: &str) -> hyper::http::request::Builder {
    Request::builder().method(method).uri(path).header("host", address.to_string())
}

pub async fn get(address: SocketAddr, path: &str) -> Answer {
    send(address, request(Method::GET, address, path).body(Full::default()).unwrap()).await
}

/// Sends bytes as they are and reads until the other side closes, or two seconds have passed.
pub async fn raw(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(Ok(many @ 1..)) = timeout(Duration::from_secs(2), stream.read(&mut piece)).await {
        answer.extend_from_slice(&piece[..many]);
        if String::from_utf8_lossy(&answer).contains("\r\n\r\n") && answer.ends_with(b"}") {
            break;
        }
    }
    String::from_utf8_lossy(&answer).into_owned()
}
