//! Programs in browsers, from anywhere, for endpoints that look at no cookie (Fetch, CORS protocol).

use axum::{
    extract::Request,
    http::{HeaderValue, Method, StatusCode, header},
    response::{IntoResponse as _, Response},
};

const ANYONE: HeaderValue = HeaderValue::from_static("*");
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST");
const HEADERS: HeaderValue = HeaderValue::from_static("authorization, content-type, dpop");
const AN_HOUR: HeaderValue = HeaderValue::from_static("3600");
const EXPOSED: HeaderValue =
    HeaderValue::from_static("www-authenticate, retry-after, x-request-id");

/// Tells whether a browser only asks if it may ask.
pub fn is_preflight(request: &Request) -> bool {
    request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ORIGIN)
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Says that it may: without credentials, which are therefore never sent along.
pub fn preflight() -> Response {
    let headers = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, HEADERS),
        (header::ACCESS_CONTROL_MAX_AGE, AN_HOUR),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

/// Lets whoever asked read the answer.
pub fn open(response: &mut Response) {
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, ANYONE);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
}
