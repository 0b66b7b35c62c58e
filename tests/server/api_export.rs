//! The trail of an organization as lines of JSON.

use crate::{
    api_caller::{Api, EVERYTHING, directory},
    person::text,
    support::{TestServer, form},
};
use http_body_util::BodyExt as _;
use hyper::{Method, client::conn::http1};
use hyper_util::rt::TokioIo;
use porteiro::domain::{
    Context,
    trail::{Note, Trail},
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::net::TcpSocket;

const EXPORT: &str = "/api/organizations/acme/audit/export";

async fn exported(api: &Api<'_>, query: &str) -> Vec<Value> {
    let answer = api.get(&format!("{EXPORT}{query}")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/jsonl"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let text = answer.text();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Writes more than is read at a time: each key is an entry when it is made and when it is revoked.
async fn fill(api: &Api<'_>) {
    let body = json!({ "name": "k", "permissions": ["audit:read"] });
    for _ in 0..103 {
        let made = api.post("/api/organizations/acme/apikeys", &body).await.json();
        let path = format!("/api/organizations/acme/apikeys/{}", text(&made["id"]));
        assert_eq!(api.call(Method::DELETE, &path, None, &[]).await.status, 204);
    }
}

#[tokio::test]
async fn the_customer_exports_the_whole_trail_and_each_line_is_an_entry_of_the_list() {
    let server = directory().await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    fill(&api).await;
    let mut listed = Vec::new();
    let mut path = "/api/organizations/acme/audit?limit=100".to_owned();
    loop {
        let page = api.get(&path).await.json();
        listed.extend(page["items"].as_array().unwrap().iter().cloned());
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("/api/organizations/acme/audit?limit=100&cursor={cursor}");
    }
    let lines = exported(&api, "").await;
    assert!(lines.len() > 200, "{}", lines.len());
    assert!(lines == listed, "{} lines, {} entries", lines.len(), listed.len());
    server.stop().await;
}

#[tokio::test]
async fn an_export_takes_the_filters_of_the_list_and_has_nothing_of_another_organization() {
    let server = directory().await;
    let api = Api::of(&server, "rita@acme.test", "audit:read").await;
    let lines = exported(&api, "?event=organization.created").await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(text(&lines[0]["event"]), "organization.created");
    assert_eq!(exported(&api, "?until=2001-01-01T00:00:00Z").await, Vec::<Value>::new());
    assert!(exported(&api, "").await.iter().all(|line| !line.to_string().contains("otto")));
    for wrong in ["?since=yesterday", "?limit=5", "?cursor=x", "?event=a&event=b"] {
        api.get(&format!("{EXPORT}{wrong}")).await.problem(400, "invalid_request");
    }
    server.stop().await;
}

/// Begins an export, does something after its first lines, and tells whether it came to its end.
async fn ends(server: &TestServer, token: &str, meanwhile: impl AsyncFn()) -> bool {
    let socket = TcpSocket::new_v4().unwrap();
    // Little is read ahead.
    socket.set_recv_buffer_size(8_192).unwrap();
    let stream = socket.connect(server.address).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let bearer = format!("Bearer {token}");
    let request = server.request(Method::GET, EXPORT).header("authorization", bearer);
    let answer = sender.send_request(request.body(form(&[])).unwrap()).await.unwrap();
    assert_eq!(answer.status(), 200);
    let mut body = answer.into_body();
    assert!(body.frame().await.unwrap().is_ok(), "the first lines");
    meanwhile().await;
    while let Some(frame) = body.frame().await {
        if frame.is_err() {
            return false;
        }
    }
    true
}

/// Writes more into the trail of acme than the buffers between server and client hold.
async fn flood(server: &TestServer) {
    let agent = "a".repeat(256);
    let address = "203.0.113.9".parse().unwrap();
    let context = Context::request(address, Some(agent.as_bytes()), None);
    let note = Note::Administered { operation: "listRoles" }.of("acme");
    let mut commit = server.running().system().multi_commit(&context);
    for _ in 0..12_000 {
        let Ok(()) = commit.decide::<Trail>("acme", &note).await.unwrap();
    }
    commit.touch::<Trail>("acme").await.unwrap();
    commit.commit().await.unwrap();
}

#[tokio::test]
async fn an_export_breaks_off_when_its_caller_loses_a_role() {
    let server = directory().await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    // The trail is a row once something was noted.
    api.get("/api/organizations/other").await.problem(403, "other_organization");
    flood(&server).await;
    assert!(ends(&server, &api.token, async || {}).await);
    let robot = Api::of(&server, "rita@acme.test", "audit:read").await;
    let found = api.get("/api/organizations/acme/members?email=rita@acme.test").await.json();
    let rita = format!("/api/organizations/acme/members/{}", text(&found["items"][0]["id"]));
    let less = async || {
        let changed = api.change(Method::PATCH, &rita, Some(&json!({ "roles": ["clerk"] }))).await;
        assert_eq!(changed.status, 200, "{changed:?}");
    };
    assert!(!ends(&server, &robot.token, less).await, "the role is lost");
    server.stop().await;
}

#[tokio::test]
async fn an_export_breaks_off_when_its_organization_is_suspended() {
    let server = directory().await;
    let api = Api::of(&server, "rita@acme.test", "audit:read").await;
    // The trail is a row once something was noted.
    api.get("/api/organizations/other").await.problem(403, "other_organization");
    flood(&server).await;
    let suspend = async || {
        server.apply("[[organization]]\nslug = \"acme\"\nenabled = false\n").await;
    };
    assert!(!ends(&server, &api.token, suspend).await, "the organization is suspended");
    server.stop().await;
}

#[tokio::test]
async fn the_same_refusal_is_written_once_a_minute_with_how_often_it_was() {
    let server = directory().await;
    server.on_one_node("each node counts the refusals that it answers");
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let refused =
        async || api.get("/api/organizations/other").await.problem(403, "other_organization");
    for _ in 0..20 {
        refused().await;
    }
    let written = async || exported(&api, "?event=api.refused").await;
    assert_eq!(written().await.len(), 1);
    api.get("/api/organizations/other/roles").await.problem(403, "other_organization");
    assert_eq!(written().await.len(), 2, "another operation");
    server.clock.advance(Duration::from_mins(1));
    refused().await;
    let entries = written().await;
    assert_eq!((entries.len(), &entries[0]["detail"]["repeated"]), (3, &json!(19)), "{entries:?}");
    server.stop().await;
}
