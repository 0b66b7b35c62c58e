//! A person who signs in without a screen, and a client that sends them.

use crate::{http::Answer, outside::Outside, support::form};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hyper::Method;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::Url;

pub const PASSWORD: &str = "correct horse battery staple";
pub const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

/// The challenge that belongs to a verifier.
pub fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}

/// Where a client of the scene is called back.
pub fn callback(client: &str) -> String {
    match client {
        "native" => "http://127.0.0.1:51004/cb".to_owned(),
        name => format!("https://{name}.example.com/cb"),
    }
}

/// What a client of the scene asks, unless a test says otherwise; `-name` leaves one out.
pub fn asking(client: &str, otherwise: &[(&str, &str)]) -> String {
    let (callback, challenge) = (callback(client), challenge(VERIFIER));
    let usual = [
        ("client_id", client),
        ("redirect_uri", &callback),
        ("response_type", "code"),
        ("scope", "openid"),
        ("state", "af0ifjsldkj"),
        ("nonce", "n-0S6_WzA2Mj"),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
    ];
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in usual {
        let other = otherwise.iter().any(|(known, _)| known.trim_start_matches('-') == name);
        if !other {
            query.append_pair(name, value);
        }
    }
    query.extend_pairs(otherwise.iter().filter(|(name, _)| !name.starts_with('-')));
    query.finish()
}

impl Outside {
    /// Asks for authorization as a program does, with headers of its own.
    pub async fn authorize_with(
        &self,
        client: &str,
        otherwise: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> Answer {
        let path = format!("/connect/authorize?{}", asking(client, otherwise));
        let mut request = self.request(Method::GET, &path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(form(&[])).unwrap()).await
    }

    pub async fn authorize(&self, client: &str, otherwise: &[(&str, &str)]) -> Answer {
        self.authorize_with(client, otherwise, &[("accept", "application/json")]).await
    }

    /// Asks in a session.
    pub async fn authorize_in(
        &self,
        session: &str,
        client: &str,
        otherwise: &[(&str, &str)],
    ) -> Answer {
        let headers = [("accept", "application/json"), ("x-session-token", session)];
        self.authorize_with(client, otherwise, &headers).await
    }

    pub async fn post_json(&self, path: &str, body: &Value, headers: &[(&str, &str)]) -> Answer {
        let mut request =
            self.request(Method::POST, path).header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(body.to_string().into()).unwrap()).await
    }

    /// Takes a step of the flow that a document shows.
    pub async fn step(&self, flow: &Value, step: &str, body: Value) -> Answer {
        let path = format!("/flows/{}/{step}", flow["id"].as_str().unwrap());
        self.post_json(&path, &body, &[]).await
    }

    /// Goes through a flow as far as a password leads.
    pub async fn prove(&self, flow: &Value, email: &str) -> Answer {
        let identified = self.step(flow, "identifier", json!({ "identifier": email })).await;
        assert_eq!(identified.status, 200, "{identified:?}");
        self.step(flow, "password", json!({ "password": PASSWORD })).await
    }

    /// Signs in and returns the session's token.
    pub async fn sign_in(&self, email: &str) -> String {
        let begun = self.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await;
        assert_eq!(begun.status, 201, "{begun:?}");
        let done = self.prove(&begun.json(), email).await;
        assert_eq!(done.json()["state"], "done", "{done:?}");
        done.json()["result"]["session_token"].as_str().unwrap().to_owned()
    }

    /// Returns a code that a live session gets at once.
    pub async fn code(&self, session: &str, client: &str, scope: &str) -> String {
        let answer = self.authorize_in(session, client, &[("scope", scope)]).await;
        parameter(&redirect(&answer), "code").expect("a code")
    }

    /// Redeems a code as the client it was issued to.
    pub async fn redeem(&self, client: &str, code: &str) -> Answer {
        let callback = callback(client);
        self.token_as(client, &redeeming(code, &callback)).await
    }

    pub async fn refresh(&self, client: &str, token: &str) -> Answer {
        let fields = [("grant_type", "refresh_token"), ("refresh_token", token)];
        self.token_as(client, &fields).await
    }

    /// Asks the token endpoint as a client of the scene, be it public.
    pub async fn token_as(&self, client: &str, fields: &[(&str, &str)]) -> Answer {
        if ["app", "native"].contains(&client) {
            let fields = [&[("client_id", client)], fields].concat();
            return self.post("/connect/token", &fields).await;
        }
        self.post_as(client, "/connect/token", fields).await
    }

    /// Signs in and returns what a client gets for the code.
    pub async fn tokens(&self, email: &str, client: &str, scope: &str) -> Value {
        let session = self.sign_in(email).await;
        let code = self.code(&session, client, scope).await;
        let answer = self.redeem(client, &code).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    pub async fn userinfo(&self, token: &str) -> Answer {
        let request = self.request(Method::GET, "/connect/userinfo");
        let request = request.header("authorization", format!("Bearer {token}"));
        self.send(request.body(form(&[])).unwrap()).await
    }
}

/// The fields by which a code is redeemed.
pub fn redeeming<'a>(code: &'a str, callback: &'a str) -> [(&'static str, &'a str); 4] {
    [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", callback),
        ("code_verifier", VERIFIER),
    ]
}

/// Where a flow that is over leads.
#[track_caller]
pub fn redirect(answer: &Answer) -> Url {
    let to = answer.json()["result"]["redirect_to"].as_str().map(str::to_owned);
    Url::parse(&to.unwrap_or_else(|| panic!("{answer:?}"))).unwrap()
}

pub fn parameter(url: &Url, name: &str) -> Option<String> {
    url.query_pairs().find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value}"))
}

/// What a signed token says, unverified.
pub fn claims(token: &Value) -> Value {
    let part = text(token).split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}
