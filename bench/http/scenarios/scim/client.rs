//! What a directory asks.

use super::zone::Zone;
use crate::{
    Outcome,
    connection::Connection,
    request::{self, Field, parameters},
    servers::{Server, porteiro::Installation},
};
use serde_json::{Value, json};
use std::net::SocketAddr;

const DOMAIN: &str = "staff.test";
const USER: &str = "urn:ietf:params:scim:schemas:core:2.0:User";
const ENTERPRISE: &str = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const PATCH: &str = "urn:ietf:params:scim:api:messages:2.0:PatchOp";
const KIND: Field<'_> = ("Content-Type", "application/scim+json");

/// A directory with its key, at one server.
pub struct Directory {
    address: SocketAddr,
    bearer: String,
    organization: String,
}

pub fn user_name(number: usize) -> String {
    format!("user-{number}@{DOMAIN}")
}

pub fn external_id(number: usize) -> String {
    format!("E{number:08}")
}

impl Directory {
    /// Makes a key.
    pub fn of(
        installation: &Installation<'_>,
        server: &Server,
        organization: &str,
    ) -> Outcome<Self> {
        let mut arguments = vec!["create", "--organization", organization, "--name", "directory"];
        for permission in ["scim:*", "domains:read", "domains:write"] {
            arguments.extend(["--permission", permission]);
        }
        arguments.push("--json");
        let made: Value = serde_json::from_str(&installation.run("apikey", &arguments)?)?;
        let bearer = format!("Bearer {}", made["key"].as_str().ok_or("no key")?);
        Ok(Self { address: server.address, bearer, organization: organization.to_owned() })
    }

    /// Proves the domain of its Users, so that each has an account at once.
    pub async fn prove_domain(&self, zone: &mut Zone) -> Outcome<()> {
        let list = format!("/api/organizations/{}/domains", self.organization);
        let fields = [("Authorization", self.bearer.as_str())];
        let mut connection = Connection::open(self.address).await?;
        let add = request::post_json(self.address, &list, &fields, &json!({ "domain": DOMAIN }));
        let answer = connection.exchange(&add).await?;
        answer.success()?;
        let added: Value = serde_json::from_slice(answer.body)?;
        zone.publish(added["record"]["value"].as_str().ok_or("no record")?);
        let path = format!("{list}/{}/verify", added["id"].as_str().ok_or("no id")?);
        let verify = request::post_json(self.address, &path, &fields, &json!({}));
        connection.exchange(&verify).await?.success()
    }

    pub fn create(&self, number: usize) -> Vec<u8> {
        let name = user_name(number);
        let user = json!({
            "schemas": [USER, ENTERPRISE],
            "userName": name,
            "externalId": external_id(number),
            "name": { "givenName": "Ana", "familyName": format!("Number {number}") },
            "displayName": format!("Ana Number {number}"),
            "title": "Engineer",
            "active": true,
            "emails": [{ "value": name, "type": "work", "primary": true }],
            ENTERPRISE: { "department": "Sales", "employeeNumber": number.to_string() },
        });
        self.send("POST", "/Users", &user)
    }

    /// Gives a User another title.
    pub fn patch(&self, id: &str, title: &str) -> Vec<u8> {
        let operation = json!({ "op": "replace", "path": "title", "value": title });
        let body = json!({ "schemas": [PATCH], "Operations": [operation] });
        self.send("PATCH", &format!("/Users/{id}"), &body)
    }

    pub fn delete(&self, id: &str) -> Vec<u8> {
        let fields = [("Authorization", self.bearer.as_str())];
        request::delete(self.address, &self.path(&format!("/Users/{id}")), &fields)
    }

    pub fn show(&self, id: &str) -> Vec<u8> {
        self.get(&format!("/Users/{id}"))
    }

    pub fn filter(&self, filter: &str) -> Vec<u8> {
        self.list(&[("filter", filter)])
    }

    pub fn list(&self, query: &[(&str, &str)]) -> Vec<u8> {
        self.get(&format!("/Users?{}", parameters(query)))
    }

    fn get(&self, path: &str) -> Vec<u8> {
        let fields = [request::JSON, ("Authorization", self.bearer.as_str())];
        request::get(self.address, &self.path(path), &fields)
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Vec<u8> {
        let fields = [KIND, ("Authorization", self.bearer.as_str())];
        request::render(method, self.address, &self.path(path), &fields, &body.to_string())
    }

    fn path(&self, path: &str) -> String {
        format!("/scim/v2/{}{path}", self.organization)
    }
}
