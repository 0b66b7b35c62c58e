//! The published keys, which every resource server fetches.

use super::{Compared, Load, Scripts};
use crate::{
    Outcome,
    figures::Bound,
    load::{Always, Script},
    request::get,
    scene::Scene,
    servers::{JWKS, Server, Who},
};
use jsonwebtoken::jwk::JwkSet;

pub struct Jwks;

impl Load for Jwks {
    fn name(&self) -> &'static str {
        "jwks"
    }

    fn about(&self) -> &'static str {
        "`GET /connect/jwks`: one key each for RS256, ES256 and EdDSA."
    }

    fn scripts<'a>(&'a self, _scene: &'a Scene, server: &'a Server, number: usize) -> Scripts<'a> {
        let script = |_| Box::new(Always(get(server.address, JWKS, &[]))) as Box<dyn Script>;
        Box::pin(async move { Ok((0..number).map(script).collect()) })
    }

    fn check(&self, _scene: &Scene, server: &Server, body: &[u8]) -> Outcome<()> {
        let published: JwkSet = serde_json::from_slice(body)?;
        (published == server.keys).then_some(()).ok_or_else(|| "these are other keys".into())
    }

    fn wanted(&self) -> &'static [(Compared, Who, Bound)] {
        &[(Compared::Rate, Who::Limit, Bound::Floor(0.5))]
    }
}
