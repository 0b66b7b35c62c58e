//! The published keys: RFC 7517 §5.

use crate::http::app::App;
use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};

pub async fn get(State(app): State<App>) -> Response {
    let headers = [
        (header::CONTENT_TYPE, app.fixed.jwks_type.clone()),
        // A key signs only after it has been published for as long as this.
        (header::CACHE_CONTROL, app.fixed.jwks_caching.clone()),
    ];
    let body = app.crypto.keys.borrow().jwks_json.clone();
    (headers, body).into_response()
}
