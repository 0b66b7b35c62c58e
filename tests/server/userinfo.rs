//! What a person has let a client know of them.

use crate::{
    person::text,
    support::{TestServer, form},
};
use hyper::Method;
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test]
async fn userinfo_tells_what_was_granted_and_nothing_else() {
    let server = TestServer::open().await;
    for (scope, claims) in [
        ("openid", vec!["org", "sub"]),
        ("openid email", vec!["email", "email_verified", "org", "sub"]),
        ("openid profile", vec!["given_name", "name", "org", "sub", "updated_at"]),
        ("openid phone", vec!["org", "phone_number", "sub"]),
    ] {
        let tokens = server.tokens("ana@acme.test", "web", scope).await;
        let answer = server.userinfo(text(&tokens["access_token"])).await;
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let told = answer.json();
        let mut names: Vec<&String> = told.as_object().unwrap().keys().collect();
        names.sort();
        assert_eq!(names, claims, "{scope}");
        assert_eq!(told["sub"], crate::person::claims(&tokens["id_token"])["sub"]);
    }
    server.stop().await;
}

#[tokio::test]
async fn any_live_token_with_openid_will_do_whatever_api_it_is_for() {
    let server = TestServer::open().await;
    let tokens = server.tokens("ana@acme.test", "web", "openid email invoices:read").await;
    let told = server.userinfo(text(&tokens["access_token"])).await.json();
    assert_eq!((text(&told["email"]), text(&told["org"])), ("ana@acme.test", "acme"));
    assert_eq!(told["email_verified"], true);
    server.stop().await;
}

#[tokio::test]
async fn a_token_is_presented_in_one_way() {
    let server = TestServer::open().await;
    let tokens = server.tokens("ana@acme.test", "web", "openid").await;
    let token = text(&tokens["access_token"]);
    let posted = server.post("/connect/userinfo", &[("access_token", token)]).await;
    assert_eq!(posted.status, 200, "{posted:?}");
    let bearer = format!("Bearer {token}");
    let kind = "application/x-www-form-urlencoded";
    let both = server
        .request(Method::POST, "/connect/userinfo")
        .header("authorization", &bearer)
        .header("content-type", kind);
    let both = server.send(both.body(form(&[("access_token", token)])).unwrap()).await;
    both.refused(400, "invalid_request");
    let header = server.request(Method::POST, "/connect/userinfo").header("authorization", &bearer);
    assert_eq!(server.send(header.body(form(&[])).unwrap()).await.status, 200);
    // RFC 6750 §2.3 is not taken: what is in an address ends up in logs.
    let query = server.get(&format!("/connect/userinfo?access_token={token}")).await;
    query.refused(401, "invalid_token");
    let challenge = query.header("www-authenticate").unwrap();
    assert!(
        challenge.starts_with("Bearer realm=\"porteiro\", resource_metadata=\""),
        "{challenge}"
    );
    assert!(!challenge.contains("error"), "RFC 6750 §3.1: {challenge}");
    server.stop().await;
}

#[tokio::test]
async fn what_is_no_live_token_of_a_person_is_refused() {
    let server = TestServer::open().await;
    let tokens = server.tokens("ana@acme.test", "web", "openid").await;
    let machine = server.token("billing", "invoices:read").await;
    server.userinfo(&machine).await.refused(403, "insufficient_scope");
    let id_token = text(&tokens["id_token"]);
    let forged = format!("{}x", text(&tokens["access_token"]));
    for bad in ["x", "a.b.c", id_token, &forged, text(&tokens["refresh_token"])] {
        let answer = server.userinfo(bad).await;
        answer.refused(401, "invalid_token");
        assert!(answer.header("www-authenticate").unwrap().contains("error=\"invalid_token\""));
    }
    server.clock.advance(Duration::from_mins(5));
    server.userinfo(text(&tokens["access_token"])).await.refused(401, "invalid_token");
    server.stop().await;
}

#[tokio::test]
async fn userinfo_is_signed_for_those_who_registered_so() {
    let server = TestServer::open().await;
    server
        .apply("[[client]]\nclient_id = \"web\"\nuserinfo_signed_response_alg = \"ES256\"\n")
        .await;
    server.clock.expire_views();
    let tokens = server.tokens("ana@acme.test", "web", "openid email").await;
    let answer = server.userinfo(text(&tokens["access_token"])).await;
    assert_eq!(answer.header("content-type"), Some("application/jwt"));
    let told = crate::person::claims(&Value::from(answer.text()));
    assert_eq!((&told["aud"], &told["email"]), (&json!("web"), &json!("ana@acme.test")));
    assert_eq!(told["iss"], server.issuer());
    server.stop().await;
}
