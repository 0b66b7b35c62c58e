//! A client that goes on acting for a person: RFC 6749 §6, every token rotated.

use super::{Compared, Load, Scripts, code::Exchange};
use crate::{
    Outcome,
    connection::{Answer, Connection},
    figures::Bound,
    load::{Script, Turn},
    portal::{Identity, Portal},
    scene::Scene,
    servers::{Server, Who},
    token,
};
use serde::Deserialize;
use std::borrow::Cow;

/// With ID tokens that are signed so.
pub struct Refresh(pub Identity);

impl Load for Refresh {
    fn name(&self) -> &'static str {
        match self.0 {
            Identity::Rs256 => "refresh",
            Identity::Es256 => "refresh_es256",
        }
    }

    fn about(&self) -> &'static str {
        if self.0 == Identity::Es256 {
            return "The same with an ID token that is signed by ES256.";
        }
        "`POST /connect/token` with a refresh token and the client's secret (Basic): a new access token \
         (ES256), ID token (RS256) and refresh token; the former one is spent. Each connection has a \
         family of its own."
    }

    fn scripts<'a>(&'a self, scene: &'a Scene, server: &'a Server, number: usize) -> Scripts<'a> {
        Box::pin(async move {
            let mut scripts: Vec<Box<dyn Script>> = Vec::new();
            for (portal, answer) in begun(scene, server, (self.0, number)).await? {
                scripts.push(Box::new(Rotation::after(portal, &answer)?));
            }
            Ok(scripts)
        })
    }

    fn check(&self, scene: &Scene, server: &Server, body: &[u8]) -> Outcome<()> {
        token::verify_of_person(server, scene, body, (None, self.0))
    }

    fn wanted(&self) -> &'static [(Compared, Who, Bound)] {
        &[
            (Compared::Rate, Who::Limit, Bound::Floor(0.7)),
            (Compared::Rate, Who::Peer, Bound::Floor(3.0)),
        ]
    }

    fn wanted_on_postgres(&self) -> &'static [(Compared, Who, Bound)] {
        &[(Compared::Rate, Who::Limit, Bound::Floor(0.75))]
    }

    fn most_commits(&self) -> Option<f64> {
        Some(2.0)
    }
}

/// Begins so many families; each comes with the answer that brought its first tokens.
pub async fn begun(
    scene: &Scene,
    server: &Server,
    (identity, number): (Identity, usize),
) -> Outcome<Vec<(Portal, Vec<u8>)>> {
    let mut connection = Connection::open(server.address).await?;
    let mut families = Vec::new();
    for email in &scene.people[..number] {
        let portal = Portal::with(server, scene, identity);
        let cookie = portal.sign_in(scene, email).await?;
        let mut exchange = Exchange::new(portal.clone(), &cookie);
        let answer = loop {
            let answer = connection.exchange(exchange.request()).await?;
            if let Turn::Done = exchange.answered(&answer)? {
                break answer.body.to_vec();
            }
        };
        families.push((portal, answer));
    }
    Ok(families)
}

/// Each token is got with the one before it.
pub struct Rotation {
    portal: Portal,
    request: Vec<u8>,
}

impl Rotation {
    /// Begins with the answer that brought a refresh token.
    pub fn after(portal: Portal, answer: &[u8]) -> Outcome<Self> {
        let request = portal.refresh(&next(answer)?);
        Ok(Self { portal, request })
    }
}

impl Script for Rotation {
    fn request(&mut self) -> &[u8] {
        &self.request
    }

    fn answered(&mut self, answer: &Answer<'_>) -> Outcome<Turn> {
        answer.success()?;
        self.request = self.portal.refresh(&next(answer.body)?);
        Ok(Turn::Done)
    }
}

/// Finds the next refresh token.
pub fn next(body: &[u8]) -> Outcome<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Issued<'a> {
        #[serde(borrow)]
        refresh_token: Cow<'a, str>,
    }
    let issued: Issued<'_> = serde_json::from_slice(body)?;
    Ok(issued.refresh_token)
}
