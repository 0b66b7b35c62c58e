//! Bodies as hostile callers write them.

use super::*;
use crate::http::Limits;
use axum::{body::HttpBody, http::header::CONTENT_TYPE, response::IntoResponse as _};
use bytes::Bytes;
use hyper::body::Frame;
use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

fn request(kind: &str, body: impl Into<Body>) -> Request {
    Request::post("/somewhere").header(CONTENT_TYPE, kind).body(body.into()).unwrap()
}

/// A body that does not say how long it is, and that never ends.
struct Pieces {
    left: usize,
}

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left == 0 {
            return Poll::Pending;
        }
        self.left -= 1;
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b' '; 1_000])))))
    }
}

fn request_permits() -> RequestPermits {
    RequestPermits::new(&Limits::default(), Arc::default())
}

/// Says what both kinds of endpoint answer: a status each, and the code of the problem.
async fn told(
    request: impl Fn() -> Request,
    request_permits: &RequestPermits,
) -> (u16, u16, &'static str) {
    let oauth = PostedJson::take(request(), request_permits).await.err().unwrap().into_response();
    let problem = Json::<Map<String, Value>>::take(request(), request_permits).await.err().unwrap();
    (oauth.status().as_u16(), problem.status.as_u16(), problem.code)
}

#[tokio::test]
async fn what_is_no_plain_json_is_refused_in_the_voice_of_the_endpoint() {
    let request_permits = request_permits();
    for kind in ["", "text/plain", "application/x-www-form-urlencoded", "text/json"] {
        let told = told(|| request(kind, "{}"), &request_permits).await;
        assert_eq!(told, (415, 415, "unsupported_media_type"), "{kind}");
    }
    let encoded = || {
        let mut encoded = request("application/json", "{}");
        encoded.headers_mut().insert("content-encoding", "gzip".parse().unwrap());
        encoded
    };
    assert_eq!(told(encoded, &request_permits).await, (415, 415, "unsupported_media_type"));
    for body in ["[]", "{", r#"{"a": 1, "a": 2}"#, r#"{"a": "\u0000"}"#, r#"{"a": "\ud800"}"#] {
        let told = told(|| request("application/json", body), &request_permits).await;
        assert_eq!(told, (400, 400, "invalid_json"), "{body}");
    }
    let huge = format!("{{\"a\": \"{}\"}}", "x".repeat(1_000_000));
    let told_of = told(|| request("application/json", huge.clone()), &request_permits).await;
    assert_eq!(told_of, (413, 413, "body_too_large"));
    let unsaid = || Body::new(Pieces { left: 1_000 });
    let told_of = told(|| request("application/json", unsaid()), &request_permits).await;
    assert_eq!(told_of, (413, 413, "body_too_large"), "though it did not say so");
}

#[tokio::test]
async fn nothing_is_an_object_without_members_but_not_for_oauth() {
    let request_permits = request_permits();
    let nothing = || request("application/json", "");
    assert!(
        Json::<Map<String, Value>>::take(nothing(), &request_permits)
            .await
            .unwrap()
            .body
            .is_empty()
    );
    let refused = PostedJson::take(nothing(), &request_permits).await.err().unwrap();
    assert_eq!((refused.code, refused.description), (Code::InvalidRequest, "the body is not JSON"));
}

#[tokio::test]
async fn an_address_with_parameters_is_refused_by_oauth_and_ignored_elsewhere() {
    let request_permits = request_permits();
    let asked = || {
        let mut asked = request("application/json; charset=utf-8", r#"{"a": 1}"#);
        *asked.uri_mut() = "/somewhere?a=2".parse().unwrap();
        asked
    };
    assert!(PostedJson::take(asked(), &request_permits).await.is_err());
    let posted = Json::<Map<String, Value>>::take(asked(), &request_permits).await.unwrap();
    assert_eq!(posted.body["a"], 1);
    assert!(posted.headers.contains_key(CONTENT_TYPE));
}

#[tokio::test]
async fn late_bodies_and_full_houses_are_told() {
    let moment = Duration::from_millis(20);
    let limits = Limits { requests: 1, body: moment, ..Limits::default() };
    let request_permits = RequestPermits::new(&limits, Arc::default());
    let slow = || Body::new(Pieces { left: 1 });
    let told_of = told(|| request("application/json", slow()), &request_permits).await;
    assert_eq!(told_of, (408, 408, "timeout"));
    let held = Json::<Map<String, Value>>::take(request("application/json", ""), &request_permits)
        .await
        .unwrap();
    let told_of = told(|| request("application/json", "{}"), &request_permits).await;
    assert_eq!(told_of, (503, 503, "temporarily_unavailable"));
    drop(held);
    assert!(PostedJson::take(request("application/json", "{}"), &request_permits).await.is_ok());
    let full = Problem::from(RequestFailure::FullForOne).into_response();
    assert_eq!(full.headers()["retry-after"], "1");
}
