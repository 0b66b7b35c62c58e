//! A client that registers itself: RFC 7591.

use super::{Compared, Load, Scripts};
use crate::{
    Outcome,
    figures::Bound,
    load::{Always, Script},
    request::post_json,
    scene::Scene,
    servers::{REGISTER, Server, Who},
};
use serde_json::{Value, json};

pub struct Registration;

impl Load for Registration {
    fn name(&self) -> &'static str {
        "registration"
    }

    fn about(&self) -> &'static str {
        "`POST /connect/register` by a client with a secret for codes and refresh tokens. Each is another client."
    }

    fn scripts<'a>(&'a self, scene: &'a Scene, server: &'a Server, number: usize) -> Scripts<'a> {
        let metadata = json!({
            "client_name": "Reports",
            "redirect_uris": [scene.redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "client_secret_basic",
        });
        let request = post_json(server.address, REGISTER, &[], &metadata);
        let script = move |_| Box::new(Always(request.clone())) as Box<dyn Script>;
        Box::pin(async move { Ok((0..number).map(script).collect()) })
    }

    fn check(&self, _: &Scene, _: &Server, body: &[u8]) -> Outcome<()> {
        let said: Value = serde_json::from_slice(body)?;
        let has = |name: &str| said[name].as_str().is_some_and(|text| !text.is_empty());
        if has("client_id") && has("client_secret") {
            return Ok(());
        }
        Err(format!("this is no client: {said}").into())
    }

    fn wanted(&self) -> &'static [(Compared, Who, Bound)] {
        &[
            (Compared::Rate, Who::Limit, Bound::Floor(0.5)),
            (Compared::Rate, Who::Peer, Bound::Floor(2.2)),
        ]
    }

    fn most_commits(&self) -> Option<f64> {
        Some(1.2)
    }
}
