//! The modules of `fapi-ciba-id1-test-plan` that are about how a client authenticates (`private_key_jwt`), is
//! registered, is pinged, and refreshes; each test is named after its module.

use crate::{
    ciba::{ANA, GRANT, open_in, poll, say, start},
    ciba_ping::{FORBIDDEN, REDIRECTS, SAYS_MORE, TAKES, TOKEN, UNAUTHORIZED, outcome, scene},
    http::Answer,
    person::text,
    shared::eventually,
    signing_client::{RsaClientKey, claims, in_toml, key_set},
    support::{TestOptions, TestServer},
};
use jsonwebtoken::Algorithm::{PS256, RS256};
use serde_json::{Value, json};
use std::time::Duration;

/// A server with a client that signs by PS256 alone, and its key.
async fn signing() -> (TestServer, RsaClientKey) {
    let (server, key) = (open_in(TestOptions::default()).await, RsaClientKey::new("r"));
    let keys = in_toml(&key_set(&[&key.jwk]));
    server
        .apply(&format!(
            "[[client]]\nclient_id = \"agent\"\njwks = {keys}\n\
             token_endpoint_auth_method = \"private_key_jwt\"\n\
             token_endpoint_auth_signing_alg = \"PS256\"\n\
             backchannel_authentication_request_signing_alg = \"PS256\"\n"
        ))
        .await;
    (server, key)
}

fn request(server: &TestServer, key: &RsaClientKey) -> String {
    let now = porteiro::domain::Clock::now(&*server.clock).seconds();
    let said = json!({ "scope": "openid", "login_hint": ANA, "nbf": now, "sub": null });
    key.sign(PS256, &claims(server, "agent", said))
}

/// An assertion for the endpoint that is called, as the suite sends it.
fn assertion(server: &TestServer, path: &str) -> Value {
    let audience = format!("{}{path}", server.issuer());
    claims(server, "agent", json!({ "aud": audience }))
}

async fn begin(server: &TestServer, key: &RsaClientKey) -> String {
    let proof = key.sign(PS256, &assertion(server, "/connect/ciba"));
    let object = request(server, key);
    let begun = server.assert_at("/connect/ciba", &proof, &[("request", &object)]).await;
    assert_eq!(begun.status, 200, "{begun:?}");
    text(&begun.json()["auth_req_id"]).to_owned()
}

async fn redeem(server: &TestServer, proof: &str, id: &str) -> Answer {
    let fields = [("grant_type", GRANT), ("auth_req_id", id)];
    server.assert_at("/connect/token", proof, &fields).await
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_without_client_assertion_in_backchannel_authorization_request() {
    let (server, key) = signing().await;
    let object = request(&server, &key);
    for fields in [&[("request", &*object)][..], &[("client_id", "agent"), ("request", &object)]] {
        let refused = server.post("/connect/ciba", fields).await;
        refused.refused(401, "invalid_client");
    }
    server.stop().await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_without_client_assertion_in_token_endpoint_request() {
    let (server, key) = signing().await;
    let id = begin(&server, &key).await;
    let fields = [("grant_type", GRANT), ("auth_req_id", &*id), ("client_id", "agent")];
    server.post("/connect/token", &fields).await.refused(401, "invalid_client");
    server.stop().await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_client_assertion_signature_algorithm_in_backchannel_authorization_request_is_rs256_fails()
 {
    let (server, key) = signing().await;
    let object = request(&server, &key);
    let proof = key.sign(RS256, &assertion(&server, "/connect/ciba"));
    let refused = server.assert_at("/connect/ciba", &proof, &[("request", &object)]).await;
    refused.refused(401, "invalid_client");
    server.stop().await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_client_assertion_signature_algorithm_in_token_endpoint_request_is_rs256_fails()
 {
    let (server, key) = signing().await;
    let id = begin(&server, &key).await;
    let proof = key.sign(RS256, &assertion(&server, "/connect/token"));
    redeem(&server, &proof, &id).await.refused(401, "invalid_client");
    server.stop().await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_client_assertion_with_iss_aud_to_token_endpoint_succeeds() {
    let (server, key) = signing().await;
    let id = begin(&server, &key).await;
    for audience in [server.issuer().to_owned(), format!("{}/connect/token", server.issuer())] {
        let proof = claims(&server, "agent", json!({ "aud": audience }));
        let polled = redeem(&server, &key.sign(PS256, &proof), &id).await;
        let error = polled.json()["error"].clone();
        assert!(
            [json!("authorization_pending"), json!("slow_down")].contains(&error),
            "{polled:?}"
        );
    }
    server.stop().await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_wrong_client_id_in_backchannel_authorization_request() {
    let (server, key) = signing().await;
    let object = request(&server, &key);
    let proof = key.sign(PS256, &assertion(&server, "/connect/ciba"));
    let fields = [("request", &*object), ("client_id", "rival")];
    let refused = server.assert_at("/connect/ciba", &proof, &fields).await;
    let error = refused.json()["error"].clone();
    assert!([json!("invalid_client"), json!("invalid_request")].contains(&error), "{refused:?}");
    server.stop().await;
}

#[tokio::test]
async fn fapi_ciba_id1_dynamic_registration() {
    let server = open_in(TestOptions::default()).await;
    let key = RsaClientKey::new("r");
    let metadata = json!({
        "grant_types": [GRANT], "response_types": [], "jwks": key_set(&[&key.jwk]),
        "token_endpoint_auth_method": "private_key_jwt",
        "backchannel_token_delivery_mode": "ping",
        "backchannel_client_notification_endpoint": "https://client.example/ping",
        "backchannel_authentication_request_signing_alg": "PS256",
        "backchannel_user_code_parameter": false,
        "id_token_signed_response_alg": "ES256",
    });
    let made = server.post_json("/connect/register", &metadata, &[]).await;
    assert_eq!(made.status, 201, "{made:?}");
    let made = made.json();
    // No code of a person is asked for, whatever a client says of it.
    for (name, value) in metadata.as_object().unwrap() {
        if name == "backchannel_user_code_parameter" {
            assert_ne!(made[name], true);
            continue;
        }
        assert_eq!(&made[name], value, "{name}: {made}");
    }
    server.stop().await;
}

/// A client that answers its ping so is pinged once, and completes the flow by a call of its own.
async fn pinged(mood: u8) {
    let (server, endpoint) = scene(mood).await;
    let session = server.sign_in(ANA).await;
    let id = start(*server, "agent", ANA, &TOKEN).await;
    say(&server, &session, "approve").await;
    eventually("the ping", async || outcome(&server, "delivered").await).await;
    assert_eq!(poll(*server, "agent", &id).await.status, 200);
    server.clock.advance(Duration::from_mins(2));
    server.quiet().await;
    assert_eq!(endpoint.count(), 1, "neither followed nor repeated");
    server.stop().await;
}

#[tokio::test]
async fn fapi_ciba_id1_ping_backchannel_notification_endpoint_response_has_body() {
    pinged(SAYS_MORE).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ping_backchannel_notification_endpoint_response_401() {
    pinged(UNAUTHORIZED).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ping_backchannel_notification_endpoint_response_403() {
    pinged(FORBIDDEN).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ping_backchannel_notification_endpoint_return_redirect_request() {
    pinged(REDIRECTS).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ping_with_a_long_client_notification_token() {
    let (server, endpoint) = scene(TAKES).await;
    let session = server.sign_in(ANA).await;
    let token = "a".repeat(1_024);
    start(*server, "agent", ANA, &[("client_notification_token", &token)]).await;
    say(&server, &session, "approve").await;
    eventually("the ping", async || outcome(&server, "delivered").await).await;
    assert_eq!(endpoint.count(), 1);
    server.stop().await;
}

#[tokio::test]
async fn fapi_ciba_id1_refresh_token() {
    let server = open_in(TestOptions::default()).await;
    let session = server.sign_in(ANA).await;
    let id = start(*server, "agent", ANA, &[("scope", "openid offline_access")]).await;
    say(&server, &session, "approve").await;
    let tokens = poll(*server, "agent", &id).await.json();
    let refresh = text(&tokens["refresh_token"]);
    server
        .apply(
            "[[client]]\nclient_id = \"rival\"\n\
             grant_types = [\"urn:openid:params:grant-type:ciba\", \"refresh_token\"]\n",
        )
        .await;
    server.refresh("rival", refresh).await.refused(400, "invalid_grant");
    assert_eq!(server.refresh("agent", refresh).await.status, 200);
    server.stop().await;
}
