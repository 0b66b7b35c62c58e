//! A request that is meant for us is answered in time, or told that it was not.

use super::host::Hosts;
use crate::http::error::{Stopped, Voice};
use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use std::time::Duration;

#[derive(Clone, Copy)]
pub struct Admission {
    pub hosts: Hosts,
    /// How long a request may take once its head is here.
    pub deadline: Duration,
}

pub async fn admit(State(admission): State<Admission>, request: Request, next: Next) -> Response {
    let voice = Voice::of(request.uri().path());
    if let Err(stopped) = admission.hosts.judge(&request) {
        return voice.word(stopped);
    }
    match tokio::time::timeout(admission.deadline, next.run(request)).await {
        Ok(response) => response,
        Err(_late) => voice.word(Stopped::Late),
    }
}
