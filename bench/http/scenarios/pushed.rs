//! Pushed requests: RFC 9126, alone and on the way to tokens.

use super::{Compared, Load, Scripts};
use crate::{
    Outcome,
    connection::Answer,
    figures::Bound,
    load::{Always, Script, Turn},
    portal::{Identity, NONCE, Portal, code_in},
    scene::Scene,
    servers::{Server, Who},
    token,
};
use serde::Deserialize;
use std::borrow::Cow;

pub struct Push;

pub struct CodeByPush;

#[derive(Deserialize)]
struct Pushed<'a> {
    #[serde(borrow)]
    request_uri: Cow<'a, str>,
}

impl Load for Push {
    fn name(&self) -> &'static str {
        "par"
    }

    fn about(&self) -> &'static str {
        "`POST /connect/par`: the client authenticates with its secret (Basic) and pushes the request of the \
         scenario `code`. Porteiro seals it in its `request_uri` and commits nothing."
    }

    fn scripts<'a>(&'a self, scene: &'a Scene, server: &'a Server, number: usize) -> Scripts<'a> {
        let request = Portal::at(server, scene).push();
        let script = move |_| Box::new(Always(request.clone())) as Box<dyn Script>;
        Box::pin(async move { Ok((0..number).map(script).collect()) })
    }

    fn check(&self, _scene: &Scene, _server: &Server, body: &[u8]) -> Outcome<()> {
        let Pushed { request_uri } = serde_json::from_slice(body)?;
        if request_uri.starts_with("urn:ietf:params:oauth:request_uri:") {
            return Ok(());
        }
        Err(format!("{request_uri} is not pushed").into())
    }

    fn wanted(&self) -> &'static [(Compared, Who, Bound)] {
        &[
            (Compared::Rate, Who::Limit, Bound::Floor(0.5)),
            (Compared::Rate, Who::Peer, Bound::Floor(2.2)),
        ]
    }
}

impl Load for CodeByPush {
    fn name(&self) -> &'static str {
        "code_by_par"
    }

    fn about(&self) -> &'static str {
        "One operation is three requests: the push, `GET /connect/authorize` with its `request_uri` in a \
         browser that is signed in, and `POST /connect/token` with the code."
    }

    fn scripts<'a>(&'a self, scene: &'a Scene, server: &'a Server, number: usize) -> Scripts<'a> {
        Box::pin(async move {
            let mut scripts: Vec<Box<dyn Script>> = Vec::new();
            for email in &scene.people[..number] {
                let portal = Portal::at(server, scene);
                let cookie = portal.sign_in(scene, email).await?;
                let (push, next) = (portal.push(), Next::Push);
                scripts.push(Box::new(Exchange { portal, cookie, push, request: vec![], next }));
            }
            Ok(scripts)
        })
    }

    fn check(&self, scene: &Scene, server: &Server, body: &[u8]) -> Outcome<()> {
        token::verify_of_person(server, scene, body, (Some(NONCE), Identity::Rs256))
    }

    fn wanted(&self) -> &'static [(Compared, Who, Bound)] {
        &[
            (Compared::Rate, Who::Limit, Bound::Floor(0.5)),
            (Compared::Rate, Who::Peer, Bound::Floor(3.0)),
        ]
    }

    fn most_commits(&self) -> Option<f64> {
        Some(3.0)
    }
}

/// What is asked next.
enum Next {
    Push,
    Authorize,
    Redeem,
}

struct Exchange {
    portal: Portal,
    cookie: String,
    push: Vec<u8>,
    request: Vec<u8>,
    next: Next,
}

impl Script for Exchange {
    fn request(&mut self) -> &[u8] {
        if matches!(self.next, Next::Push) { &self.push } else { &self.request }
    }

    fn answered(&mut self, answer: &Answer<'_>) -> Outcome<Turn> {
        match self.next {
            Next::Push => {
                answer.success()?;
                let Pushed { request_uri } = serde_json::from_slice(answer.body)?;
                self.request = self.portal.authorize_pushed(&request_uri, &self.cookie);
                self.next = Next::Authorize;
                Ok(Turn::GoesOn)
            }
            Next::Authorize => {
                self.request = self.portal.redeem(code_in(answer.location()?)?);
                self.next = Next::Redeem;
                Ok(Turn::GoesOn)
            }
            Next::Redeem => {
                answer.success()?;
                self.next = Next::Push;
                Ok(Turn::Done)
            }
        }
    }
}
