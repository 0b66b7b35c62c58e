//! What a flow or a grant rests on changes while it is under way.

use crate::{
    person::{parameter, redirect, text},
    support::{INVOICES, TestServer, apply},
};
use porteiro::domain::signing_keys::SigningAlgorithm;
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test]
async fn consent_for_one_organization_grants_nothing_in_another() {
    let server = TestServer::open().await;
    let flow = server.authorize("app", &[]).await.json();
    let asked = server.prove(&flow, "ana@acme.test").await.json();
    assert_eq!(asked["state"], "consent");
    assert_eq!(asked["organizations"][0]["slug"], "acme", "whom it is for is shown");
    let moved = "[[account]]\nemail = \"ana@acme.test\"\n\
                 memberships = [{ organization = \"other\", roles = [] }]\n";
    server.apply(moved).await;
    let again = server.step(&flow, "consent", json!({ "decision": "allow" })).await.json();
    assert_eq!(again["state"], "consent", "{again}");
    assert_eq!(again["organizations"][0]["slug"], "other");
    let done = server.step(&flow, "consent", json!({ "decision": "allow" })).await.json();
    assert_eq!(done["state"], "done");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consent_that_lost_to_a_refusal_is_not_remembered() {
    let server = TestServer::open().await;
    let session = server.sign_in("ana@acme.test").await;
    for _ in 0..10 {
        let flow = server.authorize_in(&session, "app", &[]).await.json();
        assert_ne!(flow["state"], "done", "a refused consent was remembered");
        let (allow, deny) = tokio::join!(
            server.step(&flow, "consent", json!({ "decision": "allow" })),
            server.step(&flow, "consent", json!({ "decision": "deny" })),
        );
        let states: Vec<Value> =
            [&allow, &deny].iter().map(|answer| answer.json()["state"].clone()).collect();
        if states.contains(&json!("done")) {
            // Allowed: then it is remembered, and withdrawn by nobody.
            break;
        }
        assert!(states.contains(&json!("failed")), "{states:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_code_goes_only_where_the_client_is_at_home_now() {
    let server = TestServer::open().await;
    let flow = server.authorize("web", &[]).await.json();
    let moved = "[[client]]\nclient_id = \"web\"\nredirect_uris = [\"https://new.example/cb\"]\n";
    server.apply(moved).await;
    server.clock.expire_views();
    let refused = server.prove(&flow, "ana@acme.test").await;
    refused.problem(409, "client_changed");
    server.stop().await;
}

#[tokio::test]
async fn an_api_asked_for_by_name_is_reached_without_naming_a_scope() {
    let server = TestServer::open().await;
    let session = server.sign_in("ana@acme.test").await;
    let asked = [("resource", INVOICES)];
    let answer = server.authorize_in(&session, "web", &asked).await;
    let code = parameter(&redirect(&answer), "code").unwrap();
    let tokens = server.redeem("web", &code).await.json();
    let access = crate::person::claims(&tokens["access_token"]);
    assert_eq!((text(&access["aud"]), text(&access["scope"])), (INVOICES, "openid"));
    let refreshed = server.refresh("web", text(&tokens["refresh_token"])).await;
    assert_eq!(refreshed.status, 200, "{refreshed:?}");
    // Nobody gets there who holds nothing of it.
    let session = server.sign_in("clara@nowhere.test").await;
    let answer = server.authorize_in(&session, "web", &asked).await;
    assert_eq!(parameter(&redirect(&answer), "error").as_deref(), Some("invalid_target"));
    server.stop().await;
}

#[tokio::test]
async fn consent_to_be_known_is_no_consent_to_an_api() {
    let server = TestServer::open().await;
    let flow = server.authorize("app", &[]).await.json();
    server.prove(&flow, "ana@acme.test").await;
    let done = server.step(&flow, "consent", json!({ "decision": "allow" })).await.json();
    let session = text(&done["result"]["session_token"]).to_owned();
    let silent = [("prompt", "none")];
    assert_eq!(server.authorize_in(&session, "app", &silent).await.json()["state"], "done");
    let elsewhere = [("prompt", "none"), ("resource", INVOICES)];
    let answer = server.authorize_in(&session, "app", &elsewhere).await;
    assert_eq!(parameter(&redirect(&answer), "error").as_deref(), Some("consent_required"));
    server.stop().await;
}

#[tokio::test]
async fn a_client_without_consent_learns_nothing_in_silence() {
    let server = TestServer::open().await;
    let session = server.sign_in("ana@acme.test").await;
    for otherwise in [
        &[("organization", "acme")][..],
        &[("organization", "other")],
        &[("organization", "unheard-of")],
        &[("scope", "invoices:read")],
        &[("scope", "orders:read")],
    ] {
        let asked = [&[("prompt", "none")], otherwise].concat();
        let answer = server.authorize_in(&session, "app", &asked).await;
        let error = parameter(&redirect(&answer), "error");
        assert_eq!(error.as_deref(), Some("consent_required"), "{otherwise:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn reuse_ends_a_family_whatever_nonsense_comes_with_it() {
    let server = TestServer::open().await;
    for (name, value) in [
        ("organization", "other"),
        ("resource", "https://nowhere.example"),
        ("scope", "\""),
        ("scope", "orders:read"),
    ] {
        let first = server.tokens("ana@acme.test", "web", "openid").await;
        let second = server.refresh("web", text(&first["refresh_token"])).await.json();
        let stolen = [
            ("grant_type", "refresh_token"),
            ("refresh_token", text(&first["refresh_token"])),
            (name, value),
        ];
        server.token_as("web", &stolen).await.refused(400, "invalid_grant");
        let next = server.refresh("web", text(&second["refresh_token"])).await;
        next.refused(400, "invalid_grant");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_code_is_redeemed_for_what_it_was_granted_for() {
    let server = TestServer::open().await;
    let session = server.sign_in("ana@acme.test").await;
    let code = server.code(&session, "web", "openid").await;
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", code.as_str()),
        ("code_verifier", crate::person::VERIFIER),
    ];
    let other = [&fields[..], &[("resource", INVOICES)]].concat();
    server.token_as("web", &other).await.refused(400, "invalid_target");
    let other = [&fields[..], &[("organization", "other")]].concat();
    server.token_as("web", &other).await.refused(400, "invalid_grant");
    assert_eq!(server.token_as("web", &fields).await.status, 200, "nothing was spent");
    server.stop().await;
}

#[tokio::test]
async fn a_refresh_token_that_could_not_be_used_is_not_called_active() {
    let server = TestServer::open().await;
    let tokens = server.tokens("ana@acme.test", "web", "openid invoices:read").await;
    let refresh = text(&tokens["refresh_token"]);
    assert_eq!(server.introspect("web", refresh).await["active"], true);
    server.apply("[[organization]]\nslug = \"acme\"\nenabled = false\n").await;
    assert_eq!(server.introspect("web", refresh).await["active"], false);
    let tokens = server.tokens("clara@nowhere.test", "web", "openid").await;
    let refresh = text(&tokens["refresh_token"]);
    assert_eq!(server.introspect("web", refresh).await["active"], true);
    server.clock.advance(Duration::from_hours(7 * 24));
    assert_eq!(server.introspect("web", refresh).await["active"], false, "its session is over");
    server.stop().await;
}

#[tokio::test]
async fn a_code_is_not_spent_where_nothing_could_be_signed() {
    let server = TestServer::open().await;
    let session = server.sign_in("ana@acme.test").await;
    let code = server.code(&session, "web", "openid").await;
    let client = |algorithm: &str| {
        format!("[[client]]\nclient_id = \"web\"\nid_token_signed_response_alg = \"{algorithm}\"\n")
    };
    // Applied on a node whose folder has such a key; this server's has lost it.
    let other = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(server.keys()).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), other.path().join(file.file_name())).unwrap();
    }
    server.remove_key(SigningAlgorithm::EdDsa).await;
    apply(&server.url, other.path(), &client("EdDSA")).await.unwrap();
    server.clock.expire_views();
    server.redeem("web", &code).await.refused(503, "temporarily_unavailable");
    server.apply(&client("RS256")).await;
    server.clock.expire_views();
    assert_eq!(server.redeem("web", &code).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn many_organizations_fit_into_a_flow() {
    let server = TestServer::open().await;
    let slugs: Vec<String> =
        (0..90).map(|number| format!("organization-with-a-rather-long-slug-{number}")).collect();
    let organizations = slugs.iter().map(|slug| format!("[[organization]]\nslug = \"{slug}\"\n"));
    let place = |slug: &String| format!("{{ organization = \"{slug}\", roles = [] }}");
    let memberships: Vec<String> = slugs.iter().map(place).collect();
    let account = format!(
        "[[account]]\nemail = \"ana@acme.test\"\nmemberships = [{}]\n",
        memberships.join(", ")
    );
    let file: String = organizations.chain([account]).collect();
    server.apply(&file).await;
    let session = server.sign_in("ana@acme.test").await;
    let asked = server.authorize_in(&session, "web", &[]).await.json();
    assert_eq!(asked["organizations"].as_array().unwrap().len(), 90);
    assert!(text(&asked["id"]).len() < 2_000);
    let organization = "organization-with-a-rather-long-slug-42";
    let done = server.step(&asked, "organization", json!({ "organization": organization })).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    server.stop().await;
}
