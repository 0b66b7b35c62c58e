//! The address that a request comes from.

use super::address::client_address;
use crate::{http::app::App, transport::Peer};
use axum::{extract::FromRequestParts, http::request::Parts};
use std::{
    convert::Infallible,
    net::{IpAddr, Ipv4Addr},
};

/// The address of whoever sent a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin(pub IpAddr);

impl FromRequestParts<App> for Origin {
    type Rejection = Infallible;

    async fn from_request_parts(head: &mut Parts, app: &App) -> Result<Self, Infallible> {
        // Our listeners always say who it is; without them everybody is the same stranger.
        let peer = head.extensions.get::<Peer>().map(|peer| peer.address.ip());
        let peer = peer.unwrap_or(Ipv4Addr::UNSPECIFIED.into());
        Ok(Self(client_address(peer, &head.headers, app.pace.proxies())))
    }
}
