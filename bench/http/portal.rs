//! The client that people sign in to, and how each server lets them.
//!
//! Signing in is done before the clock runs; what is measured needs a live session and no more.

use crate::{
    Outcome,
    connection::{Answer, Connection},
    request::{get, parameters, post_form, post_json},
    scene::Scene,
    secured::config_of,
    servers::{AUTHORIZE, PAR, Server, TOKEN, Who},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub const NONCE: &str = "n-0S6_WzA2Mj";

/// What signs ID tokens.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    Rs256,
    Es256,
}

impl Identity {
    /// Returns the client whose ID tokens are signed so.
    pub fn client(self, scene: &Scene) -> &str {
        match self {
            Self::Rs256 => &scene.portal,
            Self::Es256 => &scene.portal_es256,
        }
    }
}

/// The client, at one server.
#[derive(Clone)]
pub struct Portal {
    server: std::net::SocketAddr,
    who: Who,
    path: String,
    /// The request, as a form.
    query: String,
    client_id: String,
    credentials: String,
    redirect_uri: String,
}

impl Portal {
    pub fn at(server: &Server, scene: &Scene) -> Self {
        Self::for_scope(server, scene, &scene.personal_scope())
    }

    /// The same client with another algorithm for ID tokens, and what its tokens are verified by.
    pub fn with(server: &Server, scene: &Scene, identity: Identity) -> Self {
        Self::of(server, scene, (identity.client(scene), &scene.personal_scope()))
    }

    pub fn for_scope(server: &Server, scene: &Scene, scope: &str) -> Self {
        Self::of(server, scene, (&scene.portal, scope))
    }

    fn of(server: &Server, scene: &Scene, (client, scope): (&str, &str)) -> Self {
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER));
        let query = parameters(&[
            ("client_id", client),
            ("redirect_uri", &scene.redirect_uri),
            ("response_type", "code"),
            ("scope", scope),
            ("state", "af0ifjsldkj"),
            ("nonce", NONCE),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ]);
        Self {
            server: server.address,
            who: server.who,
            path: format!("{AUTHORIZE}?{query}"),
            query,
            client_id: client.to_owned(),
            credentials: scene.credentials(client),
            redirect_uri: scene.redirect_uri.clone(),
        }
    }

    /// Asks for a code as the browser of somebody who is signed in.
    pub fn authorize(&self, cookie: &str) -> Vec<u8> {
        let fields = [("Accept", "text/html"), ("Cookie", cookie)];
        get(self.server, &self.path, &fields)
    }

    /// Pushes the request.
    pub fn push(&self) -> Vec<u8> {
        post_form(self.server, PAR, &[("Authorization", &self.credentials)], &self.query)
    }

    /// Asks for a code by a request that was pushed.
    pub fn authorize_pushed(&self, request_uri: &str, cookie: &str) -> Vec<u8> {
        let query = parameters(&[("client_id", &self.client_id), ("request_uri", request_uri)]);
        let fields = [("Accept", "text/html"), ("Cookie", cookie)];
        get(self.server, &format!("{AUTHORIZE}?{query}"), &fields)
    }

    /// Asks for tokens with the code that an answer brought.
    pub fn redeem(&self, code: &str) -> Vec<u8> {
        let form = parameters(&[
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &self.redirect_uri),
            ("code_verifier", VERIFIER),
        ]);
        self.token(&form)
    }

    /// Asks for tokens with a refresh token.
    pub fn refresh(&self, token: &str) -> Vec<u8> {
        self.token(&parameters(&[("grant_type", "refresh_token"), ("refresh_token", token)]))
    }

    /// The same with a proof of a key.
    pub fn refresh_proved(&self, token: &str, proof: &str) -> Vec<u8> {
        let form = parameters(&[("grant_type", "refresh_token"), ("refresh_token", token)]);
        let fields = [("Authorization", &*self.credentials), ("DPoP", proof)];
        post_form(self.server, TOKEN, &fields, &form)
    }

    fn token(&self, form: &str) -> Vec<u8> {
        post_form(self.server, TOKEN, &[("Authorization", &self.credentials)], form)
    }

    /// Signs somebody in, who consents; returns the cookies of their browser.
    pub async fn sign_in(&self, scene: &Scene, email: &str) -> Outcome<String> {
        let signed_in = match self.who {
            Who::Porteiro | Who::Former => self.sign_in_by_flow(scene, email).await,
            // It knows nobody, and asks nobody.
            Who::Limit => Ok("limit=nobody".to_owned()),
            Who::Peer => self.sign_in_by_redirects(email).await,
        };
        signed_in.map_err(|error| format!("{email} cannot sign in: {error}").into())
    }

    /// By Porteiro's flows, as a program does it; the session's token is a cookie's value as well.
    async fn sign_in_by_flow(&self, scene: &Scene, email: &str) -> Outcome<String> {
        let mut connection = Connection::open(self.server).await?;
        let begun = self.post(&mut connection, "/flows", &json!({ "kind": "sign_in" })).await?;
        let identifier = json!({ "identifier": email });
        self.post(&mut connection, &step(&begun, "identifier")?, &identifier).await?;
        let password = json!({ "password": scene.password });
        let done = self.post(&mut connection, &step(&begun, "password")?, &password).await?;
        let token =
            done["result"]["session_token"].as_str().ok_or(format!("no session: {done}"))?;
        let session = [("Accept", "application/json"), ("X-Session-Token", token)];
        let answer = connection.exchange(&get(self.server, &self.path, &session)).await?;
        answer.success()?;
        let flow: Value = serde_json::from_slice(answer.body)?;
        if flow["state"] == "consent" {
            let path = step(&flow, "consent")?;
            let allow = json!({ "decision": "allow" });
            let request = post_json(self.server, &path, &session[1..], &allow);
            connection.exchange(&request).await?.success()?;
        }
        // A browser keeps that of an https issuer to one host.
        let prefix = if config_of(self.server).is_some() { "__Host-" } else { "" };
        Ok(format!("{prefix}porteiro={token}"))
    }

    async fn post(&self, to: &mut Connection, path: &str, document: &Value) -> Outcome<Value> {
        let answer = to.exchange(&post_json(self.server, path, &[], document)).await?;
        answer.success()?;
        Ok(serde_json::from_slice(answer.body)?)
    }

    /// By the peer's own interaction: it believes the header that names an account.
    async fn sign_in_by_redirects(&self, email: &str) -> Outcome<String> {
        let mut connection = Connection::open(self.server).await?;
        let mut jar = Jar::default();
        let mut path = self.path.clone();
        // To the interaction, back to the request it interrupted, and out to the client.
        for _ in 0..4 {
            let cookies = jar.header();
            let fields = [("Accept", "text/html"), ("Cookie", &*cookies), ("X-Account", email)];
            let answer = connection.exchange(&get(self.server, &path, &fields)).await?;
            jar.keep(&answer);
            let to = answer.location()?;
            if to.starts_with(&self.redirect_uri) {
                code_in(to)?;
                jar.0.retain(|name, _| name.starts_with("_session"));
                return Ok(jar.header());
            }
            let issuer = format!("http://{}", self.server);
            path = to.strip_prefix(&issuer).unwrap_or(to).to_owned();
        }
        Err("it is sent around in circles".into())
    }
}

/// Finds the code in a redirect to the client; none of the three writes one that needs escaping.
pub fn code_in(to: &str) -> Outcome<&str> {
    let (_, query) = to.split_once('?').unwrap_or_default();
    let code = query.split('&').find_map(|pair| pair.strip_prefix("code="));
    code.ok_or_else(|| format!("there is no code in {to}").into())
}

fn step(flow: &Value, name: &str) -> Outcome<String> {
    let id = flow["id"].as_str().ok_or(format!("this is no flow: {flow}"))?;
    Ok(format!("/flows/{id}/{name}"))
}

/// Cookies by name, whatever their paths: the next request is always the one they are for.
#[derive(Default)]
struct Jar(BTreeMap<String, String>);

impl Jar {
    fn keep(&mut self, answer: &Answer<'_>) {
        for cookie in answer.fields("set-cookie") {
            let pair = cookie.split(';').next().and_then(|pair| pair.split_once('='));
            match pair {
                Some((name, "")) => drop(self.0.remove(name)),
                Some((name, value)) => drop(self.0.insert(name.to_owned(), value.to_owned())),
                None => {}
            }
        }
    }

    fn header(&self) -> String {
        let pairs: Vec<String> =
            self.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
        pairs.join("; ")
    }
}
