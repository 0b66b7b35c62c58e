//! The router as hyper's service: each request learns where it came from, each is counted.

use super::connection_state::{ConnectionState, PendingRequest, Version};
use crate::crypto::ClientCertificate;
use axum::{Router, body::Body as AxumBody, routing::future::RouteFuture};
use bytes::{Buf, Bytes};
use hyper::{
    Request, Response,
    body::{Body, Frame, Incoming, SizeHint},
    header::{CONNECTION, HeaderMap, HeaderValue},
    service::Service,
};
use std::{
    convert::Infallible,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

/// Where a request came from, as far as the connection tells; an extension of every request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The other end of the connection, which may be a proxy. An IPv4 address is written as one
    /// even where the listener speaks IPv6.
    pub address: SocketAddr,
    /// Whether the connection was TLS with us.
    pub secure: bool,
}

/// Answers the requests of one connection.
pub(super) struct RouterService {
    pub(super) router: Router,
    pub(super) peer: Peer,
    /// What the client has proved to hold the key of, in its handshake.
    pub(super) certificate: Option<Arc<ClientCertificate>>,
    pub(super) version: Version,
    pub(super) connection_state: Arc<ConnectionState>,
}

impl Service<Request<Incoming>> for RouterService {
    type Response = Response<Delivery>;
    type Error = Infallible;
    type Future = AnswerFuture;

    fn call(&self, mut request: Request<Incoming>) -> AnswerFuture {
        let under_way =
            PendingRequest::begin(&self.connection_state, self.version, size_of_head(&request));
        request.extensions_mut().insert(self.peer);
        if let Some(certificate) = &self.certificate {
            request.extensions_mut().insert(certificate.clone());
        }
        let watched = self.version == Version::Http1 && !request.body().is_end_stream();
        let reading = watched.then(|| {
            self.connection_state.begin_upload();
            self.connection_state.clone()
        });
        let request = request.map(|body| Upload { body, reading });
        // A connection that is to be closed at once makes no more work, nor does one that owes anything
        // while all of them together owe far too much: closing the debtors takes its time.
        self.connection_state.give_up_on_overload();
        let is_wanted = !self.connection_state.is_cut_off();
        let answer = is_wanted.then(|| tower::Service::call(&mut self.router.clone(), request));
        AnswerFuture { answer, under_way: Some(under_way), version: self.version }
    }
}

/// The body of a request; notes when all of it has been read.
struct Upload {
    body: Incoming,
    /// Only over HTTP/1: there the next request comes behind this body.
    reading: Option<Arc<ConnectionState>>,
}

impl Body for Upload {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let ended = match &frame {
            None => true,
            Some(Ok(_)) => self.body.is_end_stream(),
            Some(Err(_)) => false,
        };
        if ended && let Some(connection_state) = self.reading.take() {
            connection_state.end_upload();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The router's answer to come; none where the connection is to be closed at once.
pub(super) struct AnswerFuture {
    answer: Option<RouteFuture<Infallible>>,
    under_way: Option<PendingRequest>,
    version: Version,
}

impl Future for AnswerFuture {
    type Output = Result<Response<Delivery>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.under_way.as_ref().is_some_and(PendingRequest::is_cut_off) {
            // Freed now and not with the connection, whose own task may be behind many others.
            self.answer = None;
            self.under_way = None;
        }
        let Some(answer) = &mut self.answer else { return Poll::Pending };
        let mut answer = ready!(Pin::new(answer).poll(context))?;
        let mut under_way = self.under_way.take();
        if let Some(under_way) = &mut under_way {
            under_way.answer(size_of_answer(&answer));
            if under_way.must_close() && self.version == Version::Http1 {
                answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
        }
        Poll::Ready(Ok(answer.map(|body| Delivery { body, under_way })))
    }
}

/// The bytes that are kept until a request is answered.
fn size_of_head(request: &Request<Incoming>) -> usize {
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    target + size_of_headers(request.headers())
}

/// The bytes that are kept until an answer has been sent.
fn size_of_answer(answer: &Response<AxumBody>) -> usize {
    let headers = size_of_headers(answer.headers());
    let body = answer.body().size_hint().lower();
    headers.saturating_add(usize::try_from(body).unwrap_or(usize::MAX))
}

fn size_of_headers(headers: &HeaderMap) -> usize {
    headers.values().map(HeaderValue::len).sum()
}

/// The body of an answer. The request is under way until its last bytes have been sent.
pub(super) struct Delivery {
    body: AxumBody,
    under_way: Option<PendingRequest>,
}

/// A part of the body of an answer, as hyper keeps it until it has been sent.
pub(super) struct Part {
    bytes: Bytes,
    /// With the last part.
    _under_way: Option<PendingRequest>,
}

impl Buf for Part {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, many: usize) {
        self.bytes.advance(many);
    }

    fn copy_to_bytes(&mut self, many: usize) -> Bytes {
        self.bytes.copy_to_bytes(many)
    }
}

impl Body for Delivery {
    type Data = Part;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Part>, axum::Error>>> {
        let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(context)) else {
            return Poll::Ready(None);
        };
        let last = self.body.is_end_stream();
        let mut under_way = self.under_way.take_if(|_| last).map(PendingRequest::go_with_body);
        let part = |bytes| Part { bytes, _under_way: under_way.take() };
        Poll::Ready(Some(frame.map(|frame| frame.map_data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
