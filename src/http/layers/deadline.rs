//! A request is answered in time, or told that it was not: slow bodies included.

use crate::http::error::{Stopped, Voice};
use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use std::time::Duration;

/// How long a request may take once its headers are here.
#[derive(Clone, Copy)]
pub struct Deadline(pub Duration);

pub async fn meet(
    State(Deadline(most)): State<Deadline>,
    request: Request,
    next: Next,
) -> Response {
    let voice = Voice::of(request.uri().path());
    match tokio::time::timeout(most, next.run(request)).await {
        Ok(response) => response,
        Err(_late) => voice.word(Stopped::Late),
    }
}
