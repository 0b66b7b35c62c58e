//! Clients that say exactly what a test wants.

use super::soon;
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::{Request, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::{io, net::SocketAddr};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};

/// One HTTP/1 connection.
pub(super) struct Client<S> {
    pub(super) stream: S,
    unread: Vec<u8>,
}

pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    pub(super) fn closes(&self) -> bool {
        self.header("connection") == Some("close")
    }
}

pub(super) async fn connect(address: SocketAddr) -> Client<TcpStream> {
    Client::new(TcpStream::connect(address).await.unwrap())
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, unread: Vec::new() }
    }

    pub(super) async fn send(&mut self, text: &str) -> io::Result<()> {
        self.stream.write_all(text.as_bytes()).await?;
        self.stream.flush().await
    }

    pub(super) async fn request(&mut self, path: &str) -> io::Result<()> {
        self.send(&format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")).await
    }

    pub(super) async fn get(&mut self, path: &str) -> io::Result<Answer> {
        self.request(path).await?;
        soon(self.answer()).await
    }

    /// Reads one answer, which must be complete.
    pub(super) async fn answer(&mut self) -> io::Result<Answer> {
        let head_length = loop {
            if let Some(end) = self.unread.windows(4).position(|w| w == b"\r\n\r\n") {
                break end + 4;
            }
            self.more().await?;
        };
        let head = String::from_utf8(self.unread.drain(..head_length).collect()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut answer = Answer { status, head, body: String::new() };
        let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        while self.unread.len() < length {
            self.more().await?;
        }
        answer.body = String::from_utf8(self.unread.drain(..length).collect()).unwrap();
        Ok(answer)
    }

    async fn more(&mut self) -> io::Result<()> {
        if self.stream.read_buf(&mut self.unread).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    /// Waits until the server closes, and returns what it still said.
    pub(super) async fn farewell(&mut self) -> String {
        while soon(self.more()).await.is_ok() {}
        String::from_utf8(std::mem::take(&mut self.unread)).unwrap()
    }
}

/// One HTTP/2 connection.
pub(super) struct Client2 {
    sender: http2::SendRequest<Empty<Bytes>>,
    tasks: JoinSet<()>,
}

/// What became of a request over HTTP/2.
pub(super) enum Outcome {
    Answered(u16, Bytes),
    /// The server is leaving, and the client knows that it will not answer and may ask elsewhere:
    /// the request was not sent, or its number is beyond the last that GOAWAY named.
    SentAway,
    Failed(hyper::Error),
}

impl Client2 {
    pub(super) async fn over<S>(stream: S) -> hyper::Result<Self>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let io = TokioIo::new(stream);
        let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await?;
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let _ = connection.await;
        });
        Ok(Self { sender, tasks })
    }

    pub(super) async fn get(&mut self, path: &str) -> Outcome {
        let request = Request::get(format!("http://localhost{path}")).body(Empty::new()).unwrap();
        if soon(self.sender.ready()).await.is_err() {
            return Outcome::SentAway;
        }
        match soon(self.sender.try_send_request(request)).await {
            Err(mut error) => match error.take_message() {
                Some(_) => Outcome::SentAway,
                None if is_goaway(error.error()) => Outcome::SentAway,
                None => Outcome::Failed(error.into_error()),
            },
            Ok(answer) => {
                let status = answer.status().as_u16();
                match soon(answer.into_body().collect()).await {
                    Ok(body) => Outcome::Answered(status, body.to_bytes()),
                    Err(error) => Outcome::Failed(error),
                }
            }
        }
    }

    /// Another handle to the same connection, which lives as long as this one.
    pub(super) fn sender(&self) -> http2::SendRequest<Empty<Bytes>> {
        self.sender.clone()
    }

    /// Waits until the server closes.
    pub(super) async fn farewell(mut self) {
        soon(self.tasks.join_next()).await;
    }
}

impl Outcome {
    pub(super) fn body(self) -> String {
        match self {
            Self::Answered(_, body) => String::from_utf8(body.to_vec()).unwrap(),
            Self::SentAway => panic!("the request was sent away"),
            Self::Failed(error) => panic!("the request failed: {error:?}"),
        }
    }
}

/// The library tells a request so only where GOAWAY left it out.
fn is_goaway(error: &hyper::Error) -> bool {
    format!("{error:?}").contains("GoAway(b\"\", NO_ERROR, Remote)")
}
