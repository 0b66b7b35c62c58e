//! Every response, whoever made it, has a request id and the security headers, and is counted.

use crate::{
    clock::Stopwatch,
    crypto::{Dice, draw_text},
    http::{error::Refused, vitals::Vitals},
};
use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderName, HeaderValue, header},
    middleware::Next,
    response::Response,
};
use std::sync::Arc;
use tracing::Instrument as _;

pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// No page of ours is framed, sniffed or asked to load anything; pages set a policy of their own.
const POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");

#[derive(Clone)]
pub struct Envelope {
    pub dice: Arc<dyn Dice>,
    pub vitals: Arc<Vitals>,
    /// Over https only: browsers then stay there.
    pub strict_transport: bool,
}

pub async fn envelope(State(envelope): State<Envelope>, request: Request, next: Next) -> Response {
    let stopwatch = Stopwatch::start();
    let id = draw_text(&*envelope.dice, 16);
    let route = request.extensions().get::<MatchedPath>().cloned();
    let span = tracing::info_span!(
        "http.request",
        id = id.as_str(),
        method = request.method().as_str(),
        route = route.as_ref().map(MatchedPath::as_str)
    );
    let mut response = next.run(request).instrument(span.clone()).await;
    let took = stopwatch.elapsed();
    let status = response.status();
    let route = route.as_ref().map(MatchedPath::as_str);
    envelope.vitals.answered(route, status, took);
    if let Some(Refused(code)) = response.extensions().get() {
        envelope.vitals.refused(*code);
    }
    span.in_scope(|| tracing::debug!(status = status.as_u16(), ?took, "answered"));
    envelope.seal(&mut response, &id);
    response
}

impl Envelope {
    /// Seals the answer of a listener whose requests are not counted.
    pub fn seal_with_new_id(
        State(envelope): State<Self>,
        mut response: Response,
    ) -> std::future::Ready<Response> {
        let id = draw_text(&*envelope.dice, 16);
        envelope.seal(&mut response, &id);
        std::future::ready(response)
    }

    fn seal(&self, response: &mut Response, id: &str) {
        let headers = response.headers_mut();
        if let Ok(id) = HeaderValue::from_str(id) {
            headers.insert(REQUEST_ID, id);
        }
        let nosniff = HeaderValue::from_static("nosniff");
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
        headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
        headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(POLICY);
        let nowhere = HeaderValue::from_static("no-referrer");
        headers.insert(header::REFERRER_POLICY, nowhere);
        if self.strict_transport {
            let year = HeaderValue::from_static("max-age=31536000");
            headers.insert(header::STRICT_TRANSPORT_SECURITY, year);
        }
    }
}
