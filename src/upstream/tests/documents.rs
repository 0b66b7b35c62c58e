//! Metadata and keys: of the right issuer, fetched seldom, kept for a while, replaced where a key is missing.

use super::{
    provider::{METADATA, Reply},
    *,
};
use serde_json::json;

#[tokio::test]
async fn metadata_of_another_issuer_is_refused() {
    for other in ["https://evil.test", "http://127.0.0.1:1"] {
        let world = World::new().await;
        world.provider.member("issuer", json!(other));
        let error = world.begin(&world.attempt()).await.unwrap_err();
        assert_eq!((error.reason(), error.part()), ("metadata_of_another_issuer", None));
        assert_eq!(error.to_string(), "the metadata is that of another issuer");
    }
}

#[tokio::test]
async fn an_issuer_with_a_slash_at_its_end_is_another_one() {
    let world = World::new().await;
    let (bare, slash) = (world.provider.issuer.clone(), format!("{}/", world.provider.issuer));
    for (named, other) in [(&bare, &slash), (&slash, &bare)] {
        world.provider.member("issuer", json!(named));
        let began = begin(&world.upstreams, &client_of(named), &world.attempt()).await;
        assert!(began.is_ok(), "{named}");
        let error = begin(&world.upstreams, &client_of(other), &world.attempt()).await;
        assert_eq!(error.unwrap_err().reason(), "metadata_of_another_issuer");
        world.clock.advance(Duration::from_mins(10));
    }
    assert_eq!(world.provider.calls(METADATA), 2, "both lie at one address");
}

#[tokio::test]
async fn endpoints_that_may_not_be_called_refuse_the_metadata() {
    let world = World::new().await;
    world.provider.member("token_endpoint", json!("http://login.acme.test/token"));
    let error = world.begin(&world.attempt()).await.unwrap_err();
    assert_eq!(error.reason(), "metadata_endpoint_not_https");
}

#[tokio::test]
async fn a_crowd_has_metadata_fetched_once() {
    let world = World::new().await;
    let mut crowd = tokio::task::JoinSet::new();
    for _ in 0..30 {
        let (upstreams, client) = (world.upstreams.clone(), world.client.clone());
        crowd.spawn(async move {
            let attempt = upstreams.draw_attempt();
            begin(&upstreams, &client, &attempt).await.is_ok()
        });
    }
    assert!(crowd.join_all().await.into_iter().all(|began| began));
    assert_eq!(world.provider.calls(METADATA), 1);
}

#[tokio::test]
async fn a_key_that_was_rotated_in_the_middle_of_a_sign_in_is_found() {
    let world = World::new().await;
    assert!(world.sign_in().await.is_ok());
    let attempt = world.attempt();
    let query = world.browse(&attempt).await;
    world.provider.rotate();
    assert!(world.complete(&attempt, &query).await.is_ok());
    assert_eq!(world.provider.calls("/keys"), 2);
}

#[tokio::test]
async fn keys_that_were_never_there_have_the_set_fetched_at_a_bounded_pace() {
    let world = World::new().await;
    world.provider.state().published.clear();
    for _ in 0..10 {
        assert_eq!(world.refused().await, "signing_key_unknown");
    }
    assert_eq!(world.provider.calls("/keys"), 3);
    world.clock.advance(Duration::from_secs(30));
    for _ in 0..10 {
        assert_eq!(world.refused().await, "signing_key_unknown");
    }
    assert_eq!(world.provider.calls("/keys"), 4);
}

#[tokio::test]
async fn a_key_that_was_taken_away_verifies_nothing_once_its_set_is_old() {
    let world = World::new().await;
    assert!(world.sign_in().await.is_ok());
    world.provider.state().published.clear();
    world.clock.advance(Duration::from_mins(4));
    assert!(world.sign_in().await.is_ok());
    world.clock.advance(Duration::from_mins(1));
    assert_eq!(world.refused().await, "signing_key_unknown");
}

#[tokio::test]
async fn a_provider_that_is_down_is_remembered_for_an_hour() {
    let world = World::new().await;
    assert!(world.sign_in().await.is_ok());
    for path in [METADATA, "/keys"] {
        world.provider.reply(path, Reply::Json(503, json!({})));
    }
    world.clock.advance(Duration::from_mins(50));
    assert!(world.sign_in().await.is_ok());
    world.clock.advance(Duration::from_mins(10));
    let error = world.begin(&world.attempt()).await.unwrap_err();
    assert_eq!((error.reason(), error.part()), ("unexpected_status", Some("metadata")));
    assert!(error.is_unavailable());
}

#[tokio::test]
async fn a_document_that_cannot_be_used_does_not_replace_one_that_can() {
    let world = World::new().await;
    assert!(world.sign_in().await.is_ok());
    world.provider.member("issuer", json!("https://evil.test"));
    world.provider.reply("/keys", Reply::Json(200, json!({ "keys": "none" })));
    world.clock.advance(Duration::from_mins(11));
    assert!(world.sign_in().await.is_ok());
    assert_eq!((world.provider.calls(METADATA), world.provider.calls("/keys")), (2, 2));
}

#[tokio::test]
async fn a_provider_that_failed_is_left_alone_for_a_moment_and_then_asked_again() {
    let world = World::new().await;
    world.provider.reply(METADATA, Reply::Json(500, json!({})));
    for _ in 0..3 {
        let error = world.begin(&world.attempt()).await.unwrap_err();
        assert_eq!(error.reason(), "unexpected_status");
    }
    assert_eq!(world.provider.calls(METADATA), 1);
    world.provider.state().replies.clear();
    world.clock.advance(Duration::from_secs(5));
    assert!(world.begin(&world.attempt()).await.is_ok());
}

#[tokio::test]
async fn a_key_set_that_is_none_is_named() {
    let twice = r#"{"keys":[],"keys":[]}"#.to_owned();
    let json = || "content-type: application/json".to_owned();
    for (reply, reason) in [
        (Reply::Json(200, json!({ "keys": {} })), "key_set_malformed"),
        (Reply::Json(200, json!({ "keys": [{ "kty": "oct", "k": "AAAA" }] })), "key_set_malformed"),
        (Reply::Raw(200, json(), twice), "answer_not_json"),
        (Reply::Json(404, json!({})), "unexpected_status"),
    ] {
        let world = World::new().await;
        world.provider.reply("/keys", reply);
        let error = world.sign_in().await.unwrap_err();
        assert_eq!((error.reason(), error.part()), (reason, Some("key_set")));
    }
}
