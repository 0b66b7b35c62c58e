//! Clients whose id is the address of a document (adr/0092), and documents that change, lie or hang.

use crate::{
    http::Answer,
    person::{VERIFIER, parameter, redirect, text},
    shared::eventually,
    site::{Conduct, Site},
    support::{TestOptions, TestServer, form, metric},
};
use hyper::StatusCode;
use porteiro::domain::client::{CLIENTS, Client};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::sync::Notify;

const CALLBACK: &str = "https://tool.example.net/cb";
const LONG: Duration = Duration::from_mins(1);
const SHORT: Duration = Duration::from_secs(1);

fn document(site: &Site) -> Value {
    json!({ "client_id": site.url, "client_name": "Tool", "redirect_uris": [CALLBACK] })
}

/// A site that serves the document of a client, and a server that may call it.
async fn scene() -> (Site, TestServer) {
    let site = Site::new(Conduct::Hang).await;
    site.now_serves(&document(&site));
    let server = served(&site, LONG).await;
    (site, server)
}

async fn served(site: &Site, time_limit: Duration) -> TestServer {
    let client_documents = Some(site.fetcher(time_limit));
    TestServer::open_in(TestOptions { client_documents, ..TestOptions::default() }).await
}

async fn asked(server: &TestServer, session: &str, site: &Site, callback: &str) -> Answer {
    let otherwise = [("redirect_uri", callback), ("scope", "openid invoices:read offline_access")];
    server.authorize_in(session, &site.url, &otherwise).await
}

/// Allows what is asked in a session, and redeems the code.
async fn allowed(server: &TestServer, session: &str, flow: &Value, client: &str) -> Answer {
    assert_eq!(flow["state"], "consent", "{flow}");
    let path = format!("/flows/{}/consent", text(&flow["id"]));
    let allow = json!({ "decision": "allow" });
    let done = server.post_json(&path, &allow, &[("x-session-token", session)]).await;
    redeemed(server, &done, client).await
}

async fn redeemed(server: &TestServer, done: &Answer, client: &str) -> Answer {
    let code = parameter(&redirect(done), "code").unwrap_or_else(|| panic!("{done:?}"));
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("client_id", client),
        ("code_verifier", VERIFIER),
    ];
    server.post("/connect/token", &fields).await
}

async fn is_stored(server: &TestServer, client_id: &str) -> bool {
    let view = server.running().system().view::<Client>();
    let all = view.list_if(true, (CLIENTS, ""), porteiro::actors::Bound::new(1_000)).await.unwrap();
    all.iter().any(|entry| entry.id == client_id)
}

#[tokio::test]
async fn a_client_is_known_by_its_document_and_becomes_a_row_at_its_first_consent() {
    let (site, server) = scene().await;
    let session = server.sign_in("ana@acme.test").await;
    let flow = asked(&server, &session, &site, CALLBACK).await.json();
    assert_eq!(flow["client"]["client_name"], "Tool", "{flow}");
    assert_eq!(flow["client"]["self_registered"], true);
    assert_eq!(flow["client"]["redirect_host"], "tool.example.net");
    assert!(!is_stored(&server, &site.url).await, "no row is made for a question");
    let tokens = allowed(&server, &session, &flow, &site.url).await;
    assert_eq!(tokens.status, 200, "{tokens:?}");
    assert!(is_stored(&server, &site.url).await);
    let tokens = tokens.json();
    let seen = server.introspect("invoices-api", text(&tokens["access_token"])).await;
    assert_eq!((&seen["active"], &seen["client_id"]), (&json!(true), &json!(site.url)));
    let fields = [
        ("grant_type", "refresh_token"),
        ("refresh_token", text(&tokens["refresh_token"])),
        ("client_id", &site.url),
    ];
    assert_eq!(server.post("/connect/token", &fields).await.status, 200);
    // It is remembered: the second time nothing is asked.
    let again = asked(&server, &session, &site, CALLBACK).await;
    assert_eq!(redeemed(&server, &again, &site.url).await.status, 200);
    assert_eq!(site.asked(), 1, "one look served all of it");
    server.stop().await;
}

#[tokio::test]
async fn a_document_that_moves_its_redirects_is_asked_about_again() {
    let (site, server) = scene().await;
    let session = server.sign_in("ana@acme.test").await;
    let flow = asked(&server, &session, &site, CALLBACK).await.json();
    assert_eq!(allowed(&server, &session, &flow, &site.url).await.status, 200);
    let elsewhere = "https://evil.example.org/cb";
    let mut moved = document(&site);
    moved["redirect_uris"] = json!([CALLBACK, elsewhere]);
    site.now_serves(&moved);
    assert_eq!(asked(&server, &session, &site, elsewhere).await.status, 400, "not seen yet");
    server.clock.advance(Duration::from_mins(5));
    let flow = asked(&server, &session, &site, elsewhere).await.json();
    assert_eq!(flow["client"]["redirect_host"], "evil.example.org", "{flow}");
    assert_eq!(allowed(&server, &session, &flow, &site.url).await.status, 200);
    let again = asked(&server, &session, &site, elsewhere).await;
    assert_eq!(redeemed(&server, &again, &site.url).await.status, 200, "and then remembered");
    // What it no longer names is not where an answer goes.
    moved["redirect_uris"] = json!([CALLBACK]);
    site.now_serves(&moved);
    server.clock.advance(Duration::from_mins(5));
    assert_eq!(asked(&server, &session, &site, elsewhere).await.status, 400);
    server.stop().await;
}

#[tokio::test]
async fn a_document_that_lies_redirects_or_is_too_large_makes_no_client() {
    let site = Site::new(Conduct::Hang).await;
    let lies = [
        json!({ "client_id": "https://other.example/x", "redirect_uris": [CALLBACK] }).to_string(),
        json!({ "redirect_uris": [CALLBACK] }).to_string(),
        json!({ "client_id": site.url }).to_string(),
        json!({ "client_id": site.url, "redirect_uris": [CALLBACK], "client_secret": "x" }).to_string(),
        json!({ "client_id": site.url, "redirect_uris": ["http://tool.example.net/cb"] }).to_string(),
        json!({ "client_id": site.url, "redirect_uris": [CALLBACK], "client_name": "x".repeat(9_000) })
            .to_string(),
        "[".repeat(10_000),
        "no json".to_owned(),
        String::new(),
    ];
    for lie in lies {
        site.now(Conduct::Answer(StatusCode::OK, lie.clone()));
        let server = served(&site, LONG).await;
        let answer = asked(&server, "", &site, CALLBACK).await;
        assert_eq!(answer.status, 400, "{lie:.80}: {answer:?}");
        server.stop().await;
    }
    for conduct in [
        Conduct::Answer(StatusCode::FOUND, document(&site).to_string()),
        Conduct::Answer(StatusCode::NOT_FOUND, document(&site).to_string()),
        Conduct::Endless,
        Conduct::Hang,
    ] {
        site.now(conduct);
        let server = served(&site, SHORT).await;
        assert_eq!(asked(&server, "", &site, CALLBACK).await.status, 400);
        server.stop().await;
    }
}

#[tokio::test]
async fn an_address_is_called_no_faster_than_its_rest_however_often_it_is_asked_for() {
    let site = Site::new(Conduct::Answer(StatusCode::NOT_FOUND, String::new())).await;
    let server = served(&site, LONG).await;
    for _ in 0..10 {
        assert_eq!(asked(&server, "", &site, CALLBACK).await.status, 400);
    }
    assert_eq!(site.asked(), 1);
    site.now_serves(&document(&site));
    server.clock.advance(Duration::from_secs(30));
    assert_eq!(asked(&server, "", &site, CALLBACK).await.status, 200);
    assert_eq!(site.asked(), 2);
    server.stop().await;
}

#[tokio::test]
async fn a_caller_that_hangs_up_stops_no_fetch_and_the_client_is_known_for_the_next_one() {
    let told = Arc::new(Notify::new());
    let site = Site::new(Conduct::Hang).await;
    site.now(Conduct::Wait(told.clone(), document(&site).to_string()));
    let server = served(&site, LONG).await;
    let session = server.sign_in("ana@acme.test").await;
    let (outside, url) = (*server, site.url.clone());
    let impatient =
        tokio::spawn(
            async move { outside.authorize_in("", &url, &[("redirect_uri", CALLBACK)]).await },
        );
    eventually("the site is asked", async || site.asked() == 1).await;
    impatient.abort();
    eventually("the server has seen it", async || {
        metric(&server, "porteiro_requests_under_way").await == 0
    })
    .await;
    told.notify_one();
    let flow = asked(&server, &session, &site, CALLBACK).await;
    assert_eq!(flow.status, 200, "{flow:?}");
    assert_eq!(flow.json()["client"]["client_name"], "Tool");
    assert_eq!(site.asked(), 1, "what the first caller began has served the second");
    server.stop().await;
}

#[tokio::test]
async fn where_clients_may_not_register_themselves_no_document_is_fetched() {
    let site = Site::new(Conduct::Hang).await;
    site.now_serves(&document(&site));
    let client_documents = Some(site.fetcher(LONG));
    let options = TestOptions { client_documents, registration: false, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    assert_eq!(asked(&server, "", &site, CALLBACK).await.status, 400);
    assert_eq!(site.asked(), 0);
    let metadata = server.get("/.well-known/openid-configuration").await.json();
    assert_eq!(metadata["client_id_metadata_document_supported"], false);
    server.stop().await;
}

#[tokio::test]
async fn no_document_inside_our_network_is_fetched() {
    let (site, server) = scene().await;
    server.stop().await;
    let server = TestServer::open().await;
    assert_eq!(asked(&server, "", &site, CALLBACK).await.status, 400);
    assert_eq!(site.asked(), 0, "the outbound guard is before it");
    server.stop().await;
}

#[tokio::test]
async fn away_from_where_a_grant_begins_no_document_is_fetched() {
    let (site, server) = scene().await;
    let unknown = [("client_id", site.url.as_str()), ("grant_type", "authorization_code")];
    for path in ["/connect/token", "/connect/introspect", "/connect/revoke"] {
        for fields in [&unknown[..], &[("client_id", &site.url), ("token", "x")]] {
            server.post(path, fields).await.refused(401, "invalid_client");
        }
    }
    assert_eq!(site.asked(), 0, "a caller that names an address has nothing fetched");
    // Where a grant begins it is fetched, and serves from memory then.
    assert_eq!(asked(&server, "", &site, CALLBACK).await.status, 200);
    let code = [&unknown[..], &[("code", "x"), ("code_verifier", VERIFIER)]].concat();
    server.post("/connect/token", &code).await.refused(400, "invalid_grant");
    assert_eq!(site.asked(), 1);
    server.stop().await;
}

#[tokio::test]
async fn a_client_redeems_and_refreshes_where_its_document_was_never_seen() {
    let (site, server) = scene().await;
    let session = server.sign_in("ana@acme.test").await;
    let flow = asked(&server, &session, &site, CALLBACK).await.json();
    let path = format!("/flows/{}/consent", text(&flow["id"]));
    let allow = json!({ "decision": "allow" });
    let done = server.post_json(&path, &allow, &[("x-session-token", &session)]).await;
    site.now(Conduct::Hang);
    // Another node, which is as one that was started again: it has nothing in memory.
    let client_documents = Some(site.fetcher(LONG));
    let other = server.beside(TestOptions { client_documents, ..TestOptions::default() }).await;
    let tokens = redeemed(&other, &done, &site.url).await;
    assert_eq!(tokens.status, 200, "{tokens:?}");
    let refresh = text(&tokens.json()["refresh_token"]).to_owned();
    let fields =
        [("grant_type", "refresh_token"), ("refresh_token", &refresh), ("client_id", &site.url)];
    let refreshed = other.post("/connect/token", &fields).await;
    assert_eq!(refreshed.status, 200, "{refreshed:?}");
    // And where memory has lost it for good.
    server.clock.advance(Duration::from_hours(2));
    let refresh = text(&refreshed.json()["refresh_token"]).to_owned();
    let fields =
        [("grant_type", "refresh_token"), ("refresh_token", &refresh), ("client_id", &site.url)];
    assert_eq!(server.post("/connect/token", &fields).await.status, 200);
    assert_eq!(site.asked(), 1, "its row suffices");
    other.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn a_flow_goes_on_at_a_node_that_has_not_seen_the_document() {
    let (site, server) = scene().await;
    let session = server.sign_in("ana@acme.test").await;
    let flow = asked(&server, &session, &site, CALLBACK).await.json();
    let client_documents = Some(site.fetcher(LONG));
    let other = server.beside(TestOptions { client_documents, ..TestOptions::default() }).await;
    let path = format!("/flows/{}", text(&flow["id"]));
    let request = other.request(hyper::Method::GET, &path).header("x-session-token", &session);
    let shown = other.send(request.body(form(&[])).unwrap()).await;
    assert_eq!(shown.json()["client"]["client_name"], "Tool", "{shown:?}");
    assert_eq!(allowed(&other, &session, &flow, &site.url).await.status, 200);
    assert_eq!(site.asked(), 2, "each node has looked once");
    other.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn a_device_that_waits_is_known_at_every_node_without_its_document() {
    const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
    let site = Site::new(Conduct::Hang).await;
    let mut device = document(&site);
    device["grant_types"] = json!([GRANT]);
    site.now_serves(&device);
    let server = served(&site, LONG).await;
    let fields = [("client_id", site.url.as_str()), ("scope", "openid")];
    let begun = server.post("/connect/device", &fields).await;
    assert_eq!(begun.status, 200, "{begun:?}");
    assert!(is_stored(&server, &site.url).await, "its grant is a row, and so is it");
    site.now(Conduct::Hang);
    let client_documents = Some(site.fetcher(LONG));
    let other = server.beside(TestOptions { client_documents, ..TestOptions::default() }).await;
    let code = text(&begun.json()["device_code"]).to_owned();
    let fields = [("client_id", &*site.url), ("grant_type", GRANT), ("device_code", &code)];
    other.post("/connect/token", &fields).await.refused(400, "authorization_pending");
    assert_eq!(site.asked(), 1);
    other.stop().await;
    server.stop().await;
}
