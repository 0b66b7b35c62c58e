//! Basic OP: `oidcc-basic-certification-test-plan`, with response type `code`.

use super::suite::{NONCE, STATE, Suite, get};
use crate::{
    http::Answer,
    person::{VERIFIER, claims, text},
    support::form,
};
use hyper::Method;
use serde_json::{Value, json};
use std::time::Duration;

/// What the scope `profile` asks for.
const PROFILE: [&str; 14] = [
    "name",
    "given_name",
    "family_name",
    "middle_name",
    "nickname",
    "profile",
    "picture",
    "website",
    "gender",
    "birthdate",
    "zoneinfo",
    "locale",
    "updated_at",
    "preferred_username",
];

fn nothing() -> Value {
    json!({})
}

#[track_caller]
fn has_all(said: &Value, names: &[&str]) {
    for name in names {
        assert!(!said[name].is_null(), "{name}: {said}");
    }
}

#[track_caller]
fn has_none(said: &Value, names: &[&str]) {
    for name in names {
        assert!(said.get(name).is_none(), "{name}: {said}");
    }
}

#[tokio::test]
async fn oidcc_server() {
    let mut suite = Suite::open().await;
    let party = suite.register(&nothing()).await;
    let tokens = suite.tokens(&party, &[]).await;
    let said = claims(&tokens["id_token"]);
    has_all(&said, &["at_hash"]);
    has_none(&said, &["name", "email", "phone_number", "address"]);
    suite.userinfo(&tokens).await;
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_response_type_missing() {
    let mut suite = Suite::open().await;
    let party = suite.register(&nothing()).await;
    // To a browser without a session the error of a self-registered client is a page; to a
    // program it is told.
    let error = suite.authorize(&party, &[("-response_type", "")]).await.error();
    assert!(["invalid_request", "unsupported_response_type"].contains(&error.as_str()), "{error}");
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_idtoken_signature() {
    let mut suite = Suite::open().await;
    let party = suite.register(&nothing()).await;
    let tokens = suite.tokens(&party, &[]).await;
    let header = jsonwebtoken::decode_header(text(&tokens["id_token"])).unwrap();
    assert_eq!(header.alg, jsonwebtoken::Algorithm::RS256);
    assert!(header.kid.is_some());
    suite.clean_up(&party).await;
}

/// Skipped by the suite, because `none` is not offered. It cannot be registered either.
#[tokio::test]
async fn oidcc_idtoken_unsigned() {
    let suite = Suite::open().await;
    let offered = suite.metadata().await["id_token_signing_alg_values_supported"].to_string();
    assert!(!offered.contains("none"));
    let asked = json!({ "redirect_uris": ["https://suite.example.com/cb"],
                        "id_token_signed_response_alg": "none" });
    let answer = suite.server.post_json("/connect/register", &asked, &[]).await;
    answer.refused(400, "invalid_client_metadata");
    suite.server.stop().await;
}

#[tokio::test]
async fn oidcc_userinfo_get() {
    let mut suite = Suite::open().await;
    let party = suite.register(&nothing()).await;
    let tokens = suite.tokens(&party, &[]).await;
    suite.userinfo(&tokens).await;
    suite.clean_up(&party).await;
}

async fn post_userinfo(suite: &Suite, token: Option<&str>, fields: &[(&str, &str)]) -> Answer {
    let mut request = suite.server.request(Method::POST, "/connect/userinfo");
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    if !fields.is_empty() {
        request = request.header("content-type", "application/x-www-form-urlencoded");
    }
    suite.server.send(request.body(form(fields)).unwrap()).await
}

#[tokio::test]
async fn oidcc_userinfo_post_header() {
    let mut suite = Suite::open().await;
    let party = suite.register(&nothing()).await;
    let tokens = suite.tokens(&party, &[]).await;
    let answer = post_userinfo(&suite, Some(text(&tokens["access_token"])), &[]).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["sub"], claims(&tokens["id_token"])["sub"]);
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_userinfo_post_body() {
    let mut suite = Suite::open().await;
    let party = suite.register(&nothing()).await;
    let tokens = suite.tokens(&party, &[]).await;
    let fields = [("access_token", text(&tokens["access_token"]))];
    let answer = post_userinfo(&suite, None, &fields).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_ensure_request_without_nonce_succeeds_for_code_flow() {
    let mut suite = Suite::open().await;
    let party = suite.register(&nothing()).await;
    suite.code(&party, &[("-nonce", "")]).await;
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_scope_profile() {
    let mut suite = Suite::open().await;
    let party = suite.register(&nothing()).await;
    let tokens = suite.tokens(&party, &[("scope", "openid profile")]).await;
    has_all(&suite.userinfo(&tokens).await, &PROFILE);
    has_none(&claims(&tokens["id_token"]), &PROFILE);
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_scope_email() {
    let mut suite = Suite::open().await;
    let party = suite.register(&nothing()).await;
    let tokens = suite.tokens(&party, &[("scope", "openid email")]).await;
    let said = suite.userinfo(&tokens).await;
    has_all(&said, &["email", "email_verified"]);
    has_none(&said, &["name"]);
    has_none(&claims(&tokens["id_token"]), &["email", "name"]);
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_scope_address() {
    let mut suite = Suite::open().await;
    let party = suite.register(&nothing()).await;
    let tokens = suite.tokens(&party, &[("scope", "openid address")]).await;
    assert!(suite.userinfo(&tokens).await["address"].is_object());
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_scope_phone() {
    let mut suite = Suite::open().await;
    let party = suite.register(&nothing()).await;
    let tokens = suite.tokens(&party, &[("scope", "openid phone")]).await;
    has_all(&suite.userinfo(&tokens).await, &["phone_number", "phone_number_verified"]);
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_scope_all() {
    let mut suite = Suite::open().await;
    let party = suite.register(&nothing()).await;
    let scope = ("scope", "openid profile email address phone");
    let tokens = suite.tokens(&party, &[scope]).await;
    let said = suite.userinfo(&tokens).await;
    has_all(&said, &PROFILE);
    has_all(&said, &["email", "email_verified", "address", "phone_number"]);
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_alternate_happy_flow() {
    let mut suite = Suite::open().await;
    let party = suite.register(&nothing()).await;
    // The scopes in another order, and so the parameters: this one comes last now.
    let asked = [("scope", "phone address email profile openid"), ("client_id", "")];
    let id = text(&party.registered["client_id"]).to_owned();
    let asked = [asked[0], ("client_id", id.as_str())];
    let tokens = suite.tokens(&party, &asked).await;
    suite.userinfo(&tokens).await;
    suite.clean_up(&party).await;
}

/// A request with one more parameter does what it does without.
async fn is_accepted(name: &str, value: &str) {
    let mut suite = Suite::open().await;
    let party = suite.register(&nothing()).await;
    suite.tokens(&party, &[(name, value)]).await;
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_display_page() {
    is_accepted("display", "page").await;
}

#[tokio::test]
async fn oidcc_display_popup() {
    is_accepted("display", "popup").await;
}

#[tokio::test]
async fn oidcc_prompt_login() {
    let mut suite = Suite::open().await;
    let party = suite.register(&nothing()).await;
    let first = suite.tokens(&party, &[]).await;
    suite.server.clock.advance(Duration::from_secs(1));
    let second = suite.tokens(&party, &[("prompt", "login")]).await;
    assert_eq!(suite.sign_ins, 2);
    let at = |tokens: &Value| claims(&tokens["id_token"])["auth_time"].as_i64().unwrap();
    assert!(at(&second) > at(&first));
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_prompt_none_not_logged_in() {
    let mut suite = Suite::open().await;
    let party = suite.register(&nothing()).await;
    let error = suite.authorize(&party, &[("prompt", "none")]).await.error();
    assert_eq!(error, "login_required");
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_prompt_none_logged_in() {
    let mut suite = Suite::open().await;
    let party = suite.register(&nothing()).await;
    let first = claims(&suite.tokens(&party, &[]).await["id_token"]);
    suite.server.clock.advance(Duration::from_secs(2));
    let second = claims(&suite.tokens(&party, &[("prompt", "none")]).await["id_token"]);
    assert_eq!((&second["sub"], &second["auth_time"]), (&first["sub"], &first["auth_time"]));
    assert_eq!(suite.sign_ins, 1);
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_max_age_1() {
    let mut suite = Suite::open().await;
    let party = suite.register(&nothing()).await;
    let first = claims(&suite.tokens(&party, &[]).await["id_token"]);
    suite.server.clock.advance(Duration::from_secs(2));
    let second = claims(&suite.tokens(&party, &[("max_age", "1")]).await["id_token"]);
    assert_eq!(suite.sign_ins, 2);
    assert!(second["auth_time"].as_i64() > first["auth_time"].as_i64());
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_max_age_10000() {
    let mut suite = Suite::open().await;
    let party = suite.register(&nothing()).await;
    let first = claims(&suite.tokens(&party, &[("max_age", "15000")]).await["id_token"]);
    suite.server.clock.advance(Duration::from_secs(2));
    let second = claims(&suite.tokens(&party, &[("max_age", "10000")]).await["id_token"]);
    assert!(first["auth_time"].is_i64());
    assert_eq!((suite.sign_ins, &second["auth_time"]), (1, &first["auth_time"]));
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_ensure_request_with_unknown_parameter_succeeds() {
    is_accepted("extra", "foobar").await;
}

#[tokio::test]
async fn oidcc_id_token_hint() {
    let mut suite = Suite::open().await;
    let party = suite.register(&nothing()).await;
    let first = suite.tokens(&party, &[]).await;
    let hint = text(&first["id_token"]).to_owned();
    let asked = [("prompt", "none"), ("id_token_hint", hint.as_str())];
    let second = claims(&suite.tokens(&party, &asked).await["id_token"]);
    let first = claims(&first["id_token"]);
    assert_eq!((&second["sub"], &second["auth_time"]), (&first["sub"], &first["auth_time"]));
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_login_hint() {
    is_accepted("login_hint", "buffy@localhost").await;
}

#[tokio::test]
async fn oidcc_ui_locales() {
    is_accepted("ui_locales", "se").await;
}

#[tokio::test]
async fn oidcc_claims_locales() {
    is_accepted("claims_locales", "se").await;
}

#[tokio::test]
async fn oidcc_ensure_request_with_acr_values_succeeds() {
    let mut suite = Suite::open().await;
    let party = suite.register(&nothing()).await;
    let metadata = suite.metadata().await;
    let offered = metadata["acr_values_supported"].as_array().unwrap();
    let offered: Vec<&str> = offered.iter().map(text).collect();
    let tokens = suite.tokens(&party, &[("acr_values", &offered.join(" "))]).await;
    let acr = claims(&tokens["id_token"])["acr"].clone();
    assert!(offered.contains(&text(&acr)), "{acr}");
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_codereuse() {
    let mut suite = Suite::open().await;
    let party = suite.register(&nothing()).await;
    let code = suite.code(&party, &[]).await;
    assert_eq!(suite.redeem(&party, &code).await.status, 200);
    suite.redeem(&party, &code).await.refused(400, "invalid_grant");
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_codereuse_30seconds() {
    let mut suite = Suite::open().await;
    let party = suite.register(&nothing()).await;
    let code = suite.code(&party, &[]).await;
    let tokens = suite.redeem(&party, &code).await.json();
    suite.userinfo(&tokens).await;
    suite.server.clock.advance(Duration::from_secs(30));
    suite.redeem(&party, &code).await.refused(400, "invalid_grant");
    let answer = suite.server.userinfo(text(&tokens["access_token"])).await;
    assert_eq!(answer.status, 401, "{answer:?}");
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_ensure_registered_redirect_uri() {
    let mut suite = Suite::open().await;
    let party = suite.register(&nothing()).await;
    let other = [("redirect_uri", "https://suite.example.com/test/a/callback/another")];
    suite.authorize(&party, &other).await.is_page();
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_ensure_post_request_succeeds() {
    let mut suite = Suite::open().await;
    let party = suite.register(&nothing()).await;
    for pkce in [false, true] {
        let request = suite.server.request(Method::POST, "/connect/authorize");
        let request = request
            .header("accept", "application/json")
            .header("content-type", "application/x-www-form-urlencoded");
        let body = super::suite::query(&party, &[], pkce);
        let answer = suite.server.send(request.body(body.into()).unwrap()).await;
        let url = suite.follow(answer).await.redirect();
        assert_eq!(get(&url, "code").is_some(), pkce, "{url}");
        assert_eq!(get(&url, "state").as_deref(), Some(STATE));
    }
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_server_client_secret_post() {
    let mut suite = Suite::open().await;
    let method = json!({ "token_endpoint_auth_method": "client_secret_post" });
    let party = suite.register(&method).await;
    let tokens = suite.tokens(&party, &[]).await;
    suite.userinfo(&tokens).await;
    suite.clean_up(&party).await;
}

/// An object in base64url without a signature.
fn unsigned(members: &Value) -> String {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.", part(&json!({ "alg": "none" })), part(members))
}

/// Skipped by the suite, because `none` is not offered. What is unsigned is refused, never ignored.
async fn unsigned_is_refused(asked: &[(&str, &str)]) {
    let mut suite = Suite::open().await;
    let party = suite.register(&nothing()).await;
    let offered = suite.metadata().await["request_object_signing_alg_values_supported"].clone();
    let offered = offered.as_array().expect("a list makes the suite skip this").clone();
    assert!(!offered.iter().any(|algorithm| algorithm == "none"));
    match suite.authorize(&party, asked).await {
        super::suite::Reply::Page(page) => assert_eq!(page.status, 400, "{page:?}"),
        super::suite::Reply::Redirect(url) => {
            assert!(get(&url, "error").is_some() && get(&url, "code").is_none(), "{url}");
        }
    }
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_request_uri_unsigned_supported_correctly_or_rejected_as_unsupported() {
    unsigned_is_refused(&[("request_uri", "https://suite.example.com/requesturi")]).await;
}

#[tokio::test]
async fn oidcc_unsigned_request_object_supported_correctly_or_rejected_as_unsupported() {
    unsigned_is_refused(&[("request", &unsigned(&json!({ "response_type": "code" })))]).await;
}

#[tokio::test]
async fn oidcc_claims_essential() {
    let mut suite = Suite::open().await;
    let party = suite.register(&nothing()).await;
    let asked = json!({ "userinfo": { "name": { "essential": true } } }).to_string();
    let tokens = suite.tokens(&party, &[("claims", &asked)]).await;
    has_all(&suite.userinfo(&tokens).await, &["name"]);
    has_none(&claims(&tokens["id_token"]), &["name"]);
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_ensure_request_object_with_redirect_uri() {
    let object = unsigned(&json!({ "redirect_uri": "https://evil.example.com/cb" }));
    unsigned_is_refused(&[("request", &object)]).await;
}

#[tokio::test]
async fn oidcc_refresh_token() {
    let mut suite = Suite::open().await;
    let (party, other) = (suite.register(&nothing()).await, suite.register(&nothing()).await);
    let asked = [("scope", "openid offline_access"), ("prompt", "consent")];
    let first = suite.tokens(&party, &asked).await;
    suite.server.clock.advance(Duration::from_secs(2));
    let answer = suite.refresh(&party, text(&first["refresh_token"])).await;
    suite.check_tokens(&party, &answer, None).await;
    let (was, is) = (claims(&first["id_token"]), claims(&answer.json()["id_token"]));
    for same in ["iss", "sub", "aud", "auth_time", "azp"] {
        assert_eq!(was[same], is[same], "{same}");
    }
    assert!(is["iat"].as_i64() > was["iat"].as_i64());
    let others = suite.tokens(&other, &asked).await;
    let refused = suite.refresh(&party, text(&others["refresh_token"])).await;
    refused.refused(400, "invalid_grant");
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_ensure_request_with_valid_pkce_succeeds() {
    let mut suite = Suite::open().await;
    let party = suite.register(&nothing()).await;
    let code = suite.code(&party, &[]).await;
    assert_eq!((VERIFIER.len(), NONCE.len()), (43, 12));
    assert_eq!(suite.redeem(&party, &code).await.status, 200);
    suite.clean_up(&party).await;
}
