//! A client that acts for a person with a token of theirs: RFC 8693.

use super::{Compared, Load, Scripts, code::Exchange};
use crate::{
    Outcome,
    connection::{Answer, Connection},
    figures::Bound,
    load::{Always, Script, Turn},
    portal::Portal,
    request::{parameters, post_form},
    scene::Scene,
    servers::{Server, TOKEN, Who},
};
use serde::Deserialize;
use std::borrow::Cow;

pub struct TokenExchange;

const GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

#[derive(Deserialize)]
struct Issued<'a> {
    #[serde(borrow)]
    access_token: Cow<'a, str>,
    #[serde(default)]
    scope: String,
}

impl Load for TokenExchange {
    fn name(&self) -> &'static str {
        "exchange"
    }

    fn about(&self) -> &'static str {
        "`POST /connect/token` with a person's access token as `subject_token`, by an agent with its secret \
         (Basic), for one of its two scopes: the subject token is judged anew, a family is committed, an access token (ES256) is signed."
    }

    fn is_for(&self, who: Who) -> bool {
        who != Who::Peer
    }

    fn scripts<'a>(&'a self, scene: &'a Scene, server: &'a Server, number: usize) -> Scripts<'a> {
        Box::pin(async move {
            let mut connection = Connection::open(server.address).await?;
            let mut scripts: Vec<Box<dyn Script>> = Vec::new();
            for email in &scene.people[..number] {
                let portal = Portal::at(server, scene);
                let cookie = portal.sign_in(scene, email).await?;
                let mut exchange = Exchange::new(portal, &cookie);
                let token = loop {
                    let answer = connection.exchange(exchange.request()).await?;
                    if let Turn::Done = exchange.answered(&answer)? {
                        break held(&answer)?;
                    }
                };
                let form = parameters(&[
                    ("grant_type", GRANT),
                    ("subject_token", &token),
                    ("subject_token_type", ACCESS_TOKEN),
                    ("scope", &scene.scopes[0]),
                ]);
                let credentials = scene.credentials(&scene.agent);
                let fields = [("Authorization", credentials.as_str())];
                let request = post_form(server.address, TOKEN, &fields, &form);
                scripts.push(Box::new(Always(request)));
            }
            Ok(scripts)
        })
    }

    fn check(&self, scene: &Scene, server: &Server, body: &[u8]) -> Outcome<()> {
        let issued: Issued<'_> = serde_json::from_slice(body)?;
        let asked = server.who != Who::Porteiro || issued.scope == scene.scopes[0];
        if asked { Ok(()) } else { Err(format!("the scope is {}", issued.scope).into()) }
    }

    fn wanted(&self) -> &'static [(Compared, Who, Bound)] {
        &[(Compared::Rate, Who::Limit, Bound::Floor(0.5))]
    }

    fn most_commits(&self) -> Option<f64> {
        Some(1.0)
    }
}

fn held(answer: &Answer<'_>) -> Outcome<String> {
    let issued: Issued<'_> = serde_json::from_slice(answer.body)?;
    Ok(issued.access_token.into_owned())
}
