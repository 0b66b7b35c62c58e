//! A client that goes on acting for a person: RFC 6749 §6, every token rotated.

use super::{Compared, Load, Scripts, code::Exchange};
use crate::{
    Outcome,
    connection::{Answer, Connection},
    figures::Bound,
    load::{Script, Turn},
    portal::Portal,
    scene::Scene,
    servers::{Server, Who},
    token,
};
use serde::Deserialize;
use std::borrow::Cow;

pub struct Refresh;

impl Load for Refresh {
    fn name(&self) -> &'static str {
        "refresh"
    }

    fn about(&self) -> &'static str {
        "`POST /connect/token` with a refresh token and the client's secret (Basic): a new access token \
         (ES256), ID token (RS256) and refresh token; the former one is spent. Each connection has a \
         family of its own."
    }

    fn scripts<'a>(&'a self, scene: &'a Scene, server: &'a Server, number: usize) -> Scripts<'a> {
        Box::pin(async move {
            let mut connection = Connection::open(server.address).await?;
            let mut scripts: Vec<Box<dyn Script>> = Vec::new();
            for email in &scene.people[..number] {
                let portal = Portal::at(server, scene);
                let cookie = portal.sign_in(scene, email).await?;
                let mut exchange = Exchange::new(portal.clone(), &cookie);
                let first = loop {
                    let answer = connection.exchange(exchange.request()).await?;
                    if let Turn::Done = exchange.answered(&answer)? {
                        break portal.refresh(&next(answer.body)?);
                    }
                };
                scripts.push(Box::new(Rotation { portal, request: first }));
            }
            Ok(scripts)
        })
    }

    fn check(&self, scene: &Scene, server: &Server, body: &[u8]) -> Outcome<()> {
        token::verify_of_person(server, scene, body, None)
    }

    fn wanted(&self) -> &'static [(Compared, Who, Bound)] {
        &[
            (Compared::Rate, Who::Limit, Bound::Floor(0.6)),
            (Compared::Rate, Who::Peer, Bound::Floor(2.5)),
        ]
    }

    fn most_commits(&self) -> Option<f64> {
        Some(2.0)
    }
}

/// Each token is got with the one before it.
struct Rotation {
    portal: Portal,
    request: Vec<u8>,
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

fn next(body: &[u8]) -> Outcome<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Issued<'a> {
        #[serde(borrow)]
        refresh_token: Cow<'a, str>,
    }
    let issued: Issued<'_> = serde_json::from_slice(body)?;
    Ok(issued.refresh_token)
}
