//! A client that gives a token back: RFC 7009.

use super::{Compared, Load, Scripts};
use crate::{
    Outcome,
    connection::Answer,
    figures::Bound,
    load::{Script, Turn},
    request::{parameters, post_form},
    scene::Scene,
    servers::{REVOKE, Server, TOKEN, Who},
};
use serde_json::Value;
use std::net::SocketAddr;

pub struct Revocation;

impl Load for Revocation {
    fn name(&self) -> &'static str {
        "revocation"
    }

    fn about(&self) -> &'static str {
        "One operation is two requests: an access token for the client in its own name, and `POST /connect/revoke` of it."
    }

    fn scripts<'a>(&'a self, scene: &'a Scene, server: &'a Server, number: usize) -> Scripts<'a> {
        let credentials = scene.credentials(&scene.client_id);
        let mut form = vec![("grant_type", "client_credentials")];
        let scope = scene.scope();
        // The peer keeps tokens that are for no API, and revokes no others.
        if server.who != Who::Peer {
            form.push(("scope", &scope));
        }
        let fields = [("Authorization", credentials.as_str())];
        let ask = post_form(server.address, TOKEN, &fields, &parameters(&form));
        let address = server.address;
        let script = move |_| {
            let (ask, credentials) = (ask.clone(), credentials.clone());
            Box::new(GiveBack { address, credentials, ask, revoke: None }) as Box<dyn Script>
        };
        Box::pin(async move { Ok((0..number).map(script).collect()) })
    }

    fn check(&self, _: &Scene, _: &Server, _: &[u8]) -> Outcome<()> {
        Ok(())
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

struct GiveBack {
    address: SocketAddr,
    credentials: String,
    ask: Vec<u8>,
    /// Of the token that was issued last.
    revoke: Option<Vec<u8>>,
}

impl Script for GiveBack {
    fn request(&mut self) -> &[u8] {
        self.revoke.as_ref().unwrap_or(&self.ask)
    }

    fn answered(&mut self, answer: &Answer<'_>) -> Outcome<Turn> {
        answer.success()?;
        if self.revoke.take().is_some() {
            return Ok(Turn::Done);
        }
        let said: Value = serde_json::from_slice(answer.body)?;
        let token = said["access_token"].as_str().ok_or("no token was issued")?;
        let fields = [("Authorization", self.credentials.as_str())];
        let form = parameters(&[("token", token)]);
        self.revoke = Some(post_form(self.address, REVOKE, &fields, &form));
        Ok(Turn::GoesOn)
    }
}
