//! A client in its own name that signs who it is: RFC 7523.

use super::{Compared, Load, Scripts};
use crate::{
    Outcome,
    connection::Answer,
    figures::Bound,
    load::{Script, Turn},
    request::{parameters, post_form},
    scene::Scene,
    servers::{Server, TOKEN, Who},
    token,
};
use std::net::SocketAddr;

pub struct PrivateKeyJwt;

impl Load for PrivateKeyJwt {
    fn name(&self) -> &'static str {
        "private_key_jwt"
    }

    fn about(&self) -> &'static str {
        "`POST /connect/token`: the client signs who it is (ES256), asks for two scopes, and gets an access \
         token. Each assertion is used once: Porteiro and the limit commit a row for it. The generator \
         signs as well, on the same machine."
    }

    fn scripts<'a>(&'a self, scene: &'a Scene, server: &'a Server, number: usize) -> Scripts<'a> {
        Box::pin(async move {
            let script = || {
                let mut one = Assertions {
                    scene: scene.clone(),
                    issuer: server.issuer.clone(),
                    address: server.address,
                    request: Vec::new(),
                };
                one.next()?;
                Ok(Box::new(one) as Box<dyn Script>)
            };
            (0..number).map(|_| script()).collect()
        })
    }

    fn check(&self, scene: &Scene, server: &Server, body: &[u8]) -> Outcome<()> {
        token::verify_of(server, scene, body, &scene.signer)
    }

    fn wanted(&self) -> &'static [(Compared, Who, Bound)] {
        &[
            (Compared::Rate, Who::Limit, Bound::Floor(0.5)),
            (Compared::Rate, Who::Peer, Bound::Floor(3.0)),
        ]
    }

    fn most_commits(&self) -> Option<f64> {
        Some(1.0)
    }
}

struct Assertions {
    scene: Scene,
    issuer: String,
    address: SocketAddr,
    request: Vec<u8>,
}

impl Assertions {
    fn next(&mut self) -> Outcome<()> {
        let assertion = self.scene.key.assert(&self.scene.signer, &self.issuer)?;
        self.request = request(self.address, &self.scene.scope(), &assertion, &[]);
        Ok(())
    }
}

/// Asks for a token with an assertion, and other header fields.
pub fn request(
    address: SocketAddr,
    scope: &str,
    assertion: &str,
    fields: &[(&str, &str)],
) -> Vec<u8> {
    let form = parameters(&[
        ("grant_type", "client_credentials"),
        ("scope", scope),
        ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
        ("client_assertion", assertion),
    ]);
    post_form(address, TOKEN, fields, &form)
}

impl Script for Assertions {
    fn request(&mut self) -> &[u8] {
        &self.request
    }

    fn answered(&mut self, answer: &Answer<'_>) -> Outcome<Turn> {
        answer.success()?;
        self.next()?;
        Ok(Turn::Done)
    }
}
