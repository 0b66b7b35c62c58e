//! A request that is meant for us is answered in time, or the caller is told that it was not.

use super::{cors::Cors, host::Hosts};
use crate::http::answer::error::{Stopped, Voice};
use axum::{
    extract::{Request, State},
    http::header,
    middleware::Next,
    response::Response,
};
use std::time::Duration;

#[derive(Clone)]
pub struct Admission {
    pub hosts: Hosts,
    /// How long a request may take once its head is here.
    pub deadline: Duration,
    /// Which pages of other sites may ask.
    pub cors: Cors,
    /// How the endpoint words its refusals.
    pub voice: Voice,
}

pub async fn admit(State(admission): State<Admission>, request: Request, next: Next) -> Response {
    let origin = request.headers().get(header::ORIGIN).cloned();
    let mut response = admission.decide(request, next).await;
    // Refusals too: a program that cannot read them cannot tell what was wrong.
    admission.cors.open(origin, &mut response);
    response
}

impl Admission {
    async fn decide(&self, request: Request, next: Next) -> Response {
        let voice = self.voice;
        if let Err(stopped) = self.hosts.judge(&request) {
            return voice.word(stopped);
        }
        if let Some(allowed) = self.cors.preflight(&request) {
            return allowed;
        }
        match tokio::time::timeout(self.deadline, next.run(request)).await {
            Ok(response) => response,
            // A body that came too late was refused before: this is our own slowness.
            Err(_late) => voice.word(Stopped::Late),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::{Router, body::Body, middleware::from_fn_with_state, routing::get};
    use std::future::pending;
    use tower::ServiceExt as _;

    #[tokio::test]
    async fn the_servers_own_slowness_is_503_and_says_when_to_come_back() {
        let admission = Admission {
            hosts: Hosts::Any,
            deadline: Duration::ZERO,
            cors: Cors::NoPage,
            voice: Voice::Problem,
        };
        for path in ["/connect/token", "/flows"] {
            let stuck = Router::new()
                .route(path, get(pending::<()>))
                .layer(from_fn_with_state(admission.clone(), admit));
            let request = Request::get(path).header(header::HOST, "a").body(Body::empty());
            let answer = stuck.oneshot(request.unwrap()).await.unwrap();
            assert_eq!(answer.status(), 503, "{path}");
            assert_eq!(answer.headers()[header::RETRY_AFTER], "1", "{path}");
        }
    }
}
