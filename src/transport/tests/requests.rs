//! What a request meets.

use super::{client::*, *};
use axum::body::Body as AxumBody;
use bytes::Bytes;
use http_body_util::Empty;
use hyper::{
    Request,
    body::{Body, Frame, SizeHint},
};
use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::{io::AsyncWriteExt, net::TcpStream, task::JoinSet};

#[tokio::test]
async fn every_request_carries_the_address_it_came_from() {
    let started = start(ConnectionLimits::default()).await;
    let mut client = connect(started.address).await;
    let own = client.stream.local_addr().unwrap();
    for _ in 0..2 {
        assert_eq!(client.get("/peer").await.unwrap().body, format!("{own} false"));
    }
}

#[tokio::test]
async fn an_ipv4_peer_of_an_ipv6_listener_keeps_its_address() {
    let listener = TcpListener::bind("[::]:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let _server = Server::start(ServerOptions {
        listeners: vec![plain(listener)],
        limits: ConnectionLimits::default(),
        addresses: here(),
        dice: Arc::new(SystemDice),
    });
    let mut client = connect(SocketAddr::from(([127, 0, 0, 1], port))).await;
    let own = client.stream.local_addr().unwrap();
    assert_eq!(client.get("/peer").await.unwrap().body, format!("{own} false"));
}

#[tokio::test]
async fn http2_without_tls_is_spoken_to_whoever_begins_with_it() {
    let started = start(ConnectionLimits::default()).await;
    let stream = TcpStream::connect(started.address).await.unwrap();
    let own = stream.local_addr().unwrap();
    let mut client = Client2::over(stream).await.unwrap();
    assert_eq!(client.get("/peer").await.body(), format!("{own} false"));
}

#[tokio::test]
async fn a_request_that_begins_like_http2_is_still_read_whole() {
    let started = start(ConnectionLimits::default()).await;
    for method in ["P", "PR", "PRI", "PROPFIND"] {
        let mut client = connect(started.address).await;
        let request = format!("{method} / HTTP/1.1\r\nhost: localhost\r\n\r\n");
        for piece in [&request[..1], &request[1..]] {
            client.send(piece).await.unwrap();
        }
        assert_eq!(soon(client.answer()).await.unwrap().status, 405, "{method}");
    }
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let started = start(ConnectionLimits::default()).await;
    let mut client = connect(started.address).await;
    let request = |body: &str| {
        format!("POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    };
    client.send(&["first", "second", "third"].map(request).concat()).await.unwrap();
    for body in ["first", "second", "third"] {
        assert_eq!(soon(client.answer()).await.unwrap().body, body);
    }
}

#[tokio::test]
async fn a_panic_takes_only_its_own_connection_with_it() {
    let started = start(ConnectionLimits::default()).await;
    let mut bystander = connect(started.address).await;
    assert_eq!(bystander.get("/").await.unwrap().body, "hello");
    assert!(connect(started.address).await.get("/panic").await.is_err());
    assert_eq!(bystander.get("/").await.unwrap().body, "hello");
    until(|| started.server.report().open == 1).await;
    assert_eq!(started.server.report().requests_under_way, 0);
}

#[tokio::test]
async fn over_http2_a_panic_takes_only_its_own_request_with_it() {
    let started = start(ConnectionLimits::default()).await;
    let stream = TcpStream::connect(started.address).await.unwrap();
    let mut client = Client2::over(stream).await.unwrap();
    let mut sender = client.sender();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let request = Request::get("http://localhost/gate").body(Empty::<Bytes>::new()).unwrap();
        sender.send_request(request).await.unwrap().status().as_u16()
    });
    until(|| started.server.report().requests_under_way == 1).await;
    assert!(matches!(client.get("/panic").await, Outcome::Failed(_)));
    started.gate.add_permits(1);
    assert_eq!(soon(tasks.join_next()).await.unwrap().unwrap(), 200);
}

#[tokio::test]
async fn requests_are_under_way_until_their_answer_or_until_nobody_waits_for_it() {
    let started = start(ConnectionLimits::default()).await;
    let report = || started.server.report();
    let (mut first, mut second) = (connect(started.address).await, connect(started.address).await);
    first.request("/gate").await.unwrap();
    second.request("/never").await.unwrap();
    until(|| report().requests_under_way == 2).await;
    assert_eq!((report().open, report().accepted), (2, 2));
    started.gate.add_permits(1);
    assert_eq!(soon(first.answer()).await.unwrap().body, "through");
    until(|| report().requests_under_way == 1).await;
    drop(second);
    until(|| report().requests_under_way == 0).await;
    drop(first);
    until(|| report().open == 0).await;
    assert_eq!(report().accepted, 2);
}

#[tokio::test]
async fn an_early_answer_does_not_reset_a_client_that_is_still_sending() {
    let limits = ConnectionLimits { linger: PATIENT, ..ConnectionLimits::default() };
    let started = start(limits).await;
    let client = connect(started.address).await;
    let (reading, mut writing) = client.stream.into_split();
    let mut reader = Client::new(tokio::io::join(reading, tokio::io::sink()));
    let head = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 8000000\r\n\r\n";
    writing.write_all(head).await.unwrap();
    assert_eq!(soon(reader.answer()).await.unwrap().status, 405);
    assert_eq!(reader.farewell().await, "");
    soon(writing.write_all(&vec![b'x'; 8_000_000])).await.unwrap();
}

/// A body that comes in pieces, each written by itself.
struct Pieces(VecDeque<&'static str>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(piece) = self.0.pop_front() else { return Poll::Ready(None) };
        if piece.is_empty() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(piece.as_bytes())))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.iter().map(|piece| piece.len() as u64).sum())
    }
}

#[tokio::test]
async fn a_body_that_looks_like_a_refusal_is_not_touched() {
    const FAKE: &str = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
    let pieces = || async { AxumBody::new(Pieces(VecDeque::from(["one", "", FAKE, "", FAKE]))) };
    let router = Router::new().route("/", routing::get(pieces));
    let (_server, address) = serve(router, ConnectionLimits::default(), None).await;
    let mut client = connect(address).await;
    for _ in 0..2 {
        assert_eq!(client.get("/").await.unwrap().body, format!("one{FAKE}{FAKE}"));
    }
}
