//! Device authorization (RFC 8628): a device asks, a person decides in a flow, the device polls.

use crate::{
    http::Answer,
    nodes::EACH_LIMITS,
    outside::Outside,
    person::{claims, text},
    races::Pair,
    support::{INVOICES, TestOptions, TestServer, sealed},
};
use porteiro::http::Links;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::task::JoinSet;

pub const ANA: &str = "ana@acme.test";
pub const BRUNO: &str = "bruno@acme.test";
const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// A public client, another one, and one of the operator's own.
pub const DEVICES: &str = r#"
[[client]]
client_id = "tv"
client_name = "Television"
grant_types = ["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"]
token_endpoint_auth_method = "none"

[[client]]
client_id = "radio"
grant_types = ["urn:ietf:params:oauth:grant-type:device_code"]
token_endpoint_auth_method = "none"

[[client]]
client_id = "console"
client_secret = "a-secret-of-more-than-thirty-two-characters"
grant_types = ["urn:ietf:params:oauth:grant-type:device_code"]
trusted = true
"#;

pub async fn open() -> TestServer {
    open_in(TestOptions::default()).await
}

pub async fn open_in(options: TestOptions) -> TestServer {
    let server = TestServer::open_in(options).await;
    server.apply(DEVICES).await;
    server
}

/// Asks as a client of the scene, be it public.
pub async fn ask(server: Outside, client: &str, path: &str, fields: &[(&str, &str)]) -> Answer {
    if ["tv", "radio", "native"].contains(&client) {
        let fields = [&[("client_id", client)], fields].concat();
        return server.post(path, &fields).await;
    }
    server.post_as(client, path, fields).await
}

/// What a device was told, as far as it needs it.
pub struct Codes {
    pub device: String,
    pub user: String,
}

pub async fn start(server: Outside, client: &str, fields: &[(&str, &str)]) -> Codes {
    let answer = ask(server, client, "/connect/device", fields).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let said = answer.json();
    let copy = |name: &str| text(&said[name]).to_owned();
    Codes { device: copy("device_code"), user: copy("user_code") }
}

pub async fn poll(server: Outside, client: &str, code: &str) -> Answer {
    let fields = [("grant_type", GRANT), ("device_code", code)];
    ask(server, client, "/connect/token", &fields).await
}

pub async fn begin(server: Outside, user_code: &str, headers: &[(&str, &str)]) -> Answer {
    let body = json!({ "kind": "device", "user_code": user_code });
    server.post_json("/flows", &body, headers).await
}

/// Signs in with the code that a device shows.
pub async fn enter(server: Outside, user_code: &str, email: &str) -> (Value, Answer) {
    let begun = begin(server, user_code, &[]).await;
    assert_eq!(begun.status, 201, "{begun:?}");
    let flow = begun.json();
    let proved = server.prove(&flow, email).await;
    (flow, proved)
}

pub async fn confirm(server: Outside, flow: &Value, decision: &str) -> Answer {
    server.step(flow, "confirm", json!({ "decision": decision })).await
}

/// Lets a device act for a person, and returns the token of the session that it was done in.
pub async fn allow(server: Outside, user_code: &str, email: &str) -> String {
    let (flow, asked) = enter(server, user_code, email).await;
    assert_eq!(asked.json()["state"], "confirm", "{asked:?}");
    let done = confirm(server, &flow, "allow").await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    text(&done.json()["result"]["session_token"]).to_owned()
}

pub fn steps(document: &Value) -> Vec<&str> {
    document["steps"].as_array().unwrap().iter().map(|step| text(&step["name"])).collect()
}

#[tokio::test]
async fn a_device_is_let_in_by_a_person_who_confirms_what_they_are_shown() {
    let server = open().await;
    let asked = [("client_id", "tv"), ("scope", "openid invoices:read")];
    let answer = server.post("/connect/device", &asked).await;
    assert_eq!((answer.status.as_u16(), answer.header("cache-control")), (200, Some("no-store")));
    let said = answer.json();
    let (device, user) = (text(&said["device_code"]), text(&said["user_code"]));
    assert!(device.starts_with("pdc_"), "{said}");
    let page = format!("{}/device", server.issuer());
    assert_eq!(said["verification_uri"], page);
    assert_eq!(said["verification_uri_complete"], format!("{page}?user_code={user}"));
    assert_eq!((&said["expires_in"], &said["interval"]), (&json!(600), &json!(5)));
    poll(*server, "tv", device).await.refused(400, "authorization_pending");

    // As people write it.
    let entered = format!(" {} ", user.to_lowercase().replace('-', "  "));
    let begun = begin(*server, &entered, &[]).await;
    assert_eq!((begun.status.as_u16(), &begun.json()["state"]), (201, &json!("identify")));
    let flow = begun.json();
    assert!(flow.get("client").is_none() && flow["scopes"] == json!([]), "nothing before sign-in");
    let shown = server.prove(&flow, ANA).await.json();
    assert_eq!((&shown["state"], steps(&shown)), (&json!("confirm"), vec!["confirm"]), "{shown}");
    assert_eq!(shown["client"]["client_id"], "tv");
    assert_eq!(shown["client"]["client_name"], "Television");
    assert_eq!(shown["client"]["self_registered"], false);
    assert_eq!(shown["scopes"], json!(["openid", "invoices:read"]));
    assert_eq!((&shown["resource"], &shown["organization"]), (&json!(INVOICES), &json!("acme")));
    assert_eq!(shown["roles"], json!(["manager"]));
    assert_eq!(shown["requested_from"]["address"], "127.0.0.0/24");
    assert!(shown["requested_from"]["expires_at"].is_string(), "{shown}");
    poll(*server, "tv", device).await;
    let done = confirm(*server, &flow, "allow").await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    assert!(done.json()["result"]["session_token"].is_string(), "the person is signed in");

    // However soon.
    let tokens = poll(*server, "tv", device).await;
    assert_eq!(tokens.status, 200, "{tokens:?}");
    let tokens = tokens.json();
    let access = claims(&tokens["access_token"]);
    assert_eq!((&access["org"], &access["role"]), (&json!("acme"), &json!("manager")));
    assert_eq!((&access["client_id"], &access["aud"]), (&json!("tv"), &json!(INVOICES)));
    assert_eq!(claims(&tokens["id_token"])["aud"], "tv");
    assert_eq!(server.userinfo(text(&tokens["access_token"])).await.status, 200);
    let refresh =
        [("grant_type", "refresh_token"), ("refresh_token", text(&tokens["refresh_token"]))];
    assert_eq!(ask(*server, "tv", "/connect/token", &refresh).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn a_device_code_that_comes_again_ends_what_came_of_it() {
    let server = open().await;
    let codes = start(*server, "tv", &[("scope", "openid offline_access")]).await;
    allow(*server, &codes.user, ANA).await;
    let tokens = poll(*server, "tv", &codes.device).await.json();
    // Another client that has found the code ends nothing.
    poll(*server, "radio", &codes.device).await.refused(400, "invalid_grant");
    assert_eq!(server.userinfo(text(&tokens["access_token"])).await.status, 200);
    poll(*server, "tv", &codes.device).await.refused(400, "invalid_grant");
    server.userinfo(text(&tokens["access_token"])).await.refused(401, "invalid_token");
    let refresh =
        [("grant_type", "refresh_token"), ("refresh_token", text(&tokens["refresh_token"]))];
    ask(*server, "tv", "/connect/token", &refresh).await.refused(400, "invalid_grant");
    // The user code is free again, and leads nowhere.
    let (_, wrong) = enter(*server, &codes.user, ANA).await;
    wrong.problem(400, "user_code_not_valid");
    server.stop().await;
}

#[tokio::test]
async fn a_device_code_is_good_for_its_own_client_alone() {
    let server = open().await;
    let codes = start(*server, "tv", &[("scope", "openid")]).await;
    poll(*server, "radio", &codes.device).await.refused(400, "invalid_grant");
    allow(*server, &codes.user, ANA).await;
    poll(*server, "radio", &codes.device).await.refused(400, "invalid_grant");
    poll(*server, "console", &codes.device).await.refused(400, "invalid_grant");
    assert_eq!(poll(*server, "tv", &codes.device).await.status, 200, "nothing was spent");
    server.stop().await;
}

#[tokio::test]
async fn a_poll_of_what_waits_commits_nothing() {
    let server = open().await;
    let codes = start(*server, "tv", &[]).await;
    poll(*server, "tv", &codes.device).await.refused(400, "authorization_pending");
    server.quiet().await;
    let before = server.running().system().store().report().commits;
    for _ in 0..20 {
        server.clock.advance(Duration::from_secs(5));
        poll(*server, "tv", &codes.device).await.refused(400, "authorization_pending");
    }
    poll(*server, "tv", &codes.device).await.refused(400, "slow_down");
    server.quiet().await;
    assert_eq!(server.running().system().store().report().commits, before);
    server.stop().await;
}

#[tokio::test]
async fn a_device_that_asks_too_often_is_slowed_down_until_it_is_decided_on() {
    let server = open().await;
    server.on_one_node(EACH_LIMITS);
    let codes = start(*server, "tv", &[]).await;
    poll(*server, "tv", &codes.device).await.refused(400, "authorization_pending");
    poll(*server, "tv", &codes.device).await.refused(400, "slow_down");
    server.clock.advance(Duration::from_secs(5));
    poll(*server, "tv", &codes.device).await.refused(400, "slow_down");
    server.clock.advance(Duration::from_secs(15));
    poll(*server, "tv", &codes.device).await.refused(400, "authorization_pending");
    // Another device is not slowed down by it, nor is what another client presents.
    let other = start(*server, "tv", &[]).await;
    poll(*server, "tv", &other.device).await.refused(400, "authorization_pending");
    poll(*server, "radio", &codes.device).await.refused(400, "invalid_grant");
    let (flow, _) = enter(*server, &codes.user, ANA).await;
    confirm(*server, &flow, "deny").await;
    for _ in 0..3 {
        poll(*server, "tv", &codes.device).await.refused(400, "access_denied");
    }
    allow(*server, &other.user, ANA).await;
    assert_eq!(poll(*server, "tv", &other.device).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn a_person_who_says_no_is_obeyed() {
    let server = open().await;
    let codes = start(*server, "tv", &[("scope", "openid")]).await;
    let (flow, _) = enter(*server, &codes.user, ANA).await;
    let denied = confirm(*server, &flow, "deny").await.json();
    assert_eq!((&denied["state"], denied.get("result")), (&json!("failed"), None), "{denied}");
    poll(*server, "tv", &codes.device).await.refused(400, "access_denied");
    let (_, again) = enter(*server, &codes.user, ANA).await;
    again.problem(400, "user_code_not_valid");
    server.stop().await;
}

#[tokio::test]
async fn of_two_people_who_enter_one_code_the_first_decides() {
    let server = open().await;
    let codes = start(*server, "tv", &[("scope", "openid"), ("organization", "acme")]).await;
    let (one, _) = enter(*server, &codes.user, ANA).await;
    let (other, shown) = enter(*server, &codes.user, BRUNO).await;
    assert_eq!(shown.json()["state"], "confirm", "{shown:?}");
    assert_eq!(confirm(*server, &one, "allow").await.json()["state"], "done");
    for decision in ["allow", "deny"] {
        confirm(*server, &other, decision).await.problem(400, "user_code_not_valid");
    }
    let tokens = poll(*server, "tv", &codes.device).await.json();
    let person = server.userinfo(text(&tokens["access_token"])).await.json();
    assert_eq!(person["sub"], claims(&tokens["id_token"])["sub"]);
    assert_eq!(claims(&tokens["id_token"])["org"], "acme");
    server.stop().await;
}

#[tokio::test]
async fn codes_end_when_they_said() {
    let server = open().await;
    let codes = start(*server, "tv", &[("scope", "openid")]).await;
    let approved = start(*server, "tv", &[("scope", "openid")]).await;
    allow(*server, &approved.user, ANA).await;
    let (flow, _) = enter(*server, &codes.user, ANA).await;
    server.clock.advance(Duration::from_mins(10));
    for code in [&codes.device, &approved.device] {
        poll(*server, "tv", code).await.refused(400, "expired_token");
    }
    confirm(*server, &flow, "allow").await.problem(400, "user_code_not_valid");
    let (_, late) = enter(*server, &codes.user, ANA).await;
    late.problem(400, "user_code_not_valid");
    server.stop().await;
}

#[tokio::test]
async fn what_is_no_device_code_is_refused() {
    let server = open().await;
    let codes = start(*server, "tv", &[("scope", "openid")]).await;
    allow(*server, &codes.user, ANA).await;
    let session = server.sign_in(ANA).await;
    let code = server.code(&session, "web", "openid").await;
    let mut altered = codes.device.clone();
    altered.pop();
    let renamed = codes.device.replacen("pdc_", "pac_", 1);
    let long = "x".repeat(5_000);
    for bad in [altered.as_str(), &renamed, &code, &codes.user, "pdc_", "x", &long] {
        poll(*server, "tv", bad).await.refused(400, "invalid_grant");
    }
    ask(*server, "tv", "/connect/token", &[("grant_type", GRANT)])
        .await
        .refused(400, "invalid_request");
    // A device code is no authorization code.
    for code in [&codes.device, &renamed] {
        server.redeem("web", code).await.refused(400, "invalid_grant");
    }
    poll(*server, "web", &codes.device).await.refused(400, "unauthorized_client");
    assert_eq!(poll(*server, "tv", &codes.device).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn what_is_wrong_is_said_when_a_device_asks() {
    let server = open().await;
    for (fields, code) in [
        (&[("scope", "unheard:of")][..], "invalid_scope"),
        (&[("scope", "openid"), ("scope", "openid")], "invalid_request"),
        (&[("resource", "https://nowhere.example")], "invalid_target"),
        (&[("organization", &"x".repeat(64))], "invalid_request"),
        (&[("request_uri", "urn:ietf:params:oauth:request_uri:x")], "invalid_request"),
        (&[("request", "x.y.z")], "invalid_request"),
    ] {
        ask(*server, "tv", "/connect/device", fields).await.refused(400, code);
    }
    ask(*server, "web", "/connect/device", &[]).await.refused(400, "unauthorized_client");
    ask(*server, "native", "/connect/device", &[]).await.refused(400, "unauthorized_client");
    let path = "/connect/device";
    server.post(path, &[]).await.refused(401, "invalid_client");
    server.post(path, &[("client_id", "console")]).await.refused(401, "invalid_client");
    let got = server.get(path).await;
    assert_eq!(got.status, 405);
    sealed(&got.headers);
    let metadata = server.get("/.well-known/openid-configuration").await.json();
    let endpoint = format!("{}/connect/device", server.issuer());
    assert_eq!(metadata["device_authorization_endpoint"], endpoint);
    assert!(metadata["grant_types_supported"].as_array().unwrap().contains(&json!(GRANT)));
    server.stop().await;
}

#[tokio::test]
async fn people_are_sent_to_the_page_of_the_operator() {
    let device = Some("https://login.example.com/tv?theme=dark".parse().unwrap());
    let links = Links { device, ..Links::default() };
    let options = TestOptions { screens: false, links, ..TestOptions::default() };
    let server = open_in(options).await;
    let said = ask(*server, "tv", "/connect/device", &[]).await.json();
    assert_eq!(said["verification_uri"], "https://login.example.com/tv?theme=dark");
    let complete = text(&said["verification_uri_complete"]);
    let user = text(&said["user_code"]);
    assert_eq!(complete, format!("https://login.example.com/tv?theme=dark&user_code={user}"));
    server.stop().await;
}

#[tokio::test]
async fn even_the_operators_own_client_is_confirmed_every_time() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    let headers = [("x-session-token", session.as_str())];
    for _ in 0..2 {
        let codes = start(*server, "console", &[("scope", "openid")]).await;
        let shown = begin(*server, &codes.user, &headers).await;
        assert_eq!((shown.status.as_u16(), &shown.json()["state"]), (201, &json!("confirm")));
        poll(*server, "console", &codes.device).await.refused(400, "authorization_pending");
        let path = format!("/flows/{}/confirm", text(&shown.json()["id"]));
        let done = server.post_json(&path, &json!({ "decision": "allow" }), &headers).await;
        assert_eq!(done.json()["state"], "done", "{done:?}");
        assert_eq!(poll(*server, "console", &codes.device).await.status, 200);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_fifty_polls_on_two_nodes_one_gets_tokens() {
    let pair = Pair::start_with(DEVICES).await;
    let codes = start(pair.nodes[0], "tv", &[("scope", "openid")]).await;
    poll(pair.nodes[1], "tv", &codes.device).await.refused(400, "authorization_pending");
    allow(pair.nodes[1], &codes.user, ANA).await;
    let mut racers = JoinSet::new();
    for number in 0..50 {
        let (node, code) = (pair.nodes[number % 2], codes.device.clone());
        racers.spawn(async move { poll(node, "tv", &code).await });
    }
    let mut won = Vec::new();
    for answer in racers.join_all().await {
        match answer.status.as_u16() {
            200 => won.push(answer.json()),
            // This one may ask again later, and has nothing.
            503 => {}
            _ => drop(answer.refused(400, "invalid_grant")),
        }
    }
    assert_eq!(won.len(), 1, "one was first");
    // The others have ended what it got.
    let access = text(&won[0]["access_token"]);
    pair.nodes[0].userinfo(access).await.refused(401, "invalid_token");
}
