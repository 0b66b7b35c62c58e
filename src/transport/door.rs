//! The router as hyper's service: each request learns where it came from, each is counted.

use super::connection_state::{ConnectionState, UnderWay, Version};
use axum::{Router, body::Body as AxumBody, routing::future::RouteFuture};
use bytes::Bytes;
use hyper::{
    Request, Response,
    body::{Body, Frame, Incoming, SizeHint},
    header::{CONNECTION, HeaderValue},
    service::Service,
};
use std::{
    convert::Infallible,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

/// Who sent a request, as far as the connection tells; an extension of every request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The other end of the connection, which may be a proxy. An IPv4 address is written as one
    /// even where the listener speaks IPv6.
    pub address: SocketAddr,
    /// Whether the connection was TLS with us.
    pub secure: bool,
}

pub(super) struct Door {
    pub(super) router: Router,
    pub(super) peer: Peer,
    pub(super) version: Version,
    pub(super) connection_state: Arc<ConnectionState>,
}

impl Service<Request<Incoming>> for Door {
    type Response = Response<Delivery>;
    type Error = Infallible;
    type Future = Answering;

    fn call(&self, mut request: Request<Incoming>) -> Answering {
        let under_way = UnderWay::begin(&self.connection_state);
        request.extensions_mut().insert(self.peer);
        let answer = tower::Service::call(&mut self.router.clone(), request);
        Answering { answer, under_way: Some(under_way), version: self.version }
    }
}

/// The router's answer to come.
pub(super) struct Answering {
    answer: RouteFuture<Infallible>,
    under_way: Option<UnderWay>,
    version: Version,
}

impl Future for Answering {
    type Output = Result<Response<Delivery>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut answer = ready!(Pin::new(&mut self.answer).poll(context))?;
        let under_way = self.under_way.take();
        let leaving = under_way.as_ref().is_some_and(UnderWay::is_leaving);
        if leaving && self.version == Version::Http1 {
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        Poll::Ready(Ok(answer.map(|body| Delivery { body, _under_way: under_way })))
    }
}

/// A body on its way; with its end ends the request.
pub(super) struct Delivery {
    body: AxumBody,
    _under_way: Option<UnderWay>,
}

impl Body for Delivery {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
