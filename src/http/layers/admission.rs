//! The timeout of a request: one that is meant for us is answered in time, or the caller is told that it was not.

use crate::http::{
    answer::error::{ErrorFormat, RequestFailure},
    hosts::Hosts,
    layers::cors::Cors,
};
use axum::{
    extract::{Request, State},
    http::{Version, header},
    middleware::Next,
    response::Response,
};
use std::{convert::Infallible, time::Duration};

#[derive(Clone)]
pub struct Admission {
    pub hosts: Hosts,
    /// How long a request may take once its head is here.
    pub deadline: Duration,
    /// Which pages of other sites may ask.
    pub cors: Cors,
    /// How the endpoint words its refusals.
    pub error_format: ErrorFormat,
    /// Whether a request of HTTP/1.0 may name no host.
    pub admits_hostless: bool,
}

/// For the operator's listener, where nothing else stands around the endpoints.
pub async fn admit(State(admission): State<Admission>, request: Request, next: Next) -> Response {
    let origin = request.headers().get(header::ORIGIN).cloned();
    let mut response = match admission.answer_at_once(&request) {
        Some(answer) => answer,
        None => admission.in_time(async { Ok(next.run(request).await) }).await,
    };
    admission.cors.open(origin, &mut response);
    response
}

impl Admission {
    /// Of the public listener; each family of endpoints says how it words refusals and who may ask.
    pub fn public(hosts: Hosts, deadline: Duration) -> Self {
        let (cors, error_format, admits_hostless) = (Cors::NoPage, ErrorFormat::Problem, false);
        Self { hosts, deadline, cors, error_format, admits_hostless }
    }

    /// Answers what is not meant for an endpoint: another host's requests, and questions of browsers.
    pub fn answer_at_once(&self, request: &Request) -> Option<Response> {
        let stopped = self.hosts.judge(request).err();
        // A check of a load balancer may name no host; no browser speaks HTTP/1.0.
        let hostless =
            request.version() < Version::HTTP_11 && stopped == Some(RequestFailure::MissingHost);
        let stopped = stopped.filter(|_| !(self.admits_hostless && hostless));
        stopped.map(|why| self.error_format.word(why)).or_else(|| self.cors.preflight(request))
    }

    /// Waits for an answer as long as it may take.
    pub async fn in_time(
        &self,
        answering: impl Future<Output = Result<Response, Infallible>>,
    ) -> Response {
        match tokio::time::timeout(self.deadline, answering).await {
            Ok(Ok(response)) => response,
            // A body that came too late was refused before: this is our own slowness.
            Err(_late) => self.error_format.word(RequestFailure::Late),
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
        let admission = Admission::public(Hosts::Any, Duration::ZERO);
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
