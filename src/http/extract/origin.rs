//! The address that a request comes from.

use super::address;
use crate::{http::app::App, transport::Peer};
use axum::{extract::FromRequestParts, http::request::Parts};
use std::{convert::Infallible, net::IpAddr};

/// The address of the client that sent a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin(pub IpAddr);

impl FromRequestParts<App> for Origin {
    type Rejection = Infallible;

    async fn from_request_parts(head: &mut Parts, app: &App) -> Result<Self, Infallible> {
        let peer = head.extensions.get::<Peer>();
        Ok(Self(address::of(peer, &head.headers, app.limits.pace.addresses())))
    }
}
