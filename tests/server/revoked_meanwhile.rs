//! A change of the management API whose token, session or key ends between the guard and the commit: it does
//! not happen, on either engine (adr/0111).
//!
//! The guard stands before the body is read, and `100 Continue` says that it is: what happens between that and
//! the body comes after the guard and before the commit.

use crate::{
    api_caller::{Api, EVERYTHING, directory},
    http::Answer,
    me::{delete_in, get_in, records},
    person::{parameter, redirect, text},
    shared::eventually,
    support::TestServer,
};
use hyper::Method;
use porteiro::{
    crypto::{
        SystemDice,
        keys::{DevKeys, Folder},
    },
    provisioning::{ClientChange, SuspensionChange, change_client, suspend},
    system::Workbench,
};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

const ACME: &str = "/api/organizations/acme";

/// A request that the guard has let in, and whose body is still to come.
struct Waiting {
    stream: TcpStream,
    body: String,
}

impl Waiting {
    /// Sends the head of a request that makes an API key.
    async fn at_the_guard(server: &TestServer, token: &str) -> Self {
        let body = json!({ "name": "late", "permissions": ["invoices:read"] }).to_string();
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let head = format!(
            "POST {ACME}/apikeys HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\nexpect: 100-continue\r\n\
             connection: close\r\n\r\n",
            server.address,
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut seen = Vec::new();
        while !seen.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            assert_eq!(stream.read(&mut byte).await.unwrap(), 1, "{seen:?}");
            seen.push(byte[0]);
        }
        assert_eq!(seen, b"HTTP/1.1 100 Continue\r\n\r\n", "{}", String::from_utf8_lossy(&seen));
        Self { stream, body }
    }

    /// Sends the body; returns the status and the body of the answer.
    async fn goes_on(mut self) -> (u16, Value) {
        self.stream.write_all(self.body.as_bytes()).await.unwrap();
        let mut answer = String::new();
        self.stream.read_to_string(&mut answer).await.unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        let json = body.find('{').map(|at| &body[at..=body.rfind('}').unwrap()]);
        (status, serde_json::from_str(json.unwrap_or("null")).unwrap())
    }
}

/// How many keys were made.
async fn made(server: &TestServer) -> usize {
    records(server, "apikey.created").await.len()
}

/// Rita, signed in: her session, and what a client got in it.
struct Rita {
    session: String,
    tokens: Value,
}

impl Rita {
    async fn of(server: &TestServer) -> Self {
        let session = server.sign_in("rita@acme.test").await;
        let asked = [("scope", EVERYTHING)];
        let answer = server.authorize_in(&session, "web", &asked).await;
        let code = parameter(&redirect(&answer), "code").unwrap();
        Self { session, tokens: server.redeem("web", &code).await.json() }
    }

    fn access(&self) -> &str {
        text(&self.tokens["access_token"])
    }
}

async fn revoke(server: &TestServer, token: &str) -> Answer {
    server.post_as("web", "/connect/revoke", &[("token", token)]).await
}

async fn workbench(server: &TestServer) -> Workbench {
    let folder = Folder::load(&server.keys(), DevKeys::Accepted).unwrap();
    let (clock, dice) = (server.clock.clone(), Arc::new(SystemDice));
    Workbench::open(&server.url, &folder, clock, dice).await.unwrap()
}

/// Ends what Rita's token rests on.
async fn end(server: &TestServer, rita: &Rita, what: &str) {
    match what {
        "token" => assert_eq!(revoke(server, rita.access()).await.status, 200),
        "family" => {
            let refresh = text(&rita.tokens["refresh_token"]);
            assert_eq!(revoke(server, refresh).await.status, 200);
        }
        "session" => {
            let all = get_in(server, &rita.session, "/me/sessions").await.json();
            let is_current = |one: &&Value| one["current"] == true;
            let own = all["items"].as_array().unwrap().iter().find(is_current).unwrap();
            let path = format!("/me/sessions/{}", text(&own["id"]));
            assert_eq!(delete_in(server, &rita.session, &path).await.status, 204);
        }
        "client" => {
            let bench = workbench(server).await;
            assert!(change_client(&bench, "web", ClientChange::Suspend, None).await.unwrap());
            bench.close().await;
        }
        _ => {
            let bench = workbench(server).await;
            suspend(&bench, "rita@acme.test", SuspensionChange::Suspend, None).await.unwrap();
            bench.close().await;
        }
    }
}

#[tokio::test]
async fn no_change_is_made_by_a_token_that_has_ended_since_the_guard() {
    let server = directory().await;
    // Where nothing ends, the change is made, and again by the same token.
    let rita = Rita::of(&server).await;
    for number in 1..=2 {
        let waiting = Waiting::at_the_guard(&server, rita.access()).await;
        let (status, body) = waiting.goes_on().await;
        assert_eq!((status, made(&server).await), (201, number), "{body}");
    }
    // A token that was used can be revoked as well.
    let waiting = Waiting::at_the_guard(&server, rita.access()).await;
    end(&server, &rita, "token").await;
    assert_eq!(waiting.goes_on().await.0, 401);
    for what in ["token", "family", "session", "client"] {
        let rita = Rita::of(&server).await;
        let waiting = Waiting::at_the_guard(&server, rita.access()).await;
        end(&server, &rita, what).await;
        let (status, body) = waiting.goes_on().await;
        assert_eq!((status, &body["code"]), (401, &json!("invalid_token")), "{what}: {body}");
        assert_eq!(made(&server).await, 2, "{what}");
    }
    server.stop().await;
}

#[tokio::test]
async fn no_change_is_made_for_a_person_who_was_suspended_since_the_guard() {
    let server = directory().await;
    let rita = Rita::of(&server).await;
    let waiting = Waiting::at_the_guard(&server, rita.access()).await;
    end(&server, &rita, "account").await;
    assert_eq!((waiting.goes_on().await.0, made(&server).await), (401, 0));
    server.stop().await;
}

#[tokio::test]
async fn no_change_is_made_by_a_key_that_has_ended_since_the_guard_or_whose_parent_has() {
    let server = directory().await;
    let rita = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let path = format!("{ACME}/apikeys");
    let held = ["apikeys:read", "apikeys:write", "invoices:read"];
    let body = json!({ "name": "parent", "permissions": held });
    let mut made_before = 0;
    for end in ["parent", "key", "rotation"] {
        let parent = rita.post(&path, &body).await.json();
        let by_parent =
            Api { server: &server, token: text(&parent["key"]).to_owned(), reason: None };
        let child = json!({ "name": "child", "permissions": held });
        let child = by_parent.post(&path, &child).await.json();
        let waiting = Waiting::at_the_guard(&server, text(&child["key"])).await;
        let of = if end == "parent" { &parent } else { &child };
        let one = format!("{path}/{}", text(&of["id"]));
        let ended = match end {
            "rotation" => rita.post(&format!("{one}/rotate"), &json!({})).await,
            _ => rita.call(Method::DELETE, &one, None, &[]).await,
        };
        assert!(ended.status.is_success(), "{ended:?}");
        let (status, answer) = waiting.goes_on().await;
        assert_eq!((status, &answer["code"]), (401, &json!("invalid_token")), "{end}: {answer}");
        made_before += 2;
        assert_eq!(made(&server).await, made_before, "{end}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_change_is_made_though_the_use_of_its_key_was_noted_since_the_guard() {
    let server = directory().await;
    let rita = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let path = format!("{ACME}/apikeys");
    let body = json!({ "name": "fresh", "permissions": ["apikeys:write", "apikeys:read", "invoices:read"] });
    let key = rita.post(&path, &body).await.json();
    let waiting = Waiting::at_the_guard(&server, text(&key["key"])).await;
    let other = Api { server: &server, token: text(&key["key"]).to_owned(), reason: None };
    assert_eq!(other.get(&path).await.status, 200);
    let one = format!("{path}/{}", text(&key["id"]));
    eventually("its use is noted", async || {
        rita.get(&one).await.json()["last_used_at"].is_string()
    })
    .await;
    let (status, answer) = waiting.goes_on().await;
    assert_eq!(status, 201, "{answer}");
    server.stop().await;
}
