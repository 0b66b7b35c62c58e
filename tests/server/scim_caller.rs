//! A directory that provisions an organization by SCIM.

use crate::{
    http::Answer,
    mails::{link, mails},
    outside::Outside,
    person::{parameter, text},
    shared::eventually,
    support::{TestOptions, TestServer},
};
use hyper::Method;
use porteiro::{
    crypto::{
        SystemDice,
        keys::{DevKeys, Folder},
    },
    domain::authority::Permission,
    provisioning::{NewApiKey, create_api_key},
    system::Workbench,
};
use serde_json::{Map, Value, json};
use std::sync::Arc;

pub const USER: &str = "urn:ietf:params:scim:schemas:core:2.0:User";
pub const ENTERPRISE: &str = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
pub const GROUP: &str = "urn:ietf:params:scim:schemas:core:2.0:Group";
const PATCH: &str = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

/// A caller with a key or a token.
#[derive(Clone)]
pub struct Scim {
    pub node: Outside,
    pub slug: String,
    pub key: String,
}

/// Opens a provider that mails invitations, and a directory of acme.
pub async fn provisioned() -> (TestServer, Scim) {
    let server = TestServer::open_in(TestOptions { mailbox: true, ..TestOptions::default() }).await;
    let scim = Scim::of(&server, "acme").await;
    (server, scim)
}

impl Scim {
    /// Makes a key for the SCIM of an organization as the operator's command does.
    pub async fn of(server: &TestServer, slug: &str) -> Self {
        Self::with(server, slug, "scim:*").await
    }

    pub async fn with(server: &TestServer, slug: &str, permission: &str) -> Self {
        let folder = Folder::load(&server.keys(), DevKeys::Accepted).unwrap();
        let (clock, dice) = (server.clock.clone(), Arc::new(SystemDice));
        let workbench = Workbench::open(&server.url, &folder, clock, dice).await.unwrap();
        let permissions = &[Permission::parse(permission).unwrap()];
        let new = NewApiKey { organization: slug, name: "scim", permissions, expires_in: None };
        let key = create_api_key(&workbench, &new).await.unwrap().text.to_string();
        workbench.close().await;
        Self::by(**server, slug, &key)
    }

    pub fn by(node: Outside, slug: &str, key: &str) -> Self {
        Self { node, slug: slug.to_owned(), key: key.to_owned() }
    }

    pub async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<String>,
        headers: &[(&str, &str)],
    ) -> Answer {
        let path = format!("/scim/v2/{}{path}", self.slug);
        let mut request = self.node.request(method, &path);
        request = request.header("authorization", format!("Bearer {}", self.key));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if body.is_some() {
            request = request.header("content-type", "application/scim+json");
        }
        let answer = self.node.send(request.body(body.unwrap_or_default().into()).unwrap()).await;
        if !answer.body.is_empty() {
            assert_eq!(answer.header("content-type"), Some("application/scim+json"), "{answer:?}");
        }
        answer
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.call(Method::GET, path, None, &[]).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.call(Method::POST, path, Some(body.to_string()), &[]).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.call(Method::PUT, path, Some(body.to_string()), &[]).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.call(Method::DELETE, path, None, &[]).await
    }

    pub async fn patch(&self, path: &str, operations: &Value) -> Answer {
        let body = json!({ "schemas": [PATCH], "Operations": operations });
        self.call(Method::PATCH, path, Some(body.to_string()), &[]).await
    }

    /// Lists what a filter admits.
    pub async fn found(&self, of: &str, filter: &str) -> Value {
        let filter: String = url::form_urlencoded::byte_serialize(filter.as_bytes()).collect();
        let answer = self.get(&format!("/{of}?filter={filter}")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// Makes a User by an address alone, and returns its path.
    pub async fn user(&self, address: &str) -> String {
        self.made("/Users", &json!({ "schemas": [USER], "userName": address })).await
    }

    pub async fn group(&self, name: &str, members: &[&str]) -> String {
        let members: Vec<Value> = members.iter().map(|path| json!({ "value": id(path) })).collect();
        let body = json!({ "schemas": [GROUP], "displayName": name, "members": members });
        self.made("/Groups", &body).await
    }

    /// Makes a resource and returns its path.
    pub async fn made(&self, path: &str, body: &Value) -> String {
        let made = self.post(path, body).await;
        assert_eq!(made.status, 201, "{made:?}");
        let location = made.header("location").unwrap();
        assert_eq!(made.json()["meta"]["location"], location);
        let (_, path) = location.split_once(&format!("/scim/v2/{}", self.slug)).unwrap();
        path.to_owned()
    }

    /// Sets whether a User is active, as Okta does.
    pub async fn activate(&self, user: &str, active: bool) {
        let operations = json!([{ "op": "replace", "value": { "active": active } }]);
        let changed = self.patch(user, &operations).await;
        assert_eq!(changed.status, 200, "{changed:?}");
        assert_eq!(changed.json()["active"], active);
    }
}

/// The id in the path of a resource.
pub fn id(path: &str) -> &str {
    path.rsplit('/').next().unwrap()
}

/// What one sent, as far as the server does not add to it.
pub fn sent(shown: &Value) -> Value {
    let said = ["id", "meta", "groups"];
    let members = shown.as_object().unwrap().iter();
    let members = members.filter(|(name, _)| !said.contains(&name.as_str()));
    Value::Object(members.map(|(name, value)| (name.clone(), value.clone())).collect::<Map<_, _>>())
}

/// Insists on a refusal in the form of SCIM.
#[track_caller]
pub fn refused(answer: &Answer, status: u16, scim_type: Option<&str>) {
    let body = answer.json();
    assert_eq!(answer.status.as_u16(), status, "{answer:?}");
    assert_eq!(body["schemas"], json!(["urn:ietf:params:scim:api:messages:2.0:Error"]));
    assert_eq!(body["status"], status.to_string(), "{body}");
    assert_eq!(body["scimType"].as_str(), scim_type, "{body}");
    assert!(body["detail"].is_string(), "{body}");
}

/// Waits for the mails to an address, and returns the token of the newest.
pub async fn invitation(server: &TestServer, address: &str, count: usize) -> String {
    let mut found = Vec::new();
    eventually("the invitation", async || {
        found = mails(server).await;
        found.retain(|mail| text(&mail["to"]).eq_ignore_ascii_case(address));
        found.len() >= count
    })
    .await;
    assert_eq!(found.len(), count, "{found:?}");
    parameter(&link(&found[0]), "token").unwrap()
}

/// Opens the flow of an invitation.
pub async fn open(server: &TestServer, token: &str) -> Answer {
    server.post_json("/flows", &json!({ "kind": "invitation", "token": token }), &[]).await
}

/// Accepts as a person without an account, and returns their session.
pub async fn join(server: &TestServer, token: &str, address: &str) -> String {
    let flow = open(server, token).await.json();
    let described = server.step(&flow, "profile", json!({ "email": address })).await;
    assert_eq!(described.json()["state"], "credential", "{described:?}");
    let body = json!({ "password": crate::person::PASSWORD });
    let done = server.step(&flow, "new_password", body).await.json();
    assert_eq!(done["state"], "done", "{done}");
    text(&done["result"]["session_token"]).to_owned()
}
