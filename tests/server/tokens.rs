//! A client in its own name: what it is granted, and what the token says.

use crate::support::{INVOICES, SECRET, TestServer, verify};
use http_body_util::Full;
use hyper::Method;
use serde_json::json;

#[tokio::test]
async fn a_client_gets_what_its_roles_confer_as_a_token_anyone_can_verify() {
    let server = TestServer::open().await;
    let answer = server.ask("billing", &[("scope", "invoices:read")]).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("pragma"), Some("no-cache"));
    let body = answer.json();
    assert_eq!((&body["token_type"], &body["expires_in"]), (&json!("Bearer"), &json!(300)));
    assert_eq!(body["scope"], "invoices:read");

    let claims = verify(body["access_token"].as_str().unwrap(), &server.key_set().await).unwrap();
    for (name, value) in [
        ("iss", server.issuer()),
        ("sub", "billing"),
        ("client_id", "billing"),
        ("aud", INVOICES),
        ("org", "acme"),
        ("role", "clerk"),
        ("scope", "invoices:read"),
    ] {
        assert_eq!(claims[name], value, "{name}");
    }
    assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 300);
    assert!(claims["jti"].as_str().unwrap().len() >= 22);
    server.stop().await;
}

#[tokio::test]
async fn two_tokens_are_never_the_same() {
    let server = TestServer::open().await;
    let keys = server.key_set().await;
    let jti = |token: &str| verify(token, &keys).unwrap()["jti"].clone();
    let first = server.token("billing", "invoices:read").await;
    assert_ne!(jti(&first), jti(&server.token("billing", "invoices:read").await));
    server.stop().await;
}

#[tokio::test]
async fn a_secret_is_presented_the_way_the_client_was_registered_for() {
    let server = TestServer::open().await;
    let grant = ("grant_type", "client_credentials");
    let body = |id| [grant, ("client_id", id), ("client_secret", SECRET)];
    // Nothing was said of billing's method: either way of presenting a secret will do.
    assert_eq!(server.post("/connect/token", &body("billing")).await.status, 200);
    assert_eq!(server.ask("billing", &[]).await.status, 200);
    assert_eq!(server.post("/connect/token", &body("boss")).await.status, 200);
    server.ask("boss", &[]).await.refused(401, "invalid_client");
    server.stop().await;
}

#[tokio::test]
async fn the_audience_is_the_resource_asked_for_or_the_owner_of_the_scopes() {
    let server = TestServer::open().await;
    let keys = server.key_set().await;
    let bare = server.ask("billing", &[("resource", INVOICES)]).await.json();
    let claims = verify(bare["access_token"].as_str().unwrap(), &keys).unwrap();
    assert!(claims.get("role").is_none(), "no scope of it was asked: {claims}");
    assert_eq!((&claims["org"], &claims["scope"]), (&json!("acme"), &json!("")));
    for (fields, audience) in [
        (vec![("scope", "orders:read")], "https://api.example.com/orders"),
        (vec![("resource", INVOICES)], INVOICES),
        (vec![("resource", INVOICES), ("scope", "invoices:read")], INVOICES),
        (vec![], server.issuer()),
    ] {
        let answer = server.ask("billing", &fields).await;
        let token = answer.json()["access_token"].as_str().unwrap_or_default().to_owned();
        assert_eq!(verify(&token, &keys).unwrap()["aud"], audience, "{fields:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_client_without_an_organization_speaks_for_itself_alone() {
    let server = TestServer::open().await;
    let answer = server.ask("nobody", &[]).await;
    let token = answer.json()["access_token"].as_str().unwrap().to_owned();
    let claims = verify(&token, &server.key_set().await).unwrap();
    assert!(claims.get("org").is_none() && claims.get("role").is_none(), "{claims}");
    assert_eq!(claims["scope"], "", "it is always there");
    assert_eq!(server.introspect("nobody", &token).await["scope"], "");
    assert!(answer.json().get("scope").is_none(), "RFC 6749 §5.1: nothing was asked");
    server.ask("nobody", &[("scope", "invoices:read")]).await.refused(400, "invalid_scope");
    server.ask("nobody", &[("organization", "acme")]).await.refused(400, "invalid_target");
    server.ask("nobody", &[("resource", INVOICES)]).await.refused(400, "invalid_target");
    server.stop().await;
}

#[tokio::test]
async fn authority_is_refused_and_never_trimmed() {
    let server = TestServer::open().await;
    for (id, scope) in [
        ("billing", "invoices:approve"),
        ("billing", "invoices:read invoices:approve"),
        ("billing", "invoices:*"),
        ("billing", "nothing:known"),
        ("billing", "openid"),
        ("billing", "offline_access"),
        ("billing", "organizations:administer"),
        ("billing", "a\"b"),
    ] {
        server.ask(id, &[("scope", scope)]).await.refused(400, "invalid_scope");
    }
    let grant = ("grant_type", "client_credentials");
    let boss = [grant, ("client_id", "boss"), ("client_secret", SECRET)];
    let asked = |scope| [&boss[..], &[("scope", scope)]].concat();
    // Its roles confer it all, but its registration is a ceiling.
    assert_eq!(server.post("/connect/token", &asked("invoices:approve")).await.status, 200);
    server.post("/connect/token", &asked("invoices:write")).await.refused(400, "invalid_scope");
    server.stop().await;
}

#[tokio::test]
async fn a_token_is_for_one_resource_and_one_organization() {
    let server = TestServer::open().await;
    for fields in [
        &[("scope", "invoices:read orders:read")][..],
        &[("resource", INVOICES), ("scope", "orders:read")],
        &[("resource", "https://nowhere.example.com")],
        &[("resource", INVOICES), ("resource", "https://api.example.com/orders")],
        &[("organization", "other")],
        &[("resource", &"https://long.example.com/".repeat(100))],
        &[("organization", "unheard-of")],
    ] {
        server.ask("billing", fields).await.refused(400, "invalid_target");
    }
    assert_eq!(server.ask("billing", &[("organization", "acme")]).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn a_client_gets_no_token_for_an_api_of_which_it_holds_nothing() {
    let server = TestServer::open().await;
    let metadata = json!({
        "redirect_uris": ["https://self.example.com/cb"],
        "grant_types": ["authorization_code", "client_credentials"],
        "token_endpoint_auth_method": "client_secret_post",
    });
    let registered = server.post_json("/connect/register", &metadata, &[]).await.json();
    let own = [
        ("grant_type", "client_credentials"),
        ("client_id", registered["client_id"].as_str().unwrap()),
        ("client_secret", registered["client_secret"].as_str().unwrap()),
    ];
    let asked = [&own[..], &[("resource", INVOICES)]].concat();
    server.post("/connect/token", &asked).await.refused(400, "invalid_target");
    let boss =
        [("grant_type", "client_credentials"), ("client_id", "boss"), ("client_secret", SECRET)];
    let asked = |resource| [&boss[..], &[("resource", resource)]].concat();
    assert_eq!(server.post("/connect/token", &asked(INVOICES)).await.status, 200);
    let orders = server.post("/connect/token", &asked("https://api.example.com/orders")).await;
    orders.refused(400, "invalid_target");
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_wants_bound_tokens_gets_no_others() {
    let server = TestServer::open().await;
    for (id, demand) in [("mtls", "tls_client_certificate_bound_access_tokens = true")] {
        server
            .apply(&format!(
                "[[client]]\nclient_id = \"{id}\"\nclient_secret = \"{SECRET}\"\n\
             organization = \"acme\"\nroles = [\"clerk\"]\n{demand}\n"
            ))
            .await;
        server.ask(id, &[("scope", "invoices:read")]).await.refused(400, "unauthorized_client");
    }
    server.stop().await;
}

#[tokio::test]
async fn what_apply_changes_is_seen_within_a_second() {
    let server = TestServer::open().await;
    assert_eq!(server.ask("billing", &[("scope", "invoices:read")]).await.status, 200);
    server.apply("[[organization]]\nslug = \"acme\"\nenabled = false\n").await;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    server.ask("billing", &[("scope", "invoices:read")]).await.refused(400, "invalid_target");
    server
        .apply(
            "[[organization]]\nslug = \"acme\"\nenabled = true\n\
         [[organization.role]]\nname = \"clerk\"\npermissions = [\"orders:read\"]\n",
        )
        .await;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    server.ask("billing", &[("scope", "invoices:read")]).await.refused(400, "invalid_scope");
    assert_eq!(server.ask("billing", &[("scope", "orders:read")]).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn a_program_in_a_browser_may_ask_from_anywhere() {
    let server = TestServer::open().await;
    for path in ["/connect/token", "/connect/revoke", "/connect/jwks"] {
        let preflight = server
            .request(Method::OPTIONS, path)
            .header("origin", "https://spa.example.com")
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "authorization,content-type");
        let answer = server.send(preflight.body(Full::default()).unwrap()).await;
        assert_eq!(answer.status, 204, "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{path}");
        let allowed = answer.header("access-control-allow-headers").unwrap();
        assert!(allowed.contains("authorization") && allowed.contains("content-type"));
        assert!(answer.header("access-control-allow-credentials").is_none());
        crate::support::sealed(&answer.headers);
    }
    let preflight = server
        .request(Method::OPTIONS, "/connect/introspect")
        .header("origin", "https://spa.example.com")
        .header("access-control-request-method", "POST");
    let answer = server.send(preflight.body(Full::default()).unwrap()).await;
    assert!(answer.header("access-control-allow-origin").is_none(), "not for browsers");
    server.stop().await;
}
