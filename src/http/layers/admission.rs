//! A request that is meant for us is answered in time, or told that it was not.

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
            Err(_late) => voice.word(Stopped::Late),
        }
    }
}
