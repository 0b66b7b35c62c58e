//! Requests from the beginning to the tokens, or to a refusal.

use super::run::{CIBA, NOTIFICATION_TOKEN, Run};
use crate::{
    ciba::GRANT,
    conformance::{fapi2::tls, suite::verified},
    dpop::TOKEN,
    person::{claims, text},
};
use jsonwebtoken::{Algorithm, decode_header};
use serde_json::{Value, json};
use std::time::Duration;

pub async fn end_point_verification(run: &Run) {
    let metadata = run.server.get("/.well-known/openid-configuration").await.json();
    let has = |member: &str, value: &str| {
        let list = metadata[member].as_array().unwrap_or_else(|| panic!("{member}: {metadata}"));
        assert!(list.contains(&json!(value)), "{run}: {member}: {value}");
    };
    assert_eq!(metadata["tls_client_certificate_bound_access_tokens"], true, "{run}");
    let endpoint = text(&metadata["backchannel_authentication_endpoint"]);
    assert_eq!(endpoint, format!("{}{CIBA}", run.server.issuer()), "{run}");
    let alias = &metadata["mtls_endpoint_aliases"]["backchannel_authentication_endpoint"];
    assert_eq!(text(alias), run.url(CIBA), "{run}");
    has("backchannel_token_delivery_modes_supported", if run.ping { "ping" } else { "poll" });
    has("grant_types_supported", GRANT);
    for algorithm in ["PS256", "ES256"] {
        has("backchannel_authentication_request_signing_alg_values_supported", algorithm);
        has("token_endpoint_auth_signing_alg_values_supported", algorithm);
        has("id_token_signing_alg_values_supported", algorithm);
    }
    let methods: &[&str] = if run.variant.private_key_jwt() {
        &["private_key_jwt"]
    } else {
        &["tls_client_auth", "self_signed_tls_client_auth"]
    };
    for method in methods {
        has("token_endpoint_auth_methods_supported", method);
    }
    let codes = &metadata["backchannel_user_code_parameter_supported"];
    assert!(codes.is_boolean(), "{run}: {codes}");
}

pub async fn whole_way(run: &Run) {
    let mut tokens = Vec::new();
    for (client, times) in [(&run.one, 1), (&run.two, 2)] {
        let begun = run.begin(client, &json!({})).await;
        let id = &begun["auth_req_id"];
        run.refused(&run.redeem(client, id).await, &["authorization_pending"]);
        run.say(client, "approve").await;
        run.notified(times).await;
        if run.ping {
            let came = run.endpoint.came().pop().unwrap();
            let (head, body) = came.split_once("\r\n\r\n").unwrap();
            let head = head.to_ascii_lowercase();
            assert!(head.starts_with("post "), "{run}: {head}");
            assert!(head.contains("content-type: application/json"), "{run}: {head}");
            let bearer = format!("authorization: bearer {NOTIFICATION_TOKEN}");
            assert!(head.contains(&bearer), "{run}: {head}");
            let body: Value = serde_json::from_str(body).unwrap();
            assert_eq!(body, json!({ "auth_req_id": id }), "{run}");
        }
        let answer = run.redeem(client, id).await;
        assert_eq!(answer.status, 200, "{run}: {answer:?}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{run}");
        let issued = answer.json();
        let confirmed = &claims(&issued["access_token"])["cnf"];
        assert_eq!(confirmed, &client.certificate.confirmation(), "{run}");
        let id_token = text(&issued["id_token"]);
        let header = decode_header(id_token).unwrap();
        assert!([Algorithm::PS256, Algorithm::ES256].contains(&header.alg), "{run}: {header:?}");
        let said = verified(id_token, &run.server.key_set().await);
        assert_eq!(said["aud"], *client.id, "{run}");
        assert!(said.get("c_hash").is_none() && said.get("s_hash").is_none(), "{run}: {said}");
        run.spend(client, text(&issued["access_token"])).await;
        tokens.push((id.clone(), issued));
    }
    let second = text(&tokens[1].1["access_token"]);
    let stolen = run.visit(&run.one, second).send().await;
    assert!(stolen.status.is_client_error(), "{run}: {stolen:?}");
    run.refused(&run.redeem(&run.one, &tokens[0].0).await, &["invalid_grant"]);
    if run.ping {
        let long = json!({ "client_notification_token": "a".repeat(1_024) });
        run.begin(&run.one, &long).await;
    }
    tls::scan(run).await;
}

pub async fn user_rejects_authentication(run: &Run) {
    let begun = run.begin(&run.one, &json!({})).await;
    run.say(&run.one, "deny").await;
    run.notified(1).await;
    run.refused(&run.redeem(&run.one, &begun["auth_req_id"]).await, &["access_denied"]);
}

pub async fn multiple_call_to_token_endpoint(run: &Run) {
    let begun = run.begin(&run.one, &json!({})).await;
    run.refused(&run.redeem(&run.one, &begun["auth_req_id"]).await, &["authorization_pending"]);
    for _ in 0..5 {
        let codes = ["authorization_pending", "slow_down"];
        run.refused(&run.redeem(&run.one, &begun["auth_req_id"]).await, &codes);
    }
}

pub async fn auth_req_id_expired(run: &Run) {
    let begun = run.begin(&run.one, &json!({ "requested_expiry": 10 })).await;
    assert_eq!(begun["expires_in"], 10, "{run}");
    run.server.clock.advance(Duration::from_secs(11));
    run.refused(&run.redeem(&run.one, &begun["auth_req_id"]).await, &["expired_token"]);
}

pub async fn binding_message(run: &Run) {
    run.tokens(&run.one, &json!({ "binding_message": "1234" })).await;
}

pub async fn bad_binding_message(run: &Run) {
    let message = "1234 \u{1F44D}\u{1F3FF} \u{10F0}\u{202e}";
    let answer = run.ask(&run.one, &json!({ "binding_message": message })).await;
    run.refused(&answer, &["invalid_binding_message"]);
}

pub async fn other_scope_order(run: &Run) {
    let tokens = run.tokens(&run.one, &json!({ "scope": "email profile openid" })).await;
    assert!(tokens["id_token"].is_string(), "{run}: {tokens}");
}

pub async fn requested_expiry_as_text(run: &Run) {
    let begun = run.begin(&run.one, &json!({ "requested_expiry": "30" })).await;
    assert_eq!(begun["expires_in"], 30, "{run}");
}

pub async fn id_of_another(run: &Run) {
    let begun = run.begin(&run.one, &json!({})).await;
    run.refused(&run.redeem(&run.two, &begun["auth_req_id"]).await, &["invalid_grant"]);
}

pub async fn refresh_token(run: &Run) {
    let (one, two) = (&run.one, &run.two);
    let tokens = run.tokens(one, &json!({})).await;
    let others = run.tokens(two, &json!({})).await;
    let refreshing = |client, token: &Value| {
        let fields = [("grant_type", "refresh_token"), ("refresh_token", text(token))];
        run.form(client, TOKEN, &fields)
    };
    let stolen = refreshing(one, &others["refresh_token"]).send().await;
    run.refused(&stolen, &["invalid_grant"]);
    let unbound = refreshing(one, &tokens["refresh_token"]).unbound().send().await;
    run.refused(&unbound, &["invalid_client", "invalid_request", "invalid_grant"]);
    for (client, tokens) in [(one, &tokens), (two, &others)] {
        let renewed = refreshing(client, &tokens["refresh_token"]).send().await;
        assert_eq!(renewed.status, 200, "{run}: {renewed:?}");
        let confirmed = &claims(&renewed.json()["access_token"])["cnf"];
        assert_eq!(confirmed, &client.certificate.confirmation(), "{run}");
    }
}

pub async fn holder_of_key(run: &Run) {
    let begun = run.begin(&run.one, &json!({})).await;
    run.say(&run.one, "approve").await;
    let id = text(&begun["auth_req_id"]);
    let answer = run.redeeming(&run.one, id).unbound().send().await;
    run.refused(&answer, &["invalid_client", "invalid_request", "invalid_grant"]);
    // It is good for the client that holds the key.
    assert_eq!(run.redeeming(&run.one, id).send().await.status, 200, "{run}");
    tls::scan(run).await;
}
