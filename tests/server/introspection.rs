//! Whether a token is still good: fresh, and only for those who may know.

use crate::support::{INVOICES, SECRET, TestServer, form};
use hyper::Method;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use porteiro::domain::{Context, signing_keys::SigningAlgorithm};
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test]
async fn its_client_and_the_guard_of_its_resource_see_a_token_and_no_other_client() {
    let server = TestServer::open().await;
    let token = server.token("billing", "invoices:read").await;
    for caller in ["billing", "invoices-api"] {
        let seen = server.introspect(caller, &token).await;
        assert_eq!(seen["active"], true, "{caller}");
        for (name, value) in [
            ("token_type", "Bearer"),
            ("client_id", "billing"),
            ("sub", "billing"),
            ("aud", INVOICES),
            ("scope", "invoices:read"),
            ("org", "acme"),
            ("role", "clerk"),
        ] {
            assert_eq!(seen[name], value, "{name}");
        }
    }
    assert_eq!(server.introspect("nobody", &token).await, json!({ "active": false }));
    let orders = server.token("billing", "orders:read").await;
    assert_eq!(server.introspect("invoices-api", &orders).await, json!({ "active": false }));
    server.stop().await;
}

#[tokio::test]
async fn introspection_is_for_clients_that_have_proved_themselves() {
    let server = TestServer::open().await;
    let token = server.token("billing", "invoices:read").await;
    server.post("/connect/introspect", &[("token", &token)]).await.refused(401, "invalid_client");
    let public = [("token", token.as_str()), ("client_id", "app")];
    server.post("/connect/introspect", &public).await.refused(401, "invalid_client");
    server.post_as("billing", "/connect/introspect", &[]).await.refused(400, "invalid_request");
    server.stop().await;
}

#[tokio::test]
async fn what_is_no_good_token_is_inactive_and_nothing_more() {
    let server = TestServer::open().await;
    let token = server.token("billing", "invoices:read").await;
    let (head, signature) = token.rsplit_once('.').unwrap();
    let swapped: String = signature.chars().rev().collect();
    for bad in ["x", "a.b.c", "€", &format!("{head}.{swapped}"), head, &token[1..]] {
        assert_eq!(server.introspect("billing", bad).await, json!({ "active": false }), "{bad}");
    }
    server.clock.advance(Duration::from_secs(299));
    assert_eq!(server.introspect("billing", &token).await["active"], true);
    server.clock.advance(Duration::from_secs(1));
    assert_eq!(server.introspect("billing", &token).await, json!({ "active": false }), "expired");
    server.stop().await;
}

#[tokio::test]
async fn a_revoked_token_is_inactive_at_once_and_others_are_not() {
    let server = TestServer::open().await;
    let token = server.token("billing", "invoices:read").await;
    let other = server.token("billing", "invoices:read").await;
    let answer = server.post_as("billing", "/connect/revoke", &[("token", &token)]).await;
    assert_eq!((answer.status.as_u16(), answer.body.len()), (200, 0));
    assert_eq!(server.introspect("invoices-api", &token).await, json!({ "active": false }));
    assert_eq!(server.introspect("invoices-api", &other).await["active"], true);
    let again = [("token", token.as_str()), ("token_type_hint", "refresh_token")];
    assert_eq!(server.post_as("billing", "/connect/revoke", &again).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn only_its_own_client_may_revoke_a_token() {
    let server = TestServer::open().await;
    let token = server.token("billing", "invoices:read").await;
    let answer = server.post_as("invoices-api", "/connect/revoke", &[("token", &token)]).await;
    answer.refused(400, "invalid_request");
    assert_eq!(server.introspect("billing", &token).await["active"], true);
    for nothing in ["x", "a.b.c"] {
        let answer = server.post_as("billing", "/connect/revoke", &[("token", nothing)]).await;
        assert_eq!(answer.status, 200, "RFC 7009 §2.2");
    }
    server.post_as("billing", "/connect/revoke", &[]).await.refused(400, "invalid_request");
    let wrong = [("token", token.as_str()), ("client_id", "billing"), ("client_secret", "wrong")];
    server.post("/connect/revoke", &wrong).await.refused(401, "invalid_client");
    server.stop().await;
}

#[tokio::test]
async fn suspension_and_the_loss_of_a_role_show_at_once() {
    let server = TestServer::open().await;
    let token = server.token("billing", "invoices:read").await;
    let active = async || server.introspect("invoices-api", &token).await["active"].clone();
    assert_eq!(active().await, true);
    let role = "[[organization.role]]\nname = \"clerk\"\npermissions = [\"orders:read\"]\n";
    server.apply(&format!("[[organization]]\nslug = \"acme\"\n{role}")).await;
    assert_eq!(active().await, false, "the role no longer confers the scope");
    let role = "[[organization.role]]\nname = \"reader\"\npermissions = [\"invoices:read\"]\n";
    server.apply(&format!("[[organization]]\nslug = \"acme\"\n{role}")).await;
    assert_eq!(active().await, false, "the role is gone");
    let role = "[[organization.role]]\nname = \"clerk\"\npermissions = [\"invoices:read\"]\n";
    server.apply(&format!("[[organization]]\nslug = \"acme\"\n{role}")).await;
    assert_eq!(active().await, true);
    server.apply("[[organization]]\nslug = \"acme\"\nenabled = false\n").await;
    assert_eq!(active().await, false);
    server.stop().await;
}

#[tokio::test]
async fn a_guard_whose_organization_is_suspended_sees_nothing() {
    let server = TestServer::open().await;
    let token = server.token("billing", "invoices:read").await;
    server
        .apply(&format!(
            "[[organization]]\nslug = \"guards\"\n[[client]]\nclient_id = \"guard\"\n\
         client_secret = \"{SECRET}\"\norganization = \"guards\"\nintrospects = [\"{INVOICES}\"]\n"
        ))
        .await;
    assert_eq!(server.introspect("guard", &token).await["active"], true);
    server.apply("[[organization]]\nslug = \"guards\"\nenabled = false\n").await;
    assert_eq!(server.introspect("guard", &token).await, json!({ "active": false }));
    server.stop().await;
}

#[tokio::test]
async fn a_scope_that_moved_to_another_resource_shows_at_once() {
    let server = TestServer::open().await;
    let token = server.token("billing", "invoices:read").await;
    server
        .apply(&format!(
            "[[resource]]\nidentifier = \"{INVOICES}\"\nscopes = [\"invoices:write\"]\n\
         [[resource]]\nidentifier = \"https://api.example.com/orders\"\n\
         scopes = [\"orders:read\", \"invoices:read\"]\n"
        ))
        .await;
    assert_eq!(server.introspect("invoices-api", &token).await, json!({ "active": false }));
    server.stop().await;
}

#[tokio::test]
async fn a_grant_that_was_taken_away_shows_at_once() {
    let server = TestServer::open().await;
    let token = server.token("billing", "invoices:read").await;
    server.apply("[[client]]\nclient_id = \"billing\"\ngrant_types = []\n").await;
    assert_eq!(server.introspect("invoices-api", &token).await, json!({ "active": false }));
    server.stop().await;
}

#[tokio::test]
async fn a_narrower_registration_shows_at_once() {
    let server = TestServer::open().await;
    let token = server.token("billing", "invoices:read").await;
    server.apply(&format!(
        "[[client]]\nclient_id = \"billing\"\nclient_secret = \"{SECRET}\"\nscope = \"orders:read\"\n"
    ))
    .await;
    assert_eq!(server.introspect("invoices-api", &token).await, json!({ "active": false }));
    server.stop().await;
}

#[tokio::test]
async fn what_a_revoked_key_signed_is_not_believed() {
    let server = TestServer::open().await;
    let shown = server.token("billing", "invoices:read").await;
    // It was signed a moment ago, and is shown for the first time when its key is gone.
    let unshown = server.token("billing", "invoices:read").await;
    assert_eq!(server.introspect("invoices-api", &shown).await["active"], true);
    let kid = jsonwebtoken::decode_header(&shown).unwrap().kid.unwrap();
    let held = vec![server.add_key(SigningAlgorithm::Es256)];
    crate::shared::eventually("the successor is published", async || {
        server.key_set().await.keys.len() == 4
    })
    .await;
    let revoke = porteiro::domain::signing_keys::Command::Revoke { kid: kid.clone(), held };
    server
        .running()
        .system()
        .signing_keys()
        .ask(&Context::operator(), porteiro::actors::INSTALLATION, revoke)
        .await
        .unwrap();
    crate::shared::eventually("the key is gone", async || {
        server.key_set().await.find(&kid).is_none()
    })
    .await;
    for token in [&shown, &unshown] {
        assert_eq!(server.introspect("invoices-api", token).await, json!({ "active": false }));
    }
    let next = server.token("billing", "invoices:read").await;
    assert_eq!(server.introspect("invoices-api", &next).await["active"], true);
    server.stop().await;
}

#[tokio::test]
async fn a_caller_that_wants_it_gets_a_signed_answer_for_itself_alone() {
    const SIGNED: &str = "application/token-introspection+jwt";
    let server = TestServer::open().await;
    let token = server.token("billing", "invoices:read").await;
    let algorithm =
        "[[client]]\nclient_id = \"boss\"\nintrospection_signed_response_alg = \"ES256\"\n";
    server.apply(algorithm).await;
    let ask = async |accept: &str, client: &str, token: &str| {
        let mut request = server.request(Method::POST, "/connect/introspect");
        request = request.header("content-type", "application/x-www-form-urlencoded");
        if !accept.is_empty() {
            request = request.header("accept", accept);
        }
        let secret = [("token", token), ("client_id", client), ("client_secret", SECRET)];
        server.send(request.body(form(&secret)).unwrap()).await
    };
    let keys = server.key_set().await;
    for (client, token, algorithm, active) in [
        ("invoices-api", token.as_str(), Algorithm::RS256, true),
        ("nobody", token.as_str(), Algorithm::RS256, false),
        ("invoices-api", "no token", Algorithm::RS256, false),
        ("boss", token.as_str(), Algorithm::ES256, false),
    ] {
        let answer = ask(SIGNED, client, token).await;
        assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, Some(SIGNED)));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let jwt = answer.text();
        let header = decode_header(&jwt).unwrap();
        assert_eq!(header.typ.as_deref(), Some("token-introspection+jwt"));
        assert_eq!(header.alg, algorithm);
        let mut validation = Validation::new(header.alg);
        validation.set_audience(&[client]);
        validation.required_spec_claims.clear();
        let key = DecodingKey::from_jwk(keys.find(&header.kid.unwrap()).unwrap()).unwrap();
        let said = decode::<Value>(&jwt, &key, &validation).unwrap().claims;
        let mut members: Vec<&String> = said.as_object().unwrap().keys().collect();
        members.sort();
        assert_eq!(members, ["aud", "iat", "iss", "token_introspection"]);
        assert_eq!((&said["iss"], &said["aud"]), (&json!(server.issuer()), &json!(client)));
        assert_eq!(said["token_introspection"]["active"], active);
        if active {
            assert_eq!(said["token_introspection"], ask("", client, token).await.json());
        } else {
            assert_eq!(said["token_introspection"], json!({ "active": false }));
        }
        // It is no access token, and no ID token of ours.
        assert_eq!(server.introspect("billing", &jwt).await, json!({ "active": false }));
    }
    for plain in ["", "*/*", "application/json", "application/token-introspection+jwt;q=0"] {
        let answer = ask(plain, "invoices-api", &token).await;
        assert_eq!(answer.header("content-type"), Some("application/json"), "{plain}");
    }
    // A caller that does not prove itself gets no signature either.
    let request = server.request(Method::POST, "/connect/introspect").header("accept", SIGNED);
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let refused = server.send(request.body(form(&[("token", &token)])).unwrap()).await;
    refused.refused(401, "invalid_client");
    server.stop().await;
}
