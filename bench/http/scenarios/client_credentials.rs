//! A client in its own name: RFC 6749 §4.4, authenticated by `client_secret_basic`.

use super::{Compared, Load, Scripts};
use crate::{
    Outcome,
    figures::Bound,
    load::{Always, Script},
    request::{parameters, post_form},
    scene::Scene,
    servers::{Server, TOKEN, Who},
    token,
};

pub struct ClientCredentials;

impl Load for ClientCredentials {
    fn name(&self) -> &'static str {
        "client_credentials"
    }

    fn about(&self) -> &'static str {
        "`POST /connect/token`: the client authenticates with its secret (Basic), asks for two scopes, \
         and gets an access token signed with ES256."
    }

    fn scripts<'a>(&'a self, scene: &'a Scene, server: &'a Server, number: usize) -> Scripts<'a> {
        let request = request(scene, server);
        let script = move |_| Box::new(Always(request.clone())) as Box<dyn Script>;
        Box::pin(async move { Ok((0..number).map(script).collect()) })
    }

    fn check(&self, scene: &Scene, server: &Server, body: &[u8]) -> Outcome<()> {
        token::verify(server, scene, body)
    }

    fn wanted(&self) -> &'static [(Compared, Who, Bound)] {
        &[
            (Compared::Rate, Who::Limit, Bound::Floor(0.75)),
            (Compared::Rate, Who::Peer, Bound::Floor(8.0)),
            (Compared::Cpu, Who::Peer, Bound::Ceiling(0.15)),
        ]
    }
}

fn request(scene: &Scene, server: &Server) -> Vec<u8> {
    let form = parameters(&[("grant_type", "client_credentials"), ("scope", &scene.scope())]);
    let credentials = scene.credentials(&scene.client_id);
    post_form(server.address, TOKEN, &[("Authorization", &credentials)], &form)
}
