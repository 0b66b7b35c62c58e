//! Clients that registered themselves: how many there may be, and when they are forgotten.

use crate::{
    http::Answer,
    nodes::EACH_LIMITS,
    person::{VERIFIER, callback, parameter, redirect, text},
    support::{SECRET, TestOptions, TestServer, basic, form},
};
use hyper::Method;
use porteiro::{
    domain::{Clock as _, Machine as _, client::Client},
    http::Limits,
};
use serde_json::{Value, json};
use std::time::Duration;

const DAY: Duration = Duration::from_hours(24);

/// Registers a client that may act by itself and for people.
async fn register(server: &TestServer, headers: &[(&str, &str)]) -> Answer {
    let asked = json!({
        "redirect_uris": [callback("web")],
        "grant_types": ["authorization_code", "refresh_token", "client_credentials"],
    });
    server.post_json("/connect/register", &asked, headers).await
}

async fn registered(server: &TestServer) -> Value {
    let answer = register(server, &[]).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()
}

/// Has a client ask for a token in its own name.
async fn act(server: &TestServer, told: &Value, secret: &str) -> Answer {
    let request = server
        .request(Method::POST, "/connect/token")
        .header("authorization", basic(text(&told["client_id"]), secret))
        .header("content-type", "application/x-www-form-urlencoded");
    server.send(request.body(form(&[("grant_type", "client_credentials")])).unwrap()).await
}

/// Has a person let a client act for them, and returns the answer to its code.
async fn sign_in(server: &TestServer, told: &Value) -> Value {
    let (id, secret) = (text(&told["client_id"]), text(&told["client_secret"]));
    let asked = [("client_id", id), ("scope", "openid offline_access")];
    let begun = server.authorize("web", &asked).await.json();
    let asked = server.prove(&begun, "clara@nowhere.test").await.json();
    let done = server.step(&asked, "consent", json!({ "decision": "allow" })).await;
    let code = parameter(&redirect(&done), "code").unwrap();
    let callback = callback("web");
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("redirect_uri", &callback),
        ("code_verifier", VERIFIER),
        ("client_id", id),
        ("client_secret", secret),
    ];
    let answer = server.post("/connect/token", &fields).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

async fn version(server: &TestServer, told: &Value) -> Option<i64> {
    let store = server.running().system().store();
    let row = store.load(Client::KIND, text(&told["client_id"])).await.unwrap();
    row.map(|row| row.version)
}

/// Forgets what is due, and says whether this client is still there.
async fn is_kept(server: &TestServer, told: &Value) -> bool {
    let store = server.running().system().store();
    store.forget_expired(server.clock.now(), 1_000).await.unwrap();
    version(server, told).await.is_some()
}

#[tokio::test]
async fn a_client_that_was_never_used_is_forgotten_after_thirty_days() {
    let server = TestServer::open().await;
    let unused = registered(&server).await;
    // A secret that was wrong is no use.
    act(&server, &unused, SECRET).await.refused(401, "invalid_client");
    server.clock.advance((30 * DAY).saturating_sub(Duration::from_secs(1)));
    assert!(is_kept(&server, &unused).await);
    server.clock.advance(Duration::from_secs(1));
    assert!(!is_kept(&server, &unused).await);
    server.stop().await;
}

#[tokio::test]
async fn a_token_in_its_own_name_keeps_a_client_for_thirty_days_more_and_not_for_ever() {
    let server = TestServer::open().await;
    let told = registered(&server).await;
    let secret = text(&told["client_secret"]);
    server.clock.advance(29 * DAY);
    assert_eq!(act(&server, &told, secret).await.status, 200);
    server.quiet().await;
    let noted = version(&server, &told).await;
    assert_eq!(act(&server, &told, secret).await.status, 200);
    server.quiet().await;
    assert_eq!(version(&server, &told).await, noted, "uses of one day are one commit");
    server.clock.advance(29 * DAY);
    assert!(is_kept(&server, &told).await);
    server.clock.advance(DAY);
    assert!(!is_kept(&server, &told).await);
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_a_person_used_is_kept_for_ninety_days_after_the_last_use() {
    let server = TestServer::open().await;
    let (told, owned) = (registered(&server).await, registered(&server).await);
    let tokens = sign_in(&server, &told).await;
    server.quiet().await;
    assert!(tokens["refresh_token"].is_string());
    let client_id = text(&owned["client_id"]);
    server.apply(&format!("[[client]]\nclient_id = \"{client_id}\"\n")).await;
    server.clock.advance(10 * DAY);
    let fields = [
        ("grant_type", "refresh_token"),
        ("refresh_token", text(&tokens["refresh_token"])),
        ("client_id", text(&told["client_id"])),
        ("client_secret", text(&told["client_secret"])),
    ];
    assert_eq!(server.post("/connect/token", &fields).await.status, 200);
    server.quiet().await;
    server.clock.advance((90 * DAY).saturating_sub(Duration::from_secs(1)));
    assert!(is_kept(&server, &told).await);
    server.clock.advance(Duration::from_secs(1));
    assert!(!is_kept(&server, &told).await);
    assert!(is_kept(&server, &owned).await, "what an operator provisioned is kept");
    server.stop().await;
}

#[tokio::test]
async fn no_more_clients_register_than_may_be_unused_until_people_use_some() {
    let limits = Limits { unused_clients: 3, ..Limits::default() };
    let server = TestServer::open_in(TestOptions { limits, ..TestOptions::default() }).await;
    let first = registered(&server).await;
    registered(&server).await;
    registered(&server).await;
    // What it does in its own name does not count.
    assert_eq!(act(&server, &first, text(&first["client_secret"])).await.status, 200);
    server.clock.advance(Duration::from_secs(2));
    let full = register(&server, &[]).await;
    full.refused(503, "temporarily_unavailable");
    assert_eq!(full.header("retry-after"), Some("3600"));
    sign_in(&server, &first).await;
    // No caller waits until the use is noted.
    server.quiet().await;
    server.clock.advance(Duration::from_secs(2));
    registered(&server).await;
    register(&server, &[]).await.refused(503, "temporarily_unavailable");
    server.stop().await;
}

#[tokio::test]
async fn while_many_are_unused_a_new_one_is_waited_for_two_days() {
    let limits = Limits { unused_clients: 4, ..Limits::default() };
    let server = TestServer::open_in(TestOptions { limits, ..TestOptions::default() }).await;
    let early = registered(&server).await;
    registered(&server).await;
    let late = registered(&server).await;
    server.clock.advance(2 * DAY);
    assert!(!is_kept(&server, &late).await);
    assert!(is_kept(&server, &early).await);
    server.stop().await;
}

#[tokio::test]
async fn a_network_that_registers_without_end_is_told_to_wait_and_others_are_not() {
    let proxies = vec!["127.0.0.0/8".parse().unwrap()];
    let server = TestServer::open_in(TestOptions { proxies, ..TestOptions::default() }).await;
    server.on_one_node(EACH_LIMITS);
    let from = async |address: &str| register(&server, &[("x-forwarded-for", address)]).await;
    for number in 0..200 {
        server.clock.advance(Duration::from_secs(10));
        let answer = from(&format!("2001:db8:0:1::{number:x}")).await;
        assert_eq!(answer.status, 201, "{number}: {answer:?}");
    }
    server.clock.advance(Duration::from_secs(10));
    // Thirty-three minutes have given six back.
    for _ in 0..6 {
        assert_eq!(from("2001:db8:0:1::1").await.status, 201);
    }
    let refused = from("2001:db8:0:1::1").await;
    refused.refused(429, "temporarily_unavailable");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=300).contains(&wait), "{wait}");
    assert_eq!(from("192.0.2.1").await.status, 201);
    server.stop().await;
}

#[tokio::test]
async fn a_client_registers_eight_kilobytes_and_no_more() {
    let server = TestServer::open().await;
    let asked = |characters: usize| {
        let uris: Vec<String> =
            (0..10).map(|n| format!("https://a.example/{n}{}", "x".repeat(characters))).collect();
        json!({ "redirect_uris": uris })
    };
    let fits = server.post_json("/connect/register", &asked(750), &[]).await;
    assert_eq!(fits.status, 201, "{fits:?}");
    for characters in [850, 1_900] {
        let refused = server.post_json("/connect/register", &asked(characters), &[]).await;
        let why = refused.refused(400, "invalid_client_metadata");
        assert!(why.contains("8192 bytes"), "{why}");
    }
    server.stop().await;
}
