//! The context of a request: what records of the security log say of where it came from.

use super::origin::Origin;
use crate::{domain::Context, http::app::App};
use axum::{
    extract::FromRequestParts,
    http::{HeaderValue, header, request::Parts},
};
use std::{convert::Infallible, sync::Arc};

/// The id of a request, as its answer names it; the envelope layer gives it.
#[derive(Clone)]
pub struct RequestId(pub Arc<str>);

/// Where a request comes from; who acts is not known yet.
pub struct RequestContext(pub Context);

impl FromRequestParts<App> for RequestContext {
    type Rejection = Infallible;

    async fn from_request_parts(head: &mut Parts, app: &App) -> Result<Self, Infallible> {
        let Origin(address) = Origin::from_request_parts(head, app).await?;
        let user_agent = head.headers.get(header::USER_AGENT).map(HeaderValue::as_bytes);
        let id = head.extensions.get::<RequestId>().map(|RequestId(id)| id.clone());
        Ok(Self(Context::request(address, user_agent, id)))
    }
}
