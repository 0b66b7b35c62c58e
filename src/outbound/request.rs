//! A request and its answer.

use super::destination::Destination;
use http_body_util::Full;
use hyper::{
    HeaderMap, Method, StatusCode,
    body::Bytes,
    header::{self, HeaderName, HeaderValue},
};
use url::Url;

const USER_AGENT: &str = concat!("porteiro/", env!("CARGO_PKG_VERSION"));

/// Headers that frame the message or steer the connection; no caller may set them.
const OURS: [HeaderName; 7] = [
    header::CONTENT_LENGTH,
    header::EXPECT,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
];

/// One request; `https` alone unless the caller says otherwise.
pub struct Request {
    pub(super) url: Url,
    pub(super) plain_http: bool,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
}

impl Request {
    pub fn get(url: Url) -> Self {
        Self::new(Method::GET, url, Bytes::new())
    }

    pub fn post(url: Url, body: impl Into<Bytes>) -> Self {
        Self::new(Method::POST, url, body.into())
    }

    fn new(method: Method, url: Url, body: Bytes) -> Self {
        Self { url, plain_http: false, method, headers: HeaderMap::new(), body }
    }

    /// Sets a header; those of the client itself (`Host`, `Content-Length` …) cannot be set.
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Accepts `http:` as well, for a peer whose URL an operator wrote down.
    pub fn allow_plain_http(mut self) -> Self {
        self.plain_http = true;
        self
    }

    pub(super) fn into_message(self, to: &Destination) -> hyper::Request<Full<Bytes>> {
        let mut headers = self.headers;
        for name in OURS {
            headers.remove(name);
        }
        headers.insert(header::HOST, to.authority.clone());
        headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
        // A compressed answer could expand to any size; RFC 9110 §12.5.3.
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        if self.method == Method::POST {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(self.body.len()));
        }
        let mut message = hyper::Request::new(Full::new(self.body));
        *message.method_mut() = self.method;
        *message.uri_mut() = to.target.clone();
        *message.headers_mut() = headers;
        message
    }
}

/// The whole answer; a redirect is an answer like any other.
pub struct Response {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}
