//! Codes and refresh tokens: what they are good for, and that they are good once.

use crate::{
    person::{VERIFIER, callback, claims, text},
    support::{INVOICES, TestServer, verify},
};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode};
use serde_json::{Value, json};
use std::time::Duration;

const SCOPE: &str = "openid email invoices:read invoices:write";

#[tokio::test]
async fn a_code_becomes_tokens_that_speak_for_one_membership() {
    let server = TestServer::open().await;
    let tokens = server.tokens("ana@acme.test", "web", SCOPE).await;
    assert_eq!((text(&tokens["token_type"]), text(&tokens["scope"])), ("Bearer", SCOPE));
    assert!(text(&tokens["refresh_token"]).starts_with("prf_"));
    let keys = server.key_set().await;
    let access = verify(text(&tokens["access_token"]), &keys).unwrap();
    for (name, value) in [
        ("iss", server.issuer()),
        ("aud", INVOICES),
        ("client_id", "web"),
        ("org", "acme"),
        ("role", "manager"),
        ("scope", SCOPE),
        ("acr", "aal1"),
    ] {
        assert_eq!(access[name], value, "{name}");
    }
    for id in ["sub", "membership"] {
        assert_eq!(text(&access[id]).len(), 36, "{id} is a UUID");
    }
    assert_eq!(access["exp"].as_i64().unwrap() - access["iat"].as_i64().unwrap(), 300);
    assert!(access["auth_time"].is_i64() && access["sid"].is_string());

    let id = claims(&tokens["id_token"]);
    assert_eq!(
        (&id["sub"], &id["aud"], &id["nonce"]),
        (&access["sub"], &json!("web"), &json!("n-0S6_WzA2Mj"))
    );
    assert_eq!(
        (&id["amr"], &id["acr"], &id["org"]),
        (&json!(["pwd"]), &json!("aal1"), &json!("acme"))
    );
    assert_eq!(id["auth_time"], access["auth_time"]);
    assert!(id.get("email").is_none(), "lean: userinfo has it");
    let header = jsonwebtoken::decode_header(text(&tokens["id_token"])).unwrap();
    assert_eq!(header.alg, Algorithm::RS256);
    let mut validation = Validation::new(Algorithm::RS256);
    validation.set_audience(&["web"]);
    validation.validate_exp = false;
    let key = DecodingKey::from_jwk(keys.find(&header.kid.unwrap()).unwrap()).unwrap();
    decode::<Value>(text(&tokens["id_token"]), &key, &validation).unwrap();
    server.stop().await;
}

#[tokio::test]
async fn an_id_token_is_signed_as_the_client_registered() {
    let server = TestServer::open().await;
    for algorithm in ["ES256", "EdDSA"] {
        server
            .apply(&format!(
                "[[client]]\nclient_id = \"web\"\nid_token_signed_response_alg = \"{algorithm}\"\n"
            ))
            .await;
        server.clock.expire_views();
        let tokens = server.tokens("ana@acme.test", "web", "openid").await;
        let header = jsonwebtoken::decode_header(text(&tokens["id_token"])).unwrap();
        assert_eq!(format!("{:?}", header.alg), algorithm);
    }
    server.stop().await;
}

#[tokio::test]
async fn without_openid_there_is_no_id_token_and_no_userinfo() {
    let server = TestServer::open().await;
    let tokens = server.tokens("ana@acme.test", "web", "invoices:read").await;
    assert!(tokens.get("id_token").is_none());
    let answer = server.userinfo(text(&tokens["access_token"])).await;
    answer.refused(403, "insufficient_scope");
    assert!(answer.header("www-authenticate").unwrap().contains("insufficient_scope"));
    server.stop().await;
}

#[tokio::test]
async fn a_code_works_once_and_its_replay_ends_everything_that_came_of_it() {
    let server = TestServer::open().await;
    let session = server.sign_in("ana@acme.test").await;
    let code = server.code(&session, "web", SCOPE).await;
    let first = server.redeem("web", &code).await.json();
    assert_eq!(server.introspect("web", text(&first["access_token"])).await["active"], true);
    server.redeem("web", &code).await.refused(400, "invalid_grant");
    assert_eq!(server.introspect("web", text(&first["access_token"])).await["active"], false);
    assert_eq!(server.introspect("web", text(&first["refresh_token"])).await["active"], false);
    server.userinfo(text(&first["access_token"])).await.refused(401, "invalid_token");
    server.refresh("web", text(&first["refresh_token"])).await.refused(400, "invalid_grant");
    server.stop().await;
}

#[tokio::test]
async fn a_refresh_token_works_once_and_its_reuse_ends_the_family() {
    let server = TestServer::open().await;
    let first = server.tokens("ana@acme.test", "web", SCOPE).await;
    let second = server.refresh("web", text(&first["refresh_token"])).await.json();
    assert_ne!(first["refresh_token"], second["refresh_token"]);
    assert_eq!(claims(&second["id_token"])["sub"], claims(&first["id_token"])["sub"]);
    assert!(claims(&second["id_token"]).get("nonce").is_none());
    assert_eq!(server.introspect("web", text(&second["refresh_token"])).await["active"], true);
    assert_eq!(server.introspect("web", text(&first["refresh_token"])).await["active"], false);
    server.refresh("web", text(&first["refresh_token"])).await.refused(400, "invalid_grant");
    server.refresh("web", text(&second["refresh_token"])).await.refused(400, "invalid_grant");
    for tokens in [&first, &second] {
        assert_eq!(server.introspect("web", text(&tokens["access_token"])).await["active"], false);
        server.userinfo(text(&tokens["access_token"])).await.refused(401, "invalid_token");
    }
    server.stop().await;
}

#[tokio::test]
async fn another_client_ends_nothing_with_a_spent_code_or_a_former_token() {
    let server = TestServer::open().await;
    let session = server.sign_in("ana@acme.test").await;
    let code = server.code(&session, "web", SCOPE).await;
    let first = server.redeem("web", &code).await.json();
    let second = server.refresh("web", text(&first["refresh_token"])).await.json();
    server.redeem("app", &code).await.refused(400, "invalid_grant");
    server.refresh("app", text(&first["refresh_token"])).await.refused(400, "invalid_grant");
    let wrong = [
        ("grant_type", "refresh_token"),
        ("refresh_token", text(&first["refresh_token"])),
        ("client_id", "web"),
        ("client_secret", "not-the-secret-of-this-client"),
    ];
    server.post("/connect/token", &wrong).await.refused(401, "invalid_client");
    assert_eq!(server.introspect("web", text(&second["access_token"])).await["active"], true);
    assert_eq!(server.refresh("web", text(&second["refresh_token"])).await.status, 200);
    server.refresh("web", text(&first["refresh_token"])).await.refused(400, "invalid_grant");
    assert_eq!(server.introspect("web", text(&second["access_token"])).await["active"], false);
    server.stop().await;
}

#[tokio::test]
async fn a_spent_code_of_a_public_client_ends_nothing_without_its_verifier() {
    let server = TestServer::open().await;
    server.apply("[[client]]\nclient_id = \"app\"\ntrusted = true\n").await;
    let session = server.sign_in("ana@acme.test").await;
    let code = server.code(&session, "app", "openid").await;
    let tokens = server.redeem("app", &code).await.json();
    let usual = [("grant_type", "authorization_code"), ("code", code.as_str())];
    let guess = ("code_verifier", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXK");
    for fields in [usual.to_vec(), [&usual[..], &[guess]].concat()] {
        server.token_as("app", &fields).await.refused(400, "invalid_grant");
        assert_eq!(server.userinfo(text(&tokens["access_token"])).await.status, 200);
    }
    server.redeem("app", &code).await.refused(400, "invalid_grant");
    server.userinfo(text(&tokens["access_token"])).await.refused(401, "invalid_token");
    server.stop().await;
}

#[tokio::test]
async fn a_token_without_a_scope_of_its_api_names_neither_role_nor_membership() {
    let server = TestServer::open().await;
    let session = server.sign_in("ana@acme.test").await;
    let asked = [("resource", INVOICES), ("scope", "openid")];
    let answer = server.authorize_in(&session, "web", &asked).await;
    let code = crate::person::parameter(&crate::person::redirect(&answer), "code").unwrap();
    let tokens = server.redeem("web", &code).await.json();
    let access = text(&tokens["access_token"]);
    let said = claims(&tokens["access_token"]);
    let seen = server.introspect("invoices-api", access).await;
    assert_eq!(seen["active"], true);
    for shown in [&said, &seen] {
        assert_eq!(
            (&shown["aud"], &shown["org"], &shown["scope"]),
            (&json!(INVOICES), &json!("acme"), &json!("openid"))
        );
        assert!(shown.get("role").is_none() && shown.get("membership").is_none(), "{shown}");
    }
    // Though it is not named, what it rests on is its membership.
    server.apply("[[account]]\nemail = \"ana@acme.test\"\nmemberships = []\n").await;
    assert_eq!(server.introspect("invoices-api", access).await["active"], false);
    server.userinfo(access).await.refused(401, "invalid_token");
    server.stop().await;
}

#[tokio::test]
async fn a_silent_client_hears_of_consent_before_it_hears_of_several_organizations() {
    let server = TestServer::open().await;
    let session = server.sign_in("bruno@acme.test").await;
    for (client, error) in [("app", "consent_required"), ("web", "interaction_required")] {
        let silent = server.authorize_in(&session, client, &[("prompt", "none")]).await;
        let told = crate::person::parameter(&crate::person::redirect(&silent), "error");
        assert_eq!(told.as_deref(), Some(error), "{client}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_code_is_bound_to_client_redirect_uri_and_verifier() {
    let server = TestServer::open().await;
    let session = server.sign_in("ana@acme.test").await;
    let code = server.code(&session, "web", "openid").await;
    let uri = callback("web");
    let usual = [
        ("grant_type", "authorization_code"),
        ("code", code.as_str()),
        ("redirect_uri", uri.as_str()),
        ("code_verifier", VERIFIER),
    ];
    let with = |name: &str, value: &'static str| -> Vec<(&str, &str)> {
        let mut fields = usual.to_vec();
        fields.retain(|(known, _)| *known != name);
        if !value.is_empty() {
            fields.push((usual.iter().find(|(known, _)| *known == name).unwrap().0, value));
        }
        fields
    };
    for wrong in [
        with("code_verifier", ""),
        with("code_verifier", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXK"),
        with("code_verifier", "short"),
        with("redirect_uri", "https://web.example.com/cb/"),
        with("redirect_uri", "https://WEB.example.com/cb"),
        with("code", "pac_forged"),
    ] {
        server.token_as("web", &wrong).await.refused(400, "invalid_grant");
    }
    server.token_as("web", &with("code", "")).await.refused(400, "invalid_request");
    // At another client, be it one that may redeem codes.
    server.token_as("app", &usual).await.refused(400, "invalid_grant");
    server.redeem("app", &code).await.refused(400, "invalid_grant");
    assert_eq!(server.redeem("web", &code).await.status, 200, "nothing of that has spent it");
    server.stop().await;
}

#[tokio::test]
async fn a_verifier_of_128_characters_with_dots_and_tildes_is_good() {
    let server = TestServer::open().await;
    let session = server.sign_in("ana@acme.test").await;
    let verifier = ".~-_".repeat(32);
    let challenge = crate::person::challenge(&verifier);
    let asked = [("code_challenge", challenge.as_str())];
    let answer = server.authorize_in(&session, "web", &asked).await;
    let code = crate::person::parameter(&crate::person::redirect(&answer), "code").unwrap();
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", code.as_str()),
        ("code_verifier", verifier.as_str()),
    ];
    let answer = server.token_as("web", &fields).await;
    assert_eq!(answer.status, 200, "OAuth 2.1 needs no redirect_uri here: {answer:?}");
    server.stop().await;
}

#[tokio::test]
async fn codes_and_refresh_tokens_expire() {
    let server = TestServer::open().await;
    let session = server.sign_in("ana@acme.test").await;
    let code = server.code(&session, "web", "openid").await;
    server.clock.advance(Duration::from_mins(1));
    server.redeem("web", &code).await.refused(400, "invalid_grant");
    let tokens = server.tokens("ana@acme.test", "web", "openid offline_access").await;
    server.clock.advance(Duration::from_hours(14 * 24));
    server.refresh("web", text(&tokens["refresh_token"])).await.refused(400, "invalid_grant");
    server.stop().await;
}

#[tokio::test]
async fn scope_shrinks_on_request_and_never_grows() {
    let server = TestServer::open().await;
    let tokens = server.tokens("ana@acme.test", "web", SCOPE).await;
    let refresh = |token: &str, scope: &'static str| {
        let token = token.to_owned();
        let server = &server;
        async move {
            let fields = [
                ("grant_type", "refresh_token"),
                ("refresh_token", token.as_str()),
                ("scope", scope),
            ];
            server.token_as("web", &fields).await
        }
    };
    let token = text(&tokens["refresh_token"]);
    for wider in ["openid invoices:approve", "openid profile", "orders:read", "a\"b"] {
        refresh(token, wider).await.refused(400, "invalid_scope");
    }
    let narrower = refresh(token, "invoices:read").await.json();
    assert_eq!(narrower["scope"], "invoices:read");
    assert!(narrower.get("id_token").is_none(), "openid was not asked for");
    let again = refresh(text(&narrower["refresh_token"]), SCOPE).await;
    assert_eq!(again.json()["scope"], SCOPE, "the grant itself has not shrunk");
    server.stop().await;
}

#[tokio::test]
async fn a_refresh_never_changes_the_organization_or_the_api() {
    let server = TestServer::open().await;
    let tokens = server.tokens("ana@acme.test", "web", SCOPE).await;
    let token = text(&tokens["refresh_token"]);
    let usual = [("grant_type", "refresh_token"), ("refresh_token", token)];
    let other = [&usual[..], &[("organization", "other")]].concat();
    server.token_as("web", &other).await.refused(400, "invalid_grant");
    let other = [&usual[..], &[("resource", "https://api.example.com/orders")]].concat();
    server.token_as("web", &other).await.refused(400, "invalid_target");
    let same = [&usual[..], &[("organization", "acme"), ("resource", INVOICES)]].concat();
    assert_eq!(server.token_as("web", &same).await.status, 200);
    server.stop().await;
}

const CLERK: &str = "[[account]]\nemail = \"ana@acme.test\"\n\
                     memberships = [{ organization = \"acme\", roles = [\"clerk\"] }]\n";

#[tokio::test]
async fn lost_roles_are_refused_at_once_and_not_trimmed() {
    let server = TestServer::open().await;
    let tokens = server.tokens("ana@acme.test", "web", SCOPE).await;
    let access = text(&tokens["access_token"]);
    assert_eq!(server.introspect("invoices-api", access).await["active"], true);
    server.apply(CLERK).await;
    assert_eq!(server.introspect("invoices-api", access).await["active"], false);
    server.userinfo(access).await.refused(401, "invalid_token");
    let refused = server.refresh("web", text(&tokens["refresh_token"])).await;
    refused.refused(400, "invalid_scope");
    let less = [
        ("grant_type", "refresh_token"),
        ("refresh_token", text(&tokens["refresh_token"])),
        ("scope", "openid invoices:read"),
    ];
    let less = server.token_as("web", &less).await;
    assert_eq!(claims(&less.json()["access_token"])["role"], "clerk", "{less:?}");
    server.stop().await;
}

#[tokio::test]
async fn what_a_role_no_longer_confers_is_refused_at_once() {
    let server = TestServer::open().await;
    let tokens = server.tokens("ana@acme.test", "web", SCOPE).await;
    let access = text(&tokens["access_token"]);
    assert_eq!(server.introspect("invoices-api", access).await["active"], true);
    server
        .apply(
            "[[organization]]\nslug = \"acme\"\n\
         [[organization.role]]\nname = \"manager\"\npermissions = [\"invoices:read\"]\n",
        )
        .await;
    assert_eq!(server.introspect("invoices-api", access).await["active"], false);
    server.userinfo(access).await.refused(401, "invalid_token");
    let refused = server.refresh("web", text(&tokens["refresh_token"])).await;
    refused.refused(400, "invalid_scope");
    server.stop().await;
}

#[tokio::test]
async fn a_person_who_leaves_or_is_suspended_loses_everything_at_once() {
    for change in [
        "[[account]]\nemail = \"ana@acme.test\"\nmemberships = []\n",
        "[[organization]]\nslug = \"acme\"\nenabled = false\n",
    ] {
        let server = TestServer::open().await;
        let tokens = server.tokens("ana@acme.test", "web", SCOPE).await;
        let access = text(&tokens["access_token"]);
        assert_eq!(server.userinfo(access).await.status, 200);
        server.apply(change).await;
        assert_eq!(server.introspect("invoices-api", access).await["active"], false);
        server.userinfo(access).await.refused(401, "invalid_token");
        let refused = server.refresh("web", text(&tokens["refresh_token"])).await;
        refused.refused(400, "invalid_grant");
        server.stop().await;
    }
}

#[tokio::test]
async fn a_family_without_offline_access_ends_with_its_session() {
    let server = TestServer::open().await;
    let bound = server.tokens("ana@acme.test", "web", "openid").await;
    let offline = server.tokens("ana@acme.test", "web", "openid offline_access").await;
    assert!(claims(&offline["access_token"]).get("sid").is_none());
    server.clock.advance(Duration::from_hours(7 * 24));
    server.refresh("web", text(&bound["refresh_token"])).await.refused(400, "invalid_grant");
    assert_eq!(server.refresh("web", text(&offline["refresh_token"])).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn a_client_gives_back_what_it_holds() {
    let server = TestServer::open().await;
    let tokens = server.tokens("ana@acme.test", "web", "openid").await;
    let token = [("token", text(&tokens["refresh_token"]))];
    server.post_as("billing", "/connect/revoke", &token).await.refused(400, "invalid_request");
    assert_eq!(server.post_as("web", "/connect/revoke", &token).await.status, 200);
    assert_eq!(server.post_as("web", "/connect/revoke", &token).await.status, 200, "again");
    server.refresh("web", text(&tokens["refresh_token"])).await.refused(400, "invalid_grant");
    assert_eq!(server.introspect("web", text(&tokens["access_token"])).await["active"], false);
    // One access token, and nothing else.
    let tokens = server.tokens("ana@acme.test", "web", "openid").await;
    let token = [("token", text(&tokens["access_token"]))];
    assert_eq!(server.post_as("web", "/connect/revoke", &token).await.status, 200);
    assert_eq!(server.introspect("web", text(&tokens["access_token"])).await["active"], false);
    assert_eq!(server.refresh("web", text(&tokens["refresh_token"])).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn a_client_without_the_grant_gets_no_refresh_token() {
    let server = TestServer::open().await;
    server.apply("[[client]]\nclient_id = \"web\"\ngrant_types = [\"authorization_code\"]\n").await;
    server.clock.expire_views();
    let tokens = server.tokens("ana@acme.test", "web", "openid offline_access").await;
    assert!(tokens.get("refresh_token").is_none(), "{tokens}");
    assert_eq!(server.userinfo(text(&tokens["access_token"])).await.status, 200);
    server.stop().await;
}
