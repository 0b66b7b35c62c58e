//! How long what a key signed is believed, after the key was replaced or revoked.

use crate::{
    person::{parameter, redirect},
    shared::eventually,
    support::{LIFETIMES, TestOptions, TestServer},
};
use jsonwebtoken::decode_header;
use porteiro::{
    actors::INSTALLATION,
    domain::{
        Context,
        signing_keys::{Command, SigningAlgorithm},
    },
    http::Lifetimes,
    store::{FaultInjection, Moment},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

pub fn kid_of(token: &str) -> String {
    decode_header(token).unwrap().kid.unwrap()
}

pub fn is_published(server: &TestServer, kid: &str) -> bool {
    let keys = server.running().system().keys();
    let set = keys.borrow().jwks.clone();
    set["keys"].as_array().unwrap().iter().any(|key| key["kid"] == kid)
}

/// Puts a new key of each algorithm into the folder and waits until they sign.
pub async fn rotate(server: &TestServer) {
    let algorithms = [SigningAlgorithm::Rs256, SigningAlgorithm::Es256];
    server.clock.advance(Duration::from_secs(1));
    let next = algorithms.map(|algorithm| (algorithm, server.add_key(algorithm)));
    server.running().system().reload_keys();
    for (_, kid) in &next {
        eventually("publication", async || is_published(server, kid)).await;
    }
    server.clock.advance(Duration::from_mins(10));
    let keys = server.running().system().keys();
    let signs = |algorithm, kid: &str| keys.borrow().signer(algorithm).unwrap().kid() == kid;
    for (algorithm, kid) in &next {
        eventually("promotion", async || {
            server.running().system().reload_keys();
            signs(*algorithm, kid)
        })
        .await;
    }
}

#[tokio::test]
async fn a_retired_key_stays_published_until_the_longest_token_it_signed_has_expired() {
    let lifetimes = Lifetimes { access_token: Duration::from_hours(3), ..LIFETIMES };
    let server = TestServer::open_in(TestOptions { lifetimes, ..TestOptions::default() }).await;
    let issued = server.ask("billing", &[("scope", "invoices:read")]).await.json();
    let token = issued["access_token"].as_str().unwrap();
    let kid = kid_of(token);
    rotate(&server).await;
    server.clock.advance(Duration::from_hours(2));
    server.running().system().reload_keys();
    // The other keys of the folder are read in the same sweep, so that this one shows it has run.
    let other = server.add_key(SigningAlgorithm::EdDsa);
    eventually("a sweep", async || is_published(&server, &other)).await;
    assert!(is_published(&server, &kid), "a token that it signed has 50 minutes left");
    server.clock.advance(Duration::from_hours(1) + Duration::from_secs(1));
    eventually("the end", async || !is_published(&server, &kid)).await;
    server.stop().await;
}

#[tokio::test]
async fn a_hint_that_a_retired_key_signed_counts_and_one_that_a_revoked_key_signed_does_not() {
    let server = TestServer::open().await;
    let tokens = server.tokens("ana@acme.test", "web", "openid").await;
    let hint = tokens["id_token"].as_str().unwrap();
    let kid = kid_of(hint);
    rotate(&server).await;
    let session = server.sign_in("ana@acme.test").await;
    let none = [("prompt", "none"), ("id_token_hint", hint)];
    assert!(is_published(&server, &kid));
    assert_eq!(server.authorize_in(&session, "web", &none).await.json()["state"], "done");
    server.clock.advance(Duration::from_mins(30));
    eventually("the end", async || !is_published(&server, &kid)).await;
    assert_eq!(server.authorize_in(&session, "web", &none).await.json()["state"], "done");

    let revoke = Command::Revoke { kid: kid.clone(), held: Vec::new() };
    let system = server.running().system();
    let mut keys = system.keys();
    keys.mark_unchanged();
    system.signing_keys().ask(&Context::node(), INSTALLATION, revoke).await.unwrap();
    system.reload_keys();
    keys.changed().await.unwrap();
    let answer = server.authorize_in(&session, "web", &none).await;
    assert_eq!(parameter(&redirect(&answer), "error").as_deref(), Some("invalid_request"));
    server.stop().await;
}

/// Fails every write from a moment on.
#[derive(Default)]
struct NoWrites(AtomicBool);

impl FaultInjection for NoWrites {
    fn fails(&self, moment: Moment) -> bool {
        moment == Moment::Write && self.0.load(SeqCst)
    }
}

#[tokio::test]
async fn a_revoked_key_leaves_the_key_set_of_a_node_that_can_write_nothing() {
    let keys_every = Duration::from_hours(1);
    let one = TestServer::open_in(TestOptions { keys_every, ..TestOptions::default() }).await;
    let token = one.ask("billing", &[("scope", "invoices:read")]).await.json();
    let kid = kid_of(token["access_token"].as_str().unwrap());
    rotate(&one).await;
    let no_writes = Arc::new(NoWrites::default());
    let fault_injection: Option<Arc<dyn FaultInjection>> = Some(no_writes.clone());
    let other = one.beside(TestOptions { fault_injection, ..TestOptions::default() }).await;
    eventually("publication", async || is_published(&other, &kid)).await;
    no_writes.0.store(true, SeqCst);
    // The other node alone sees it, and cannot note it.
    let new = one.add_key(SigningAlgorithm::EdDsa);
    let revoke = Command::Revoke { kid: kid.clone(), held: Vec::new() };
    one.running()
        .system()
        .signing_keys()
        .ask(&Context::node(), INSTALLATION, revoke)
        .await
        .unwrap();
    eventually("the end of a key", async || !is_published(&other, &kid)).await;
    assert!(!is_published(&other, &new), "nothing was written");
    no_writes.0.store(false, SeqCst);
    eventually("publication", async || is_published(&other, &new)).await;
    other.stop().await;
    one.stop().await;
}
