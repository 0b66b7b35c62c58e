//! A client that asks a person who is elsewhere, and asks again before they have decided: OpenID CIBA Core 1.0.

use super::{Compared, Load, Scripts};
use crate::{
    Outcome,
    connection::Answer,
    figures::Bound,
    load::{Script, Turn},
    request::{parameters, post_form},
    scene::Scene,
    servers::{CIBA, Server, TOKEN, Who},
};
use serde::Deserialize;
use std::{borrow::Cow, net::SocketAddr};

pub struct Ciba;

const GRANT: &str = "urn:openid:params:grant-type:ciba";

#[derive(Deserialize)]
struct Begun<'a> {
    #[serde(borrow)]
    auth_req_id: Cow<'a, str>,
}

impl Load for Ciba {
    fn name(&self) -> &'static str {
        "ciba"
    }

    fn about(&self) -> &'static str {
        "One operation is two requests of a client with its secret (Basic): `POST /connect/ciba` with the \
         address of a person, and one poll of `POST /connect/token`, which is told that the person has not \
         decided yet. The poll commits nothing. Each connection asks another person."
    }

    fn scripts<'a>(&'a self, scene: &'a Scene, server: &'a Server, number: usize) -> Scripts<'a> {
        Box::pin(async move {
            let script = |email: &String| {
                Box::new(Asking::new(scene, server.address, email)) as Box<dyn Script>
            };
            Ok(scene.people[..number].iter().map(script).collect())
        })
    }

    fn check(&self, _scene: &Scene, _server: &Server, body: &[u8]) -> Outcome<()> {
        is_pending(body)
    }

    fn wanted(&self) -> &'static [(Compared, Who, Bound)] {
        &[
            (Compared::Rate, Who::Limit, Bound::Floor(0.5)),
            (Compared::Rate, Who::Peer, Bound::Floor(2.2)),
        ]
    }

    fn most_commits(&self) -> Option<f64> {
        Some(1.0)
    }
}

/// Fails unless a poll was told to go on waiting.
pub fn is_pending(body: &[u8]) -> Outcome<()> {
    let said: serde_json::Value = serde_json::from_slice(body)?;
    if said["error"] == "authorization_pending" { Ok(()) } else { Err(said.to_string().into()) }
}

/// A request and a poll, and then the next request.
struct Asking {
    begin: Vec<u8>,
    polling: Polling,
    poll: Option<Vec<u8>>,
}

impl Asking {
    fn new(scene: &Scene, address: SocketAddr, email: &str) -> Self {
        let polling = Polling::at(scene, address);
        Self { begin: polling.begin(email), polling, poll: None }
    }
}

impl Script for Asking {
    fn request(&mut self) -> &[u8] {
        self.poll.as_ref().unwrap_or(&self.begin)
    }

    fn answered(&mut self, answer: &Answer<'_>) -> Outcome<Turn> {
        if self.poll.take().is_some() {
            return if answer.status == 400 { Ok(Turn::Done) } else { Err(answer.unexpected()) };
        }
        self.poll = Some(self.polling.poll(&begun(answer)?));
        Ok(Turn::GoesOn)
    }
}

/// Returns the `auth_req_id` of an answer.
pub fn begun(answer: &Answer<'_>) -> Outcome<String> {
    answer.success()?;
    let Begun { auth_req_id } = serde_json::from_slice(answer.body)?;
    Ok(auth_req_id.into_owned())
}

/// How the client asks at one server.
#[derive(Clone)]
pub struct Polling {
    address: SocketAddr,
    credentials: String,
}

impl Polling {
    pub fn at(scene: &Scene, address: SocketAddr) -> Self {
        Self { address, credentials: scene.credentials(&scene.agent) }
    }

    /// Asks a person.
    pub fn begin(&self, email: &str) -> Vec<u8> {
        let message = "W4SCT";
        self.post(CIBA, &[("scope", "openid"), ("login_hint", email), ("binding_message", message)])
    }

    /// Asks whether they have decided.
    pub fn poll(&self, auth_req_id: &str) -> Vec<u8> {
        self.post(TOKEN, &[("grant_type", GRANT), ("auth_req_id", auth_req_id)])
    }

    fn post(&self, path: &str, pairs: &[(&str, &str)]) -> Vec<u8> {
        let fields = [("Authorization", self.credentials.as_str())];
        post_form(self.address, path, &fields, &parameters(pairs))
    }
}
