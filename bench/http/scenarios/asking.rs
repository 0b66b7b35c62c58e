//! What resource servers ask on every request: is this token good (RFC 7662), and whose is it (OIDC Core §5.3).

use super::{Compared, Load, Scripts};
use crate::{
    Outcome,
    connection::{Answer, Connection},
    figures::Bound,
    load::{Always, Script, Turn},
    portal::{Portal, code_in},
    request::{get, parameters, post_form},
    scene::Scene,
    servers::{INTROSPECT, Server, TOKEN, USERINFO, Who},
};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

/// Tokens that were asked about before.
pub struct Introspection;
pub struct Userinfo;

/// More tokens than any server remembers, one after the other.
pub struct FirstIntrospection;
pub struct FirstUserinfo;

/// Of each connection; together twice as many as Porteiro remembers.
const TOKENS: usize = 1_500;

/// The peer keeps a thousand things in all, and remembers none that it has verified.
const TOKENS_OF_PEER: usize = 40;

impl Load for Introspection {
    fn name(&self) -> &'static str {
        "introspection"
    }

    fn about(&self) -> &'static str {
        "`POST /connect/introspect` by the client (Basic) about the access token of a person, one for each connection. The peer keeps \
         its tokens; the other two sign them. The limit answers from memory; on PostgreSQL it makes one read first."
    }

    fn scripts<'a>(&'a self, scene: &'a Scene, server: &'a Server, number: usize) -> Scripts<'a> {
        Box::pin(async move {
            let tokens = tokens_of_people(scene, server, number, 1).await?;
            let request = |token: &String| introspect(scene, server, &scene.portal, token);
            let always =
                |tokens: Vec<String>| Box::new(Always(request(&tokens[0]))) as Box<dyn Script>;
            Ok(tokens.into_iter().map(always).collect())
        })
    }

    fn check(&self, _: &Scene, _: &Server, body: &[u8]) -> Outcome<()> {
        active(body)
    }

    fn wanted(&self) -> &'static [(Compared, Who, Bound)] {
        SEEN
    }

    /// Both make one read for each answer there.
    fn wanted_on_postgres(&self) -> &'static [(Compared, Who, Bound)] {
        &[(Compared::Rate, Who::Limit, Bound::Floor(0.5))]
    }
}

impl Load for Userinfo {
    fn name(&self) -> &'static str {
        "userinfo"
    }

    fn about(&self) -> &'static str {
        "`GET /connect/userinfo` with the access token of a person, one for each connection."
    }

    fn scripts<'a>(&'a self, scene: &'a Scene, server: &'a Server, number: usize) -> Scripts<'a> {
        Box::pin(async move {
            let tokens = tokens_of_people(scene, server, number, 1).await?;
            let always = |tokens: Vec<String>| {
                Box::new(Always(userinfo(server, &tokens[0]))) as Box<dyn Script>
            };
            Ok(tokens.into_iter().map(always).collect())
        })
    }

    fn check(&self, _: &Scene, _: &Server, body: &[u8]) -> Outcome<()> {
        names_a_person(body)
    }

    fn wanted(&self) -> &'static [(Compared, Who, Bound)] {
        SEEN
    }
}

impl Load for FirstIntrospection {
    fn name(&self) -> &'static str {
        "introspection_first"
    }

    fn about(&self) -> &'static str {
        "The same about more access tokens than Porteiro remembers, one after the other: each is verified anew. They are of a client in \
         its own name."
    }

    fn scripts<'a>(&'a self, scene: &'a Scene, server: &'a Server, number: usize) -> Scripts<'a> {
        Box::pin(async move {
            let mut scripts: Vec<Box<dyn Script>> = Vec::new();
            for _ in 0..number {
                let tokens = tokens_of_client(scene, server).await?;
                let ask = |token: &String| introspect(scene, server, &scene.client_id, token);
                scripts
                    .push(Box::new(Around { requests: tokens.iter().map(ask).collect(), next: 0 }));
            }
            Ok(scripts)
        })
    }

    fn check(&self, _: &Scene, _: &Server, body: &[u8]) -> Outcome<()> {
        active(body)
    }

    fn wanted(&self) -> &'static [(Compared, Who, Bound)] {
        FIRST
    }
}

impl Load for FirstUserinfo {
    fn name(&self) -> &'static str {
        "userinfo_first"
    }

    fn about(&self) -> &'static str {
        "The same with more access tokens of people than Porteiro remembers, one after the other."
    }

    fn scripts<'a>(&'a self, scene: &'a Scene, server: &'a Server, number: usize) -> Scripts<'a> {
        Box::pin(async move {
            let many = if server.who == Who::Peer { 1 } else { TOKENS };
            let people = tokens_of_people(scene, server, number, many).await?;
            let around = |tokens: Vec<String>| {
                let requests = tokens.iter().map(|token| userinfo(server, token)).collect();
                Box::new(Around { requests, next: 0 }) as Box<dyn Script>
            };
            Ok(people.into_iter().map(around).collect())
        })
    }

    fn check(&self, _: &Scene, _: &Server, body: &[u8]) -> Outcome<()> {
        names_a_person(body)
    }

    fn wanted(&self) -> &'static [(Compared, Who, Bound)] {
        FIRST
    }
}

const SEEN: &[(Compared, Who, Bound)] = &[
    (Compared::Rate, Who::Limit, Bound::Floor(0.4)),
    (Compared::Rate, Who::Peer, Bound::Floor(6.0)),
];

const FIRST: &[(Compared, Who, Bound)] = &[
    (Compared::Rate, Who::Limit, Bound::Floor(0.12)),
    (Compared::Rate, Who::Peer, Bound::Floor(2.0)),
];

/// One request after the other, and then from the first on.
struct Around {
    requests: Vec<Vec<u8>>,
    next: usize,
}

impl Script for Around {
    fn request(&mut self) -> &[u8] {
        &self.requests[self.next]
    }

    fn answered(&mut self, answer: &Answer<'_>) -> Outcome<Turn> {
        answer.success()?;
        self.next = (self.next + 1) % self.requests.len();
        Ok(Turn::Done)
    }
}

pub fn introspect(scene: &Scene, server: &Server, client: &str, token: &str) -> Vec<u8> {
    let credentials = scene.credentials(client);
    let fields = [("Authorization", credentials.as_str())];
    post_form(server.address, INTROSPECT, &fields, &parameters(&[("token", token)]))
}

fn userinfo(server: &Server, token: &str) -> Vec<u8> {
    let bearer = format!("Bearer {token}");
    get(server.address, USERINFO, &[("Accept", "application/json"), ("Authorization", &bearer)])
}

fn active(body: &[u8]) -> Outcome<()> {
    let said: Value = serde_json::from_slice(body)?;
    if said["active"] == true { Ok(()) } else { Err(format!("not active: {said}").into()) }
}

fn names_a_person(body: &[u8]) -> Outcome<()> {
    let said: Value = serde_json::from_slice(body)?;
    if said["sub"].is_string() { Ok(()) } else { Err(format!("no person: {said}").into()) }
}

#[derive(Deserialize)]
struct Issued<'a> {
    #[serde(borrow)]
    access_token: Cow<'a, str>,
    #[serde(borrow)]
    refresh_token: Option<Cow<'a, str>>,
}

/// So many access tokens of each person.
pub async fn tokens_of_people(
    scene: &Scene,
    server: &Server,
    number: usize,
    many: usize,
) -> Outcome<Vec<Vec<String>>> {
    let mut connection = Connection::open(server.address).await?;
    let mut people = Vec::new();
    for email in &scene.people[..number] {
        // The peer keeps what userinfo is to take, which is for no API.
        let portal = match server.who {
            Who::Peer => Portal::for_scope(server, scene, "openid"),
            Who::Porteiro | Who::Former | Who::Limit => Portal::at(server, scene),
        };
        let cookie = portal.sign_in(scene, email).await?;
        let code = {
            let answer = connection.exchange(&portal.authorize(&cookie)).await?;
            code_in(answer.location()?)?.to_owned()
        };
        let mut request = portal.redeem(&code);
        let mut tokens = Vec::with_capacity(many);
        while tokens.len() < many {
            let answer = connection.exchange(&request).await?;
            answer.success()?;
            let issued: Issued<'_> = serde_json::from_slice(answer.body)?;
            tokens.push(issued.access_token.into_owned());
            request = portal.refresh(&issued.refresh_token.ok_or("no refresh token")?);
        }
        people.push(tokens);
    }
    Ok(people)
}

async fn tokens_of_client(scene: &Scene, server: &Server) -> Outcome<Vec<String>> {
    let many = if server.who == Who::Peer { TOKENS_OF_PEER } else { TOKENS };
    let mut form = vec![("grant_type", "client_credentials")];
    let scope = scene.scope();
    // The peer keeps tokens that are for no API.
    if server.who != Who::Peer {
        form.push(("scope", &scope));
    }
    let credentials = scene.credentials(&scene.client_id);
    let fields = [("Authorization", credentials.as_str())];
    let request = post_form(server.address, TOKEN, &fields, &parameters(&form));
    let mut connection = Connection::open(server.address).await?;
    let mut tokens = Vec::with_capacity(many);
    for _ in 0..many {
        let answer = connection.exchange(&request).await?;
        answer.success()?;
        let issued: Issued<'_> = serde_json::from_slice(answer.body)?;
        tokens.push(issued.access_token.into_owned());
    }
    Ok(tokens)
}
