//! The document every relying party reads first.

use super::{Compared, Load, Scripts};
use crate::{
    Outcome,
    figures::Bound,
    load::{Always, Script},
    request::get,
    scene::Scene,
    servers::{DISCOVERY, Server, Who},
};
use serde_json::Value;

pub struct Discovery;

impl Load for Discovery {
    fn name(&self) -> &'static str {
        "discovery"
    }

    fn about(&self) -> &'static str {
        "`GET /.well-known/openid-configuration`. The peer's document is its own and longer or shorter \
         than Porteiro's; the limit's is Porteiro's, byte for byte."
    }

    fn scripts<'a>(&'a self, _scene: &'a Scene, server: &'a Server, number: usize) -> Scripts<'a> {
        let script = |_| Box::new(Always(get(server.address, DISCOVERY, &[]))) as Box<dyn Script>;
        Box::pin(async move { Ok((0..number).map(script).collect()) })
    }

    fn check(&self, _scene: &Scene, _server: &Server, body: &[u8]) -> Outcome<()> {
        let document: Value = serde_json::from_slice(body)?;
        let told = document["issuer"].is_string() && document["jwks_uri"].is_string();
        told.then_some(()).ok_or_else(|| "the document names no issuer or no keys".into())
    }

    fn wanted(&self) -> &'static [(Compared, Who, Bound)] {
        &[
            (Compared::Rate, Who::Limit, Bound::Floor(0.75)),
            (Compared::Rate, Who::Peer, Bound::Floor(8.0)),
        ]
    }
}
