//! There is room for so many requests at once; whoever finds none is told to come back.

use crate::http::error::{Stopped, Voice};
use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Mailboxes below have no bound of their own: this is where memory is bounded.
#[derive(Clone)]
pub struct Room(Arc<Semaphore>);

impl Room {
    pub fn for_requests(most: usize) -> Self {
        Self(Arc::new(Semaphore::new(most)))
    }
}

pub async fn shed(State(room): State<Room>, request: Request, next: Next) -> Response {
    match room.0.try_acquire() {
        Ok(_place) => next.run(request).await,
        Err(_full) => Voice::of(request.uri().path()).word(Stopped::Busy),
    }
}
