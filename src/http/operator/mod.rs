//! What operators ask, on a listener of their own: `/metrics`, `/livez`, `/readyz`.

mod exposition;
mod metrics;

use super::{
    answer::error::{ErrorFormat, Problem},
    hosts::Hosts,
    layers::{
        admission::{self, Admission},
        cors::Cors,
        envelope::{Envelope, EnvelopeOptions},
    },
    vitals::Vitals,
};
use crate::{
    actors::INSTALLATION,
    domain::{
        Machine as _,
        signing_keys::{SigningAlgorithm, SigningKeys},
    },
    system::System,
    transport::Meter,
};
use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    middleware::{from_fn_with_state, map_response_with_state},
    response::{IntoResponse, Response},
    routing::get,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

/// How long the store may take to show that it is there.
const STORE_TIMEOUT: Duration = Duration::from_secs(2);

/// How long an operator's request may take.
const DEADLINE: Duration = Duration::from_secs(10);

/// What the operator's endpoints look at.
#[derive(Clone)]
pub struct Operator {
    pub system: Arc<System>,
    pub vitals: Arc<Vitals>,
    /// The public listener.
    pub meter: Meter,
    pub leaving: LeavingFlag,
    pub hosts: Hosts,
}

/// Whether this node is on its way out; clones are the same.
#[derive(Clone, Default)]
pub struct LeavingFlag(Arc<AtomicBool>);

impl LeavingFlag {
    /// From now on no load balancer should send requests here.
    pub fn begin(&self) {
        self.0.store(true, Relaxed);
    }
}

impl Operator {
    pub fn router(self) -> Router {
        let envelope = Envelope::new(EnvelopeOptions {
            dice: &*self.system.dice(),
            vitals: self.vitals.clone(),
            addresses: Arc::default(),
            strict_transport: false,
        });
        let admission = Admission {
            hosts: self.hosts,
            deadline: DEADLINE,
            cors: Cors::NoPage,
            error_format: ErrorFormat::Problem,
            // The usual check of HAProxy is HTTP/1.0 without a Host.
            admits_hostless: true,
        };
        Router::new()
            .route("/metrics", get(metrics))
            .route("/livez", get(livez))
            .route("/readyz", get(readyz))
            .fallback(async || Problem::NOT_FOUND)
            .method_not_allowed_fallback(async || Problem::METHOD_NOT_ALLOWED)
            .layer(from_fn_with_state(admission, admission::admit))
            .layer(map_response_with_state(envelope, Envelope::seal_uncounted))
            .with_state(self)
    }

    /// Says why no request should be sent here, if so.
    async fn trouble(&self) -> Option<&'static str> {
        if self.leaving.0.load(Relaxed) {
            return Some("this node is leaving");
        }
        if self.system.keys().borrow().signer(SigningAlgorithm::Es256).is_none() {
            return Some("there is no key to sign with");
        }
        if !self.system.keys().borrow().can_sign(SigningAlgorithm::Es256) {
            return Some("the signing keys are out of reach");
        }
        let reads = self.system.fresh_reads();
        let seen = reads.version(SigningKeys::KIND, INSTALLATION);
        match tokio::time::timeout(STORE_TIMEOUT, seen).await {
            Ok(Ok(_)) => None,
            Ok(Err(_)) => Some("the store cannot be read"),
            Err(_late) => Some("the store does not answer"),
        }
    }
}

async fn livez() -> Response {
    plain(StatusCode::OK, "alive\n")
}

async fn readyz(State(operator): State<Operator>) -> Response {
    match operator.trouble().await {
        None => plain(StatusCode::OK, "ready\n"),
        Some(why) => plain(StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
    }
}

async fn metrics(State(operator): State<Operator>) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, metrics::scrape(&operator)).into_response()
}

fn plain(status: StatusCode, text: impl Into<String>) -> Response {
    let headers =
        [(header::CONTENT_TYPE, "text/plain; charset=utf-8"), (header::CACHE_CONTROL, "no-store")];
    (status, headers, text.into()).into_response()
}
