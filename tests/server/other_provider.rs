//! Another provider, at which people sign in: a second installation, of which ours is a client by its own keys.

use crate::{
    http::Answer,
    person::text,
    support::{TestOptions, TestServer, form},
};
use hyper::Method;
use porteiro::{
    crypto::{SystemDice, draw_uuid},
    domain::{
        Context,
        connection::{Command, Connection, Draft},
        upstream::Kind,
    },
};
use serde_json::{Value, json};
use url::Url;

pub struct OtherProvider {
    pub server: TestServer,
}

/// Ours, which may speak to a provider on this machine and sends mails.
pub fn speaking() -> TestOptions {
    TestOptions { private_networks: true, mailbox: true, ..TestOptions::default() }
}

impl OtherProvider {
    pub async fn open() -> Self {
        Self { server: TestServer::open().await }
    }

    /// Makes a connection of ours to it, and us a client of it; returns the connection's id.
    pub async fn connect(&self, ours: &TestServer, organization: Option<&str>) -> String {
        let id = draw_uuid(&SystemDice);
        let callback = format!("{}/connect/sso/{id}/callback", ours.issuer());
        let keys = ours.get("/connect/jwks").await.json();
        let member = |(name, value): (&String, &Value)| format!("\"{name}\" = {value}");
        let key = |key: &Value| {
            let members: Vec<String> = key.as_object().unwrap().iter().map(member).collect();
            format!("{{ {} }}", members.join(", "))
        };
        let keys: Vec<String> = keys["keys"].as_array().unwrap().iter().map(key).collect();
        let client = format!(
            "[[client]]\nclient_id = \"{id}\"\ntrusted = true\nclaims_in_id_token = true\n\
             redirect_uris = [\"{callback}\"]\ntoken_endpoint_auth_method = \"private_key_jwt\"\n\
             jwks = {{ keys = [{}] }}\n",
            keys.join(", ")
        );
        self.server.apply(&client).await;
        let draft = Draft {
            id: id.clone(),
            organization: organization.map(str::to_owned),
            name: Some("Other".to_owned()),
            kind: Some(Kind::Oidc),
            issuer: Some(self.server.issuer().to_owned()),
            client_id: Some(id.clone()),
            ..Draft::default()
        };
        let mut commit = ours.running().system().multi_commit(&Context::operator());
        let provision = Command::Provision(Box::new(draft));
        commit.decide::<Connection>(&id, &provision).await.unwrap().unwrap();
        commit.commit().await.unwrap();
        id
    }

    /// Signs a person in there, and returns the address that their browser is sent back to.
    pub async fn answer(&self, email: &str, redirect_to: &str) -> String {
        let session = self.server.sign_in(email).await;
        let asked = Url::parse(redirect_to).unwrap();
        assert!(redirect_to.starts_with(self.server.issuer()), "{redirect_to}");
        let path = format!("{}?{}", asked.path(), asked.query().unwrap());
        let request = self.server.request(Method::GET, &path);
        let request = request.header("accept", "application/json");
        let request = request.header("x-session-token", &session);
        let done = self.server.send(request.body(form(&[])).unwrap()).await;
        text(&done.json()["result"]["redirect_to"]).to_owned()
    }

    /// Goes through `sso/options` and `sso` of a flow of ours as a person of it.
    pub async fn sign_on(&self, ours: &TestServer, flow: &Value, email: &str) -> Answer {
        let callback = self.answer(email, &options(ours, flow).await).await;
        ours.step(flow, "sso", json!({ "callback": callback })).await
    }
}

/// Asks in a flow of ours where the person is sent.
pub async fn options(ours: &TestServer, flow: &Value) -> String {
    let options = ours.step(flow, "sso/options", json!({})).await;
    assert_eq!(options.status, 200, "{options:?}");
    text(&options.json()["redirect_to"]).to_owned()
}
