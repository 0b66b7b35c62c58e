//! A caller of the management API.

use crate::{
    http::Answer,
    person::{parameter, redirect, text},
    support::{TestOptions, TestServer},
};
use hyper::Method;
use porteiro::{
    clock::SystemClock,
    crypto::{
        SystemDice,
        keys::{DevKeys, Folder},
    },
    provisioning::administration,
    system::Workbench,
};
use serde_json::Value;
use std::sync::Arc;

/// An administrator of acme and one of other, roles of a member in between, and a client for them.
pub const DIRECTORY: &str = r#"
[[organization]]
slug = "acme"
  [[organization.role]]
  name = "clerk"
  permissions = ["invoices:read", "orders:read"]
  [[organization.role]]
  name = "manager"
  permissions = ["invoices:*"]
  [[organization.role]]
  name = "administrator"
  permissions = ["accounts:*", "organizations:*", "memberships:*", "roles:*", "clients:*", "apikeys:*", "audit:*", "domains:*", "connections:*"]
  [[organization.role]]
  name = "auditor"
  permissions = ["audit:read"]

[[organization]]
slug = "other"
  [[organization.role]]
  name = "administrator"
  permissions = ["accounts:*", "organizations:*", "memberships:*", "roles:*", "clients:*", "apikeys:*", "audit:*", "domains:*", "connections:*"]

[[account]]
email = "rita@acme.test"
email_verified = true
password = "correct horse battery staple"
given_name = "Rita"
memberships = [{ organization = "acme", roles = ["administrator", "clerk"] }]

[[account]]
email = "otto@other.test"
password = "correct horse battery staple"
memberships = [{ organization = "other", roles = ["administrator"] }]

[[account]]
email = "olga@operator.test"
password = "correct horse battery staple"

[[client]]
client_id = "robot"
client_secret = "a-secret-of-more-than-thirty-two-characters"
organization = "acme"
roles = ["auditor"]
"#;

/// What an administrator of an organization asks for.
pub const EVERYTHING: &str = "organizations:read organizations:write roles:read roles:write \
                              memberships:read memberships:write clients:read clients:write \
                              accounts:read apikeys:read apikeys:write audit:read audit:write \
                              domains:read domains:write connections:read connections:write";

/// Opens a provider that knows all of them.
pub async fn directory() -> TestServer {
    let server = TestServer::open_in(TestOptions { mailbox: true, ..TestOptions::default() }).await;
    server.apply(DIRECTORY).await;
    server
}

/// A caller with a token.
pub struct Api<'a> {
    pub server: &'a TestServer,
    pub token: String,
    pub reason: Option<&'a str>,
}

impl<'a> Api<'a> {
    /// Signs in and gets a token for these scopes of ours.
    pub async fn of(server: &'a TestServer, email: &str, scope: &str) -> Self {
        let tokens = server.tokens(email, "web", scope).await;
        Self { server, token: text(&tokens["access_token"]).to_owned(), reason: None }
    }

    /// Gets a token for an organization by name.
    pub async fn of_organization(
        server: &'a TestServer,
        email: &str,
        scope: &str,
        organization: &str,
    ) -> Self {
        Self::asked(server, email, scope, organization).await.expect("a code")
    }

    /// The same, where it may be refused.
    pub async fn asked(
        server: &'a TestServer,
        email: &str,
        scope: &str,
        organization: &str,
    ) -> Option<Self> {
        let session = server.sign_in(email).await;
        let asked = [("scope", scope), ("organization", organization)];
        let answer = server.authorize_in(&session, "web", &asked).await;
        let code = parameter(&redirect(&answer), "code")?;
        let tokens = server.redeem("web", &code).await.json();
        let token = tokens["access_token"].as_str()?.to_owned();
        Some(Self { server, token, reason: None })
    }

    pub async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, &str)],
    ) -> Answer {
        let mut request = self.server.request(method, path);
        request = request.header("authorization", format!("Bearer {}", self.token));
        for (name, value) in headers.iter().copied().chain(self.reason.map(|why| ("x-reason", why)))
        {
            request = request.header(name, value);
        }
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        self.server.send(request.body(body.into()).unwrap()).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.call(Method::GET, path, None, &[]).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.call(Method::POST, path, Some(body), &[]).await
    }

    /// Reads an entity and sends a change at the version that was seen.
    pub async fn change(&self, method: Method, path: &str, body: Option<&Value>) -> Answer {
        let tag = self.tag(path).await;
        self.call(method, path, body, &[("if-match", &tag)]).await
    }

    /// Returns the version of an entity; `*` where it is not shown.
    pub async fn tag(&self, path: &str) -> String {
        self.get(path).await.header("etag").unwrap_or("*").to_owned()
    }
}

impl TestServer {
    /// Gives `organizations:administer` to an account, or takes it away, as the command does.
    pub async fn administers(&self, email: &str, given: bool) {
        let folder = Folder::load(&self.keys(), DevKeys::Accepted).unwrap();
        let (clock, dice) = (Arc::new(SystemClock), Arc::new(SystemDice));
        let workbench = Workbench::open(&self.url, &folder, clock, dice).await.unwrap();
        let done = administration(&workbench, email, "organizations:administer", given).await;
        workbench.close().await;
        assert!(done.unwrap().changed);
    }
}
