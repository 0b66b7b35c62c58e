//! Clients whose keys are at an address of theirs, and addresses that behave badly.

use crate::{
    http::Answer,
    signing_client::{ClientKey, claims, key_set, provision},
    site::{Conduct, Site},
    support::{TestOptions, TestServer},
};
use hyper::StatusCode;
use porteiro::client_documents::Fetcher;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::{sync::Notify, task::JoinSet};

/// Longer than an answer on this machine takes, however busy it is.
const LONG: Duration = Duration::from_mins(1);

/// Soon over, for a site that says nothing.
const SHORT: Duration = Duration::from_secs(1);

/// A server, and a client whose keys are at the site.
async fn scene(site: &Site, fetcher: Fetcher) -> TestServer {
    let options = TestOptions { client_documents: Some(fetcher), ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    provision(&server, "remote", &format!("jwks_uri = \"{}\"", site.url)).await;
    server
}

async fn ask(server: &TestServer, key: &ClientKey) -> Answer {
    server.assert(&key.sign(&claims(server, "remote", json!({}))), &[]).await
}

async fn believed(server: &TestServer, key: &ClientKey) -> bool {
    let answer = ask(server, key).await;
    let believed = answer.status == 200;
    if !believed {
        answer.refused(401, "invalid_client");
    }
    believed
}

fn set(keys: &[&ClientKey]) -> Value {
    key_set(&keys.iter().map(|key| &key.jwk).collect::<Vec<_>>())
}

#[tokio::test]
async fn keys_are_fetched_once_and_used_for_a_while() {
    let key = ClientKey::new("one");
    let site = Site::serving(&set(&[&key])).await;
    let server = scene(&site, site.fetcher(LONG)).await;
    for _ in 0..5 {
        assert!(believed(&server, &key).await);
    }
    assert_eq!(site.asked(), 1);
    server.clock.advance(Duration::from_mins(5));
    assert!(believed(&server, &key).await);
    assert_eq!(site.asked(), 2, "after a while it is looked again");
    // A key that was taken away verifies nothing any more.
    site.now_serves(&set(&[]));
    server.clock.advance(Duration::from_mins(5));
    assert!(!believed(&server, &key).await);
    server.stop().await;
}

#[tokio::test]
async fn an_unknown_key_is_looked_for_at_a_bounded_pace() {
    let (key, next) = (ClientKey::new("one"), ClientKey::new("two"));
    let site = Site::serving(&set(&[&key])).await;
    let server = scene(&site, site.fetcher(LONG)).await;
    assert!(believed(&server, &key).await);
    site.now_serves(&set(&[&next]));
    assert!(believed(&server, &next).await, "a client may change its keys at once");
    assert!(!believed(&server, &key).await, "and the former key is gone");
    let asked = site.asked();
    assert!(asked <= 3, "{asked}");
    // A flood of unknown names has the site called no more often.
    for number in 0..30 {
        assert!(!believed(&server, &ClientKey::new(&format!("unheard-of-{number}"))).await);
    }
    assert_eq!(site.asked(), 3);
    assert!(believed(&server, &next).await, "and known keys serve meanwhile");
    server.clock.advance(Duration::from_secs(30));
    for number in 0..30 {
        assert!(!believed(&server, &ClientKey::new(&format!("another-{number}"))).await);
    }
    assert_eq!(site.asked(), 4, "one more after half a minute");
    server.stop().await;
}

#[tokio::test]
async fn many_callers_wait_for_one_fetch() {
    let key = ClientKey::new("one");
    let told = Arc::new(Notify::new());
    let site = Site::new(Conduct::Wait(told.clone(), set(&[&key]).to_string())).await;
    let server = scene(&site, site.fetcher(LONG)).await;
    let outside = *server;
    let mut callers = JoinSet::new();
    for _ in 0..20 {
        let assertion = key.sign(&claims(&server, "remote", json!({})));
        callers.spawn(async move { outside.assert(&assertion, &[]).await.status.as_u16() });
    }
    // A permit is kept, should the site not wait for it yet.
    told.notify_one();
    assert_eq!(callers.join_all().await, [200; 20]);
    assert_eq!(site.asked(), 1);
    server.stop().await;
}

#[tokio::test]
async fn what_was_fetched_serves_for_an_hour_where_the_site_fails() {
    let key = ClientKey::new("one");
    let site = Site::serving(&set(&[&key])).await;
    let server = scene(&site, site.fetcher(LONG)).await;
    assert!(believed(&server, &key).await);
    site.now(Conduct::Answer(StatusCode::INTERNAL_SERVER_ERROR, set(&[&key]).to_string()));
    server.clock.advance(Duration::from_mins(30));
    assert!(believed(&server, &key).await);
    assert!(believed(&server, &key).await);
    assert_eq!(site.asked(), 2, "a site that fails is left alone for half a minute");
    server.clock.advance(Duration::from_mins(30));
    assert!(!believed(&server, &key).await, "but no longer");
    site.now_serves(&set(&[&key]));
    server.clock.advance(Duration::from_secs(29));
    assert!(!believed(&server, &key).await);
    server.clock.advance(Duration::from_secs(1));
    assert!(believed(&server, &key).await);
    server.stop().await;
}

#[tokio::test]
async fn a_site_that_hangs_or_never_ends_costs_one_call_and_its_client_alone() {
    for conduct in [Conduct::Hang, Conduct::Endless] {
        let key = ClientKey::new("one");
        let site = Site::new(conduct).await;
        let server = scene(&site, site.fetcher(SHORT)).await;
        let outside = *server;
        let mut callers = JoinSet::new();
        for _ in 0..20 {
            let assertion = key.sign(&claims(&server, "remote", json!({})));
            callers.spawn(async move { outside.assert(&assertion, &[]).await.status.as_u16() });
        }
        assert_eq!(server.ask("billing", &[]).await.status, 200);
        assert_eq!(callers.join_all().await, [401; 20]);
        // One that was given up on may never have come to the site.
        assert!(site.asked() <= 1, "the others knew that it had failed");
        server.stop().await;
    }
}

#[tokio::test]
async fn a_key_set_that_is_none_or_gives_secrets_away_is_not_used() {
    let key = ClientKey::new("one");
    let site = Site::serving(&set(&[&key])).await;
    let server = scene(&site, site.fetcher(LONG)).await;
    let with = |other: Value| json!({ "keys": [key.jwk, other] }).to_string();
    let mut private = key.jwk.clone();
    private["d"] = json!("AAAA");
    let mut many = vec![key.jwk.clone(); 21];
    many.rotate_left(1);
    for (status, body) in [
        (StatusCode::OK, with(json!({ "kty": "oct", "k": "AAAA" }))),
        (StatusCode::OK, with(private)),
        (StatusCode::OK, with(json!({ "kty": "RSA", "n": "_".repeat(168), "e": "AQAB" }))),
        (StatusCode::OK, json!({ "keys": many }).to_string()),
        (StatusCode::OK, key.jwk.to_string()),
        (StatusCode::OK, "<html>".to_owned()),
        (StatusCode::OK, format!("{}{}", set(&[&key]), " ".repeat(70_000))),
        (StatusCode::FOUND, set(&[&key]).to_string()),
        (StatusCode::NOT_FOUND, set(&[&key]).to_string()),
    ] {
        site.now(Conduct::Answer(status, body.clone()));
        server.clock.advance(Duration::from_mins(5));
        assert!(!believed(&server, &key).await, "{status} {body:.200}");
    }
    // A key that we do not know how to use harms no other.
    site.now(Conduct::Answer(StatusCode::OK, with(json!({ "kty": "AKP", "pub": "AAAA" }))));
    server.clock.advance(Duration::from_mins(5));
    assert!(believed(&server, &key).await);
    server.stop().await;
}

#[tokio::test]
async fn a_site_inside_our_own_network_is_not_called() {
    let key = ClientKey::new("one");
    let site = Site::serving(&set(&[&key])).await;
    let server = scene(&site, Fetcher::default()).await;
    assert!(!believed(&server, &key).await);
    assert_eq!(site.asked(), 0);
    server.stop().await;
}
