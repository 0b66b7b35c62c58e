//! CORS: programs in browsers that ask from other pages than ours (Fetch, CORS protocol).

use axum::{
    extract::Request,
    http::{HeaderValue, Method, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use std::sync::Arc;

const ANY_SITE: HeaderValue = HeaderValue::from_static("*");
/// The last two for a client that manages its registration (RFC 7592).
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, DELETE");
/// What a person changes of their own, they change and end by other methods as well.
const METHODS_OF_OURS: HeaderValue = HeaderValue::from_static("GET, POST, PATCH, DELETE");
const HEADERS: HeaderValue = HeaderValue::from_static("authorization, content-type, dpop");
const AN_HOUR: HeaderValue = HeaderValue::from_static("3600");
const YES: HeaderValue = HeaderValue::from_static("true");
const EXPOSED: HeaderValue =
    HeaderValue::from_static("www-authenticate, retry-after, x-request-id, dpop-nonce");

/// Which pages may ask.
#[derive(Clone)]
pub enum Cors {
    NoPage,
    /// Of any site, without credentials: endpoints that look at no cookie.
    AnySite,
    /// Our own pages, with credentials.
    OurPages(Arc<[HeaderValue]>),
}

impl Cors {
    /// Answers a browser that only asks if it may ask.
    pub fn preflight(&self, request: &Request) -> Option<Response> {
        let asks = request.method() == Method::OPTIONS
            && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        let origin = request.headers().get(header::ORIGIN).filter(|_| asks)?;
        let (allowed, methods) = match self {
            Self::NoPage => (false, METHODS),
            Self::AnySite => (true, METHODS),
            Self::OurPages(origins) => (origins.contains(origin), METHODS_OF_OURS),
        };
        let headers = [
            (header::ACCESS_CONTROL_ALLOW_METHODS, methods),
            (header::ACCESS_CONTROL_ALLOW_HEADERS, HEADERS),
            (header::ACCESS_CONTROL_MAX_AGE, AN_HOUR),
        ];
        allowed.then(|| (StatusCode::NO_CONTENT, headers).into_response())
    }

    /// Lets the page that asked read the answer.
    pub fn open(&self, origin: Option<HeaderValue>, response: &mut Response) {
        let headers = response.headers_mut();
        match self {
            Self::NoPage => return,
            Self::AnySite => drop(headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, ANY_SITE)),
            Self::OurPages(origins) => {
                headers.append(header::VARY, HeaderValue::from_static("origin"));
                let Some(origin) = origin.filter(|origin| origins.contains(origin)) else { return };
                headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
                headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, YES);
            }
        }
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
}
