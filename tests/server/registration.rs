//! Clients that register themselves: what they are told, what they are refused, what is kept of them.

use crate::{
    http::Answer,
    support::{SECRET, TestOptions, TestServer, basic, form, sealed},
};
use bytes::Bytes;
use http_body_util::Full;
use hyper::Method;
use porteiro::{
    domain::{Clock as _, Machine as _, client::Client, signing_keys::SigningAlgorithm},
    http::{Limits, routes},
};
use serde_json::{Value, json};
use std::time::Duration;

const JSON: &str = "application/json";

async fn send(server: &TestServer, kind: &str, body: impl Into<Bytes>) -> Answer {
    let request = server.request(Method::POST, "/connect/register").header("content-type", kind);
    server.send(request.body(Full::new(body.into())).unwrap()).await
}

async fn register(server: &TestServer, members: &Value) -> Answer {
    send(server, JSON, members.to_string()).await
}

/// Registers what must be taken.
async fn registered(server: &TestServer, members: &Value) -> Value {
    let answer = register(server, members).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()
}

fn text<'a>(answer: &'a Value, name: &str) -> &'a str {
    answer[name].as_str().unwrap()
}

/// Asks for a token in the client's own name.
async fn ask(server: &TestServer, id: &str, secret: &str) -> Answer {
    let request = server
        .request(Method::POST, "/connect/token")
        .header("authorization", basic(id, secret))
        .header("content-type", "application/x-www-form-urlencoded");
    server.send(request.body(form(&[("grant_type", "client_credentials")])).unwrap()).await
}

fn machine() -> Value {
    json!({ "grant_types": ["client_credentials"] })
}

#[tokio::test]
async fn a_public_client_is_told_its_id_its_token_and_everything_it_left_unsaid() {
    let server = TestServer::open().await;
    let asked = json!({
        "client_name": "Playground", "client_name#pt": "Recreio",
        "redirect_uris": ["http://127.0.0.1/cb", "com.example.app:/cb"],
        "token_endpoint_auth_method": "none",
        "scope": "openid invoices:read",
    });
    let answer = register(&server, &asked).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    sealed(&answer.headers);
    let told = answer.json();
    let (id, token) = (text(&told, "client_id"), text(&told, "registration_access_token"));
    assert_eq!((id.len(), token.len()), (22, 4 + 43));
    assert!(token.starts_with("prt_"));
    let expected = json!({
        "client_id": id, "client_id_issued_at": server.clock.now().seconds(),
        "registration_access_token": token,
        "registration_client_uri": format!("{}/connect/register/{id}", server.issuer()),
        "client_name": "Playground", "client_name#pt": "Recreio",
        "redirect_uris": ["http://127.0.0.1/cb", "com.example.app:/cb"],
        "token_endpoint_auth_method": "none",
        "scope": "openid invoices:read",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "id_token_signed_response_alg": "RS256",
    });
    assert_eq!(told, expected);
    let other = registered(&server, &asked).await;
    assert_ne!(text(&other, "client_id"), id, "each is another client");
    server.stop().await;
}

#[tokio::test]
async fn a_confidential_client_is_given_a_secret_that_works() {
    let server = TestServer::open().await;
    let told = registered(&server, &machine()).await;
    let (id, secret) = (text(&told, "client_id"), text(&told, "client_secret"));
    assert_eq!((secret.len(), &secret[..4]), (4 + 43, "pcs_"));
    assert_eq!(told["client_secret_expires_at"], 0);
    assert_eq!(told["token_endpoint_auth_method"], "client_secret_basic");
    assert_eq!(told["response_types"], json!([]));
    let granted = ask(&server, id, secret).await;
    assert_eq!(granted.status, 200, "{granted:?}");
    ask(&server, id, SECRET).await.refused(401, "invalid_client");
    ask(&server, id, text(&told, "registration_access_token")).await.refused(401, "invalid_client");
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_named_no_method_may_post_its_secret_and_one_that_did_keeps_to_it() {
    let server = TestServer::open().await;
    let post = async |told: &Value| {
        let (id, secret) = (text(told, "client_id"), text(told, "client_secret"));
        let grant = ("grant_type", "client_credentials");
        let posted = [grant, ("client_id", id), ("client_secret", secret)];
        server.post("/connect/token", &posted).await
    };
    let told = registered(&server, &machine()).await;
    assert_eq!(told["token_endpoint_auth_method"], "client_secret_basic");
    assert_eq!(post(&told).await.status, 200);
    let either = ask(&server, text(&told, "client_id"), text(&told, "client_secret")).await;
    assert_eq!(either.status, 200);
    let mut named = machine();
    named["token_endpoint_auth_method"] = "client_secret_basic".into();
    let told = registered(&server, &named).await;
    post(&told).await.refused(401, "invalid_client");
    named["token_endpoint_auth_method"] = "client_secret_post".into();
    let told = registered(&server, &named).await;
    assert_eq!(post(&told).await.status, 200);
    let (id, secret) = (text(&told, "client_id"), text(&told, "client_secret"));
    ask(&server, id, secret).await.refused(401, "invalid_client");
    server.stop().await;
}

#[tokio::test]
async fn a_client_gets_no_authority_by_asking_for_it() {
    let server = TestServer::open().await;
    let mut asked = machine();
    for (name, value) in [
        ("client_id", json!("billing")),
        ("client_secret", json!(SECRET)),
        ("organization", json!("acme")),
        ("roles", json!(["manager"])),
        ("trusted", json!(true)),
        ("introspects", json!(["https://api.example.com/invoices"])),
        ("software_statement", json!("not.a.jwt")),
    ] {
        asked[name] = value;
    }
    let told = registered(&server, &asked).await;
    let (id, secret) = (text(&told, "client_id"), text(&told, "client_secret"));
    assert!(id != "billing" && secret != SECRET);
    for never in ["organization", "roles", "trusted", "introspects", "software_statement"] {
        assert!(told.get(never).is_none(), "{never}");
    }
    let invoices = [("grant_type", "client_credentials"), ("scope", "invoices:read")];
    let request = server
        .request(Method::POST, "/connect/token")
        .header("authorization", basic(id, secret))
        .header("content-type", "application/x-www-form-urlencoded");
    server.send(request.body(form(&invoices)).unwrap()).await.refused(400, "invalid_scope");
    let token = server.token("billing", "invoices:read").await;
    let request = server
        .request(Method::POST, "/connect/introspect")
        .header("authorization", basic(id, secret))
        .header("content-type", "application/x-www-form-urlencoded");
    let answer = server.send(request.body(form(&[("token", &token)])).unwrap()).await;
    assert_eq!(answer.json(), json!({ "active": false }));
    server.stop().await;
}

#[tokio::test]
async fn every_redirect_uri_that_cannot_stand_is_refused_by_name() {
    let server = TestServer::open().await;
    let many: Vec<String> = (0..1_000).map(|n| format!("https://a.example/{n}")).collect();
    for (uris, named) in [
        (json!(["http://app.example.com/cb"]), "plain http"),
        (json!(["http://localhost.evil.example/cb"]), "plain http"),
        (json!(["http://10.0.0.1/cb"]), "plain http"),
        (json!(["https://app.example.com/cb#x"]), "fragment"),
        (json!(["https://app.example.com/cb#"]), "fragment"),
        (json!(["javascript:alert(1)"]), "scheme"),
        (json!(["data:text/html,x"]), "scheme"),
        (json!(["myapp:/cb"]), "scheme"),
        (json!(["/cb"]), "absolute"),
        (json!(["//app.example.com/cb"]), "absolute"),
        (json!(["https://ana@app.example.com/cb"]), "malformed"),
        (json!(["https://app.example.com/../cb"]), "malformed"),
        (json!(["https://*/cb", "https://a.example/\u{7}"]), "redirect"),
        (json!([""]), "redirect_uris"),
        (json!([null]), "type"),
        (json!([["https://a.example/"]]), "type"),
        (json!("https://app.example.com/cb"), "type"),
        (json!(many), "holds too much"),
        (json!([]), "needed"),
        (Value::Null, "needed"),
    ] {
        let description = register(&server, &json!({ "redirect_uris": uris }))
            .await
            .refused(400, "invalid_redirect_uri");
        assert!(description.contains(named), "{description}: {uris}");
    }
    register(&server, &json!({})).await.refused(400, "invalid_redirect_uri");
    let web = json!({ "redirect_uris": ["com.example.app:/cb"], "application_type": "web" });
    let description = register(&server, &web).await.refused(400, "invalid_redirect_uri");
    assert!(description.contains("native"), "{description}");
    server.stop().await;
}

#[tokio::test]
async fn everything_else_that_cannot_stand_is_refused_by_name() {
    let server = TestServer::open().await;
    let nested = (0..60).fold(json!([]), |inner, _| json!([inner]));
    for (member, value) in [
        ("grant_types", json!(["password"])),
        ("grant_types", json!(["implicit"])),
        ("grant_types", json!("authorization_code")),
        ("grant_types", nested),
        ("response_types", json!(["token"])),
        ("response_types", json!(["code id_token"])),
        ("token_endpoint_auth_method", json!("client_secret_jwt")),
        ("token_endpoint_auth_method", json!("unheard_of")),
        ("token_endpoint_auth_method", json!("self_signed_tls_client_auth")),
        ("token_endpoint_auth_method", json!(7)),
        ("client_name", json!({})),
        ("client_name", json!("x".repeat(2_001))),
        ("client_name", json!("a\u{1b}[2J")),
        ("client_name", json!("Bank\u{202e}moc.live")),
        ("client_name#pt", json!("Ban\u{200b}co")),
        ("contacts", json!(["\u{2067}ana@bank.example"])),
        ("logo_uri", json!("http://a.example/logo.png")),
        ("logo_uri", json!("javascript:alert(1)")),
        ("application_type", json!("desktop")),
        ("scope", json!("invoices:read invoices:shred")),
        ("scope", json!("invoices:*")),
        ("scope", json!("organizations:administer")),
        ("scope", json!("unheard-of")),
        ("scope", json!(["openid"])),
        ("id_token_signed_response_alg", json!("none")),
        ("id_token_signed_response_alg", json!("HS256")),
        ("userinfo_signed_response_alg", json!("PS512")),
        ("authorization_signed_response_alg", json!("none")),
        ("authorization_signed_response_alg", json!("HS256")),
        ("id_token_encrypted_response_alg", json!("RSA-OAEP")),
        ("jwks", json!({ "keys": [{ "kty": "oct", "k": "c2VjcmV0" }] })),
        ("jwks_uri", json!("http://169.254.169.254/latest")),
        ("default_max_age", json!(-1)),
        ("sector_identifier_uri", json!("https://127.0.0.1/sector")),
        ("subject_type", json!("secret")),
        ("post_logout_redirect_uris", json!(["http://a.example/out"])),
        ("tls_client_certificate_bound_access_tokens", json!(true)),
    ] {
        let mut asked = json!({ "redirect_uris": ["https://a.example/cb"] });
        if member == "token_endpoint_auth_method" {
            asked["jwks_uri"] = "https://a.example/jwks".into();
        }
        asked[member] = value;
        let description = register(&server, &asked).await.refused(400, "invalid_client_metadata");
        let base = member.split('#').next().unwrap();
        assert!(description.contains(base), "{description}: {member}");
        sealed(&register(&server, &asked).await.headers);
    }
    let both = json!({ "redirect_uris": ["https://a.example/cb"], "jwks_uri": "https://a.example/",
                       "jwks": { "keys": [] } });
    register(&server, &both).await.refused(400, "invalid_client_metadata");
    let public =
        json!({ "grant_types": ["client_credentials"], "token_endpoint_auth_method": "none" });
    let description = register(&server, &public).await.refused(400, "invalid_client_metadata");
    assert!(description.starts_with("grant_types"), "{description}");
    server.stop().await;
}

#[tokio::test]
async fn what_is_no_plain_json_object_is_refused() {
    let server = TestServer::open().await;
    for (body, named) in [
        ("", "not JSON"),
        ("redirect_uris=https://a.example/", "not JSON"),
        ("{", "not JSON"),
        (r#"{"client_name": "\ud800"}"#, "not JSON"),
        (r#"["https://a.example/"]"#, "object"),
        (r#"{"redirect_uris": [], "redirect_uris": ["https://a.example/"]}"#, "repeated"),
        (r#"{"client_name": "a\u0000"}"#, "NUL"),
    ] {
        let description = send(&server, JSON, body).await.refused(400, "invalid_request");
        assert!(description.contains(named), "{description}: {body}");
    }
    for kind in
        ["text/plain", "application/x-www-form-urlencoded", "", "application/json; charset=utf-16"]
    {
        send(&server, kind, machine().to_string()).await.refused(415, "invalid_request");
    }
    let huge = json!({ "grant_types": [], "client_name": "x".repeat(1_000_000) });
    register(&server, &huge).await.refused(413, "invalid_request");
    let request = server
        .request(Method::POST, "/connect/register?client_name=x")
        .header("content-type", JSON);
    let body = Full::new(machine().to_string().into());
    server.send(request.body(body).unwrap()).await.refused(400, "invalid_request");
    let request = server.request(Method::GET, "/connect/register").body(Full::default()).unwrap();
    assert_eq!(server.send(request).await.status, 405);
    server.stop().await;
}

#[tokio::test]
async fn an_algorithm_can_be_registered_once_there_is_a_key_for_it() {
    let server = TestServer::open().await;
    let members = [
        "id_token_signed_response_alg",
        "userinfo_signed_response_alg",
        "introspection_signed_response_alg",
        "authorization_signed_response_alg",
    ];
    let asking = |member: &str, name: &str| {
        let mut asked = machine();
        asked[member] = name.into();
        asked
    };
    for name in ["RS256", "PS256", "ES256", "EdDSA"] {
        for member in members {
            assert_eq!(registered(&server, &asking(member, name)).await[member], name);
        }
    }
    // A file is lost, and with it the algorithm: that is told, and none may register for it.
    server.remove_key(SigningAlgorithm::EdDsa).await;
    let metadata = server.get("/.well-known/openid-configuration").await.json();
    for list in ["id_token", "userinfo", "introspection", "authorization"] {
        let listed = &metadata[format!("{list}_signing_alg_values_supported")];
        assert_eq!(listed, &json!(["RS256", "PS256", "ES256"]), "{list}");
    }
    for member in members {
        let refused = register(&server, &asking(member, "EdDSA")).await;
        let description = refused.refused(400, "invalid_client_metadata");
        assert!(description.starts_with(member), "{description}");
    }
    server.add_key(SigningAlgorithm::EdDsa);
    crate::shared::eventually("the new key", async || {
        server.clock.advance(Duration::from_mins(1));
        server.running().system().reload_keys();
        register(&server, &asking(members[0], "EdDSA")).await.status == 201
    })
    .await;
    server.stop().await;
}

#[tokio::test]
async fn neither_secret_nor_token_is_stored() {
    let server = TestServer::open().await;
    let told = registered(&server, &machine()).await;
    let store = server.running().system().store();
    let row = store.load(Client::KIND, text(&told, "client_id")).await.unwrap().unwrap();
    for name in ["client_secret", "registration_access_token"] {
        let secret = text(&told, name);
        assert!(!row.state.contains(secret) && !row.state.contains(&secret[4..]), "{name}");
    }
    assert!(row.state.contains("registered_at"), "it is the row that was meant");
    assert!(store.verify_log(&[]).await.unwrap().findings.is_empty());
    server.stop().await;
}

#[tokio::test]
async fn where_registration_is_closed_no_client_registers_and_none_is_told_where() {
    let server =
        TestServer::open_in(TestOptions { registration: false, ..TestOptions::default() }).await;
    let answer = register(&server, &machine()).await;
    answer.refused(401, "invalid_token");
    assert!(answer.header("www-authenticate").unwrap().starts_with("Bearer "));
    let document = server.get(routes::OPENID_CONFIGURATION).await.json();
    assert!(document.get("registration_endpoint").is_none());
    server.stop().await;
    let server = TestServer::open().await;
    let document = server.get(routes::OPENID_CONFIGURATION).await.json();
    let endpoint = format!("{}/connect/register", server.issuer());
    assert_eq!(document["registration_endpoint"], endpoint);
    server.stop().await;
}

#[tokio::test]
async fn a_program_in_a_browser_may_register() {
    let server = TestServer::open().await;
    let preflight = server
        .request(Method::OPTIONS, "/connect/register")
        .header("origin", "https://app.example.com")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "content-type");
    let answer = server.send(preflight.body(Full::default()).unwrap()).await;
    assert_eq!(answer.status, 204);
    assert!(answer.header("access-control-allow-headers").unwrap().contains("content-type"));
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_finds_no_permit_to_register_is_told_to_come_back() {
    let limits = Limits { request_permits: 0, ..Limits::default() };
    let server = TestServer::open_in(TestOptions { limits, ..TestOptions::default() }).await;
    let answer = register(&server, &machine()).await;
    answer.refused(503, "temporarily_unavailable");
    assert_eq!(answer.header("retry-after"), Some("1"));
    server.stop().await;
}
