//! What is stolen from one node is worthless at the other: everything that is bound, tried from another key or by another client.
//! Two processes on one database, on each engine.

use crate::{
    dpop::{ANA, TOKEN, USERINFO},
    exchange::AGENTS,
    http::Answer,
    key_holder::KeyHolder,
    outside::Outside,
    par::present,
    person::{asking, callback, parameter, redeeming, redirect, text},
    races::Pair,
    signing_client::{ClientKey, JWT_BEARER, in_toml, key_set},
    support::form,
};
use hyper::Method;
use serde_json::{Value, json};

fn now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(now.as_secs()).unwrap()
}

async fn issuer(node: Outside) -> String {
    text(&node.get("/.well-known/openid-configuration").await.json()["issuer"]).to_owned()
}

/// Asks for tokens as a client of the scene, with a proof of this key.
async fn proved(node: Outside, client: &str, fields: &[(&str, &str)], by: &KeyHolder) -> Answer {
    let proof = by.proof("POST", TOKEN, json!({}));
    node.post_proved(client, TOKEN, (fields, &[&proof])).await
}

async fn userinfo(node: Outside, token: &str, by: &KeyHolder) -> Answer {
    let proof = by.proof_with("GET", USERINFO, token);
    node.present_token((Method::GET, USERINFO), &format!("DPoP {token}"), &[&proof]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_and_codes_are_worthless_by_another_key() {
    let pair = Pair::start_with(AGENTS).await;
    pair.apply("[[client]]\nclient_id = \"app\"\ntrusted = true\n");
    // A client may be seen for a second as it was.
    tokio::time::sleep(std::time::Duration::from_millis(1_200)).await;
    let [one, other] = pair.nodes;
    let issuer = issuer(one).await;
    let [owner, thief] = [(); 2].map(|()| KeyHolder::new(&issuer, now()));
    let session = one.sign_in(ANA).await;

    // An access token, and the subject token of an exchange.
    let code = one.code(&session, "web", "openid invoices:read").await;
    let callback_of_web = callback("web");
    let issued = proved(one, "web", &redeeming(&code, &callback_of_web), &owner).await.json();
    let token = text(&issued["access_token"]);
    userinfo(other, token, &thief).await.refused(401, "invalid_token");
    assert_eq!(userinfo(other, token, &owner).await.status, 200);
    let exchange = [
        ("grant_type", "token-exchange"),
        ("subject_token", token),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token"),
    ];
    proved(other, "agent", &exchange, &thief).await.refused(400, "invalid_request");
    assert_eq!(proved(other, "agent", &exchange, &owner).await.status, 200);

    // A confidential client's refresh token, by another client.
    let refresh =
        [("grant_type", "refresh_token"), ("refresh_token", text(&issued["refresh_token"]))];
    proved(other, "invoices-api", &refresh, &owner).await.refused(400, "unauthorized_client");
    assert_eq!(proved(other, "web", &refresh, &thief).await.status, 200, "its key may change");

    // A code, and a pushed request, that name a key.
    let key = owner.thumbprint();
    let asked = format!("/connect/authorize?{}", asking("app", &[("dpop_jkt", &key)]));
    let request = one.request(Method::GET, &asked).header("accept", "application/json");
    let done = one.send(request.header("x-session-token", &session).body(form(&[])).unwrap()).await;
    let code = parameter(&redirect(&done), "code").unwrap();
    let callback_of_app = callback("app");
    let redeem = redeeming(&code, &callback_of_app);
    proved(other, "app", &redeem, &thief).await.refused(400, "invalid_grant");
    let first = proved(other, "app", &redeem, &owner).await;
    assert_eq!(first.status, 200, "{first:?}");
    let pushed = asking("app", &[("dpop_jkt", &key)]);
    let fields: Vec<(String, String)> =
        url::form_urlencoded::parse(pushed.as_bytes()).into_owned().collect();
    let fields: Vec<(&str, &str)> =
        fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let proof = thief.proof("POST", "/connect/par", json!({}));
    let refused = other.post_proved("app", "/connect/par", (&fields[1..], &[&proof])).await;
    refused.refused(400, "invalid_dpop_proof");
    let accepted = one.post("/connect/par", &fields).await.json();
    let done = present(other, "app", text(&accepted["request_uri"]), Some(&session)).await;
    let code = parameter(&redirect(&done), "code").unwrap();
    proved(one, "app", &redeeming(&code, &callback_of_app), &thief)
        .await
        .refused(400, "invalid_grant");

    // A public client's refresh token.
    let first = first.json();
    let refresh =
        [("grant_type", "refresh_token"), ("refresh_token", text(&first["refresh_token"]))];
    proved(one, "app", &refresh, &thief).await.refused(400, "invalid_grant");
    one.post_proved("app", TOKEN, (&refresh, &[])).await.refused(400, "invalid_grant");
    assert_eq!(proved(one, "app", &refresh, &owner).await.status, 200, "nothing ended by that");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_assertion_is_its_clients_and_good_once() {
    let keys = ["signer", "second"].map(ClientKey::new);
    let client = |key: &ClientKey| {
        format!(
            "[[client]]\nclient_id = \"{}\"\norganization = \"acme\"\nroles = [\"clerk\"]\n\
             token_endpoint_auth_method = \"private_key_jwt\"\njwks = {}\n",
            key.kid,
            in_toml(&key_set(&[&key.jwk]))
        )
    };
    let pair = Pair::start_with(&keys.each_ref().map(client).concat()).await;
    let [one, other] = pair.nodes;
    let issuer = issuer(one).await;
    let claims = |client: &str, jti: &str| -> Value {
        let now = now();
        json!({ "iss": client, "sub": client, "aud": issuer, "iat": now, "exp": now + 60, "jti": jti })
    };
    let ask = async |node: Outside, assertion: &str, client: &str| {
        let fields = [
            ("grant_type", "client_credentials"),
            ("client_id", client),
            ("client_assertion_type", JWT_BEARER),
            ("client_assertion", assertion),
        ];
        node.post(TOKEN, &fields).await
    };
    let [signer, second] = &keys;
    let own = signer.sign(&claims("signer", "a"));
    ask(other, &own, "second").await.refused(401, "invalid_client");
    let forged = signer.sign(&claims("second", "b"));
    ask(other, &forged, "second").await.refused(401, "invalid_client");
    assert_eq!(ask(one, &own, "signer").await.status, 200);
    for node in [one, other] {
        ask(node, &own, "signer").await.refused(401, "invalid_client");
    }
    assert_eq!(ask(other, &second.sign(&claims("second", "a")), "second").await.status, 200);
}
