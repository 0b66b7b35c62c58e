//! The core behaviours of CIBA, after the modules of `fapi-ciba-id1-test-plan`, for clients without a
//! profile; each test is named after its module. The plan itself, for clients of the profile, is
//! `fapi_ciba`.

use crate::{
    ciba::{ANA, GRANT, ask, open_in, poll, say, start},
    http::Answer,
    nodes::EACH_LIMITS,
    person::{claims as said, text},
    signing_client::{ClientKey, RsaClientKey, claims, in_toml, key_set},
    support::{TestOptions, TestServer},
};
use jsonwebtoken::Algorithm;
use porteiro::domain::Clock as _;
use serde_json::{Value, json};
use std::time::Duration;

async fn open() -> TestServer {
    open_in(TestOptions::default()).await
}

/// A server with a client that signs its requests by ES256, and its key.
async fn signing() -> (TestServer, ClientKey) {
    let (server, key) = (open().await, ClientKey::new("k"));
    let keys = in_toml(&key_set(&[&key.jwk]));
    server
        .apply(&format!(
            "[[client]]\nclient_id = \"agent\"\njwks = {keys}\n\
             backchannel_authentication_request_signing_alg = \"ES256\"\n"
        ))
        .await;
    (server, key)
}

/// A request that is right but for what a module changes; null leaves a claim out.
fn request(server: &TestServer, otherwise: &Value) -> Value {
    let now = server.clock.now().seconds();
    let mut request = json!({ "scope": "openid", "login_hint": ANA, "nbf": now, "sub": null });
    let members = otherwise.as_object().unwrap().clone();
    request.as_object_mut().unwrap().extend(members);
    claims(server, "agent", request)
}

async fn send(server: &TestServer, object: &str) -> Answer {
    server.post_as("agent", "/connect/ciba", &[("request", object)]).await
}

/// Insists that a signed request with this otherwise is refused as every module wants it.
async fn refused(otherwise: fn(i64) -> Value) {
    let (server, key) = signing().await;
    let good = key.sign(&request(&server, &json!({})));
    assert_eq!(send(&server, &good).await.status, 200);
    let bad = request(&server, &otherwise(server.clock.now().seconds()));
    send(&server, &key.sign(&bad)).await.refused(400, "invalid_request");
    server.stop().await;
}

#[tokio::test]
async fn fapi_ciba_id1_discovery_end_point_verification() {
    let server = open().await;
    let metadata = server.get("/.well-known/openid-configuration").await.json();
    let has = |member: &str, value: &str| {
        let list = metadata[member].as_array().unwrap_or_else(|| panic!("{member}: {metadata}"));
        list.contains(&json!(value))
    };
    assert!(text(&metadata["backchannel_authentication_endpoint"]).starts_with(server.issuer()));
    for mode in ["poll", "ping"] {
        assert!(has("backchannel_token_delivery_modes_supported", mode));
    }
    assert!(!has("backchannel_token_delivery_modes_supported", "push"));
    assert!(has("grant_types_supported", GRANT));
    let signed_by = "backchannel_authentication_request_signing_alg_values_supported";
    for algorithm in ["PS256", "ES256"] {
        assert!(has(signed_by, algorithm));
        assert!(has("token_endpoint_auth_signing_alg_values_supported", algorithm));
    }
    assert!(has("id_token_signing_alg_values_supported", "ES256"));
    assert!(!has(signed_by, "none"));
    assert!(metadata["backchannel_user_code_parameter_supported"].is_boolean());
    server.stop().await;
}

#[tokio::test]
async fn fapi_ciba_id1() {
    let server = open().await;
    let begun = ask(*server, "agent", ANA, &[("scope", "openid profile")]).await.json();
    let id = text(&begun["auth_req_id"]);
    assert!(id.len() >= 43 && begun["expires_in"].is_u64() && begun["interval"].is_u64());
    poll(*server, "agent", id).await.refused(400, "authorization_pending");
    let session = server.sign_in(ANA).await;
    say(&server, &session, "approve").await;
    let answer = poll(*server, "agent", id).await;
    assert_eq!((answer.status.as_u16(), answer.header("cache-control")), (200, Some("no-store")));
    let id_token = said(&answer.json()["id_token"]);
    assert!(id_token.get("c_hash").is_none() && id_token.get("s_hash").is_none());
    poll(*server, "agent", id).await.refused(400, "invalid_grant");
    // A second client has requests of its own.
    let second = start(*server, "rival", ANA, &[]).await;
    assert_ne!(second, id);
    say(&server, &session, "approve").await;
    assert_eq!(poll(*server, "rival", &second).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn fapi_ciba_id1_user_rejects_authentication() {
    let server = open().await;
    let id = start(*server, "agent", ANA, &[]).await;
    let session = server.sign_in(ANA).await;
    say(&server, &session, "deny").await;
    poll(*server, "agent", &id).await.refused(400, "access_denied");
    server.stop().await;
}

#[tokio::test]
async fn fapi_ciba_id1_multiple_call_to_token_endpoint() {
    let server = open().await;
    server.on_one_node(EACH_LIMITS);
    let id = start(*server, "agent", ANA, &[]).await;
    poll(*server, "agent", &id).await.refused(400, "authorization_pending");
    for _ in 0..5 {
        poll(*server, "agent", &id).await.refused(400, "slow_down");
    }
    server.stop().await;
}

#[tokio::test]
async fn fapi_ciba_id1_auth_req_id_expired() {
    let (server, key) = signing().await;
    let object = key.sign(&request(&server, &json!({ "requested_expiry": 10 })));
    let begun = send(&server, &object).await.json();
    assert_eq!(begun["expires_in"], 10);
    server.clock.advance(Duration::from_secs(10));
    let id = text(&begun["auth_req_id"]);
    poll(*server, "agent", id).await.refused(400, "expired_token");
    server.stop().await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_other_scope_order_succeeds() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    let id = start(*server, "agent", ANA, &[("scope", "invoices:read email openid")]).await;
    say(&server, &session, "approve").await;
    let tokens = poll(*server, "agent", &id).await;
    assert_eq!(tokens.status, 200, "{tokens:?}");
    assert!(tokens.json()["id_token"].is_string());
    server.stop().await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_requested_expiry_as_string_succeeds() {
    let (server, key) = signing().await;
    let object = key.sign(&request(&server, &json!({ "requested_expiry": "30" })));
    assert_eq!(send(&server, &object).await.json()["expires_in"], 30);
    server.stop().await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_authorization_request_with_binding_message_succeeds() {
    let server = open().await;
    start(*server, "agent", ANA, &[("binding_message", "1234")]).await;
    server.stop().await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_authorization_request_with_potentially_bad_binding_message() {
    let server = open().await;
    let message = [("binding_message", "1234 \u{1F44D}\u{1F3FF} \u{10F0}\u{202e}")];
    ask(*server, "agent", ANA, &message).await.refused(400, "invalid_binding_message");
    server.stop().await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_authorization_request_with_multiple_hints_fails() {
    let server = open().await;
    let more = [("id_token_hint", "a.b.c")];
    ask(*server, "agent", ANA, &more).await.refused(400, "invalid_request");
    server.stop().await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_unsigned_backchannel_authorization_request_fails() {
    let (server, _) = signing().await;
    ask(*server, "agent", ANA, &[]).await.refused(400, "invalid_request");
    server.stop().await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_wrong_auth_req_id_in_token_endpoint_request() {
    let server = open().await;
    let id = start(*server, "agent", ANA, &[]).await;
    poll(*server, "rival", &id).await.refused(400, "invalid_grant");
    server.stop().await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_missing_aud_fails() {
    refused(|_| json!({ "aud": null })).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_bad_aud_fails() {
    refused(|_| json!({ "aud": "https://other.example" })).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_missing_iss_fails() {
    refused(|_| json!({ "iss": null })).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_bad_iss_fails() {
    refused(|_| json!({ "iss": "rival" })).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_missing_exp_fails() {
    refused(|_| json!({ "exp": null })).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_expired_exp_fails() {
    refused(|now| json!({ "exp": now - 300 })).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_missing_iat_fails() {
    refused(|_| json!({ "iat": null })).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_missing_nbf_fails() {
    refused(|_| json!({ "nbf": null })).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_nbf_is_10_minutes_in_future_fails() {
    refused(|now| json!({ "nbf": now + 600 })).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_missing_jti_fails() {
    refused(|_| json!({ "jti": null })).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_signature_algorithm_is_none_fails() {
    let (server, key) = signing().await;
    let header = json!({ "alg": "none", "kid": "k" });
    let object = key.sign_under(&header, &request(&server, &json!({})));
    send(&server, &object).await.refused(400, "invalid_request");
    server.stop().await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_signature_algorithm_is_bad_fails() {
    let (server, key) = signing().await;
    let good = key.sign(&request(&server, &json!({})));
    let (message, signature) = good.rsplit_once('.').unwrap();
    let turned: String = signature.chars().rev().collect();
    for bad in [turned.as_str(), "", "AAAA"] {
        let object = format!("{message}.{bad}");
        send(&server, &object).await.refused(400, "invalid_request");
    }
    server.stop().await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_signature_algorithm_is_rs256_fails() {
    let (server, key) = (open().await, RsaClientKey::new("r"));
    let keys = in_toml(&key_set(&[&key.jwk]));
    server
        .apply(&format!(
            "[[client]]\nclient_id = \"agent\"\njwks = {keys}\n\
             backchannel_authentication_request_signing_alg = \"PS256\"\n"
        ))
        .await;
    let good = key.sign(Algorithm::PS256, &request(&server, &json!({})));
    assert_eq!(send(&server, &good).await.status, 200);
    let bad = key.sign(Algorithm::RS256, &request(&server, &json!({})));
    send(&server, &bad).await.refused(400, "invalid_request");
    server.stop().await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_signed_by_other_client_fails() {
    let (server, _) = signing().await;
    let object = ClientKey::new("k").sign(&request(&server, &json!({})));
    send(&server, &object).await.refused(400, "invalid_request");
    server.stop().await;
}
