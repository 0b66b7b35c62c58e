//! A person with a live session and the client they use: RFC 6749 §4.1 with RFC 7636, OIDC Core §3.1.

use super::{Compared, Load, Scripts};
use crate::{
    Outcome,
    connection::Answer,
    figures::Bound,
    load::{Script, Turn},
    portal::{Identity, NONCE, Portal, code_in},
    scene::Scene,
    servers::{Server, Who},
    token,
};

/// With ID tokens that are signed so.
pub struct Code(pub Identity);

impl Load for Code {
    fn name(&self) -> &'static str {
        match self.0 {
            Identity::Rs256 => "code",
            Identity::Es256 => "code_es256",
        }
    }

    fn about(&self) -> &'static str {
        if self.0 == Identity::Es256 {
            return "The same with an ID token that is signed by ES256.";
        }
        "One operation is two requests: `GET /connect/authorize` in a browser that is signed in, answered \
         by a redirect with a code, and `POST /connect/token` with the code, its verifier and the client's \
         secret (Basic). It gets an access token (ES256), an ID token (RS256) and a refresh token. Each \
         connection is another person, who has consented before."
    }

    fn scripts<'a>(&'a self, scene: &'a Scene, server: &'a Server, number: usize) -> Scripts<'a> {
        Box::pin(async move {
            let mut scripts: Vec<Box<dyn Script>> = Vec::new();
            for email in &scene.people[..number] {
                let portal = Portal::with(server, scene, self.0);
                let cookie = portal.sign_in(scene, email).await?;
                scripts.push(Box::new(Exchange::new(portal, &cookie)));
            }
            Ok(scripts)
        })
    }

    fn check(&self, scene: &Scene, server: &Server, body: &[u8]) -> Outcome<()> {
        token::verify_of_person(server, scene, body, (Some(NONCE), self.0))
    }

    fn wanted(&self) -> &'static [(Compared, Who, Bound)] {
        &[
            (Compared::Rate, Who::Limit, Bound::Floor(0.55)),
            (Compared::Rate, Who::Peer, Bound::Floor(3.5)),
        ]
    }

    fn wanted_on_postgres(&self) -> &'static [(Compared, Who, Bound)] {
        &[(Compared::Rate, Who::Limit, Bound::Floor(0.5))]
    }

    fn most_commits(&self) -> Option<f64> {
        Some(3.0)
    }
}

/// A code, and then the tokens for it.
pub struct Exchange {
    portal: Portal,
    authorize: Vec<u8>,
    /// With the code that was given last.
    redeem: Option<Vec<u8>>,
}

impl Exchange {
    pub fn new(portal: Portal, cookie: &str) -> Self {
        Self { authorize: portal.authorize(cookie), portal, redeem: None }
    }
}

impl Script for Exchange {
    fn request(&mut self) -> &[u8] {
        self.redeem.as_ref().unwrap_or(&self.authorize)
    }

    fn answered(&mut self, answer: &Answer<'_>) -> Outcome<Turn> {
        if self.redeem.take().is_none() {
            self.redeem = Some(self.portal.redeem(code_in(answer.location()?)?));
            return Ok(Turn::GoesOn);
        }
        answer.success()?;
        Ok(Turn::Done)
    }
}
