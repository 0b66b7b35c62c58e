//! Single sign-on: where a provider sends the browser back, and where it tells of a logout (contract §4, adr/0138). Each
//! connection has addresses of its own (RFC 9700 §4.4.2.1).

pub mod callback;
pub mod logout;
mod posted_answer;

use crate::{
    domain::connection::is_id,
    http::{answer::error::Problem, app::App},
};
use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
};

/// The id of a connection in an address; what cannot be one is the id of none.
pub struct ConnectionId(pub String);

impl FromRequestParts<App> for ConnectionId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let id: Result<Path<String>, _> = Path::from_request_parts(parts, app).await;
        let id = id.ok().map(|Path(id)| id).filter(|id| is_id(id));
        id.map(Self).ok_or(Problem::NOT_FOUND)
    }
}
