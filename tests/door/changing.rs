//! What a flow or a grant rests on changes while it is under way.

use crate::{
    person::{parameter, redirect, text},
    support::{Door, INVOICES},
};
use serde_json::{Value, json};
use std::time::Duration;

async fn a_second() {
    tokio::time::sleep(Duration::from_secs(1)).await;
}

#[tokio::test]
async fn consent_for_one_organization_grants_nothing_in_another() {
    let door = Door::open().await;
    let flow = door.authorize("app", &[]).await.json();
    let asked = door.prove(&flow, "ana@acme.test").await.json();
    assert_eq!(asked["state"], "consent");
    assert_eq!(asked["organizations"][0]["slug"], "acme", "whom it is for is shown");
    let moved = "[[account]]\nemail = \"ana@acme.test\"\n\
                 memberships = [{ organization = \"other\", roles = [] }]\n";
    door.apply(moved).await;
    let again = door.step(&flow, "consent", json!({ "decision": "allow" })).await.json();
    assert_eq!(again["state"], "consent", "{again}");
    assert_eq!(again["organizations"][0]["slug"], "other");
    let done = door.step(&flow, "consent", json!({ "decision": "allow" })).await.json();
    assert_eq!(done["state"], "done");
    door.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consent_that_lost_to_a_refusal_is_not_remembered() {
    let door = Door::open().await;
    let session = door.sign_in("ana@acme.test").await;
    for _ in 0..10 {
        let flow = door.authorize_in(&session, "app", &[]).await.json();
        assert_ne!(flow["state"], "done", "a refused consent was remembered");
        let (allow, deny) = tokio::join!(
            door.step(&flow, "consent", json!({ "decision": "allow" })),
            door.step(&flow, "consent", json!({ "decision": "deny" })),
        );
        let states: Vec<Value> =
            [&allow, &deny].iter().map(|answer| answer.json()["state"].clone()).collect();
        if states.contains(&json!("done")) {
            // Allowed: then it is remembered, and withdrawn by nobody.
            break;
        }
        assert!(states.contains(&json!("failed")), "{states:?}");
    }
    door.stop().await;
}

#[tokio::test]
async fn a_code_goes_only_where_the_client_is_at_home_now() {
    let door = Door::open().await;
    let flow = door.authorize("web", &[]).await.json();
    let moved = "[[client]]\nclient_id = \"web\"\nredirect_uris = [\"https://new.example/cb\"]\n";
    door.apply(moved).await;
    a_second().await;
    let refused = door.prove(&flow, "ana@acme.test").await;
    refused.problem(409, "client_changed");
    door.stop().await;
}

#[tokio::test]
async fn an_api_asked_for_by_name_is_reached_without_naming_a_scope() {
    let door = Door::open().await;
    let session = door.sign_in("ana@acme.test").await;
    let asked = [("resource", INVOICES)];
    let answer = door.authorize_in(&session, "web", &asked).await;
    let code = parameter(&redirect(&answer), "code").unwrap();
    let tokens = door.redeem("web", &code).await.json();
    let access = crate::person::claims(&tokens["access_token"]);
    assert_eq!((text(&access["aud"]), text(&access["scope"])), (INVOICES, "openid"));
    let refreshed = door.refresh("web", text(&tokens["refresh_token"])).await;
    assert_eq!(refreshed.status, 200, "{refreshed:?}");
    // Nobody gets there who holds nothing of it.
    let session = door.sign_in("clara@nowhere.test").await;
    let answer = door.authorize_in(&session, "web", &asked).await;
    assert_eq!(parameter(&redirect(&answer), "error").as_deref(), Some("invalid_target"));
    door.stop().await;
}

#[tokio::test]
async fn consent_to_be_known_is_no_consent_to_an_api() {
    let door = Door::open().await;
    let flow = door.authorize("app", &[]).await.json();
    door.prove(&flow, "ana@acme.test").await;
    let done = door.step(&flow, "consent", json!({ "decision": "allow" })).await.json();
    let session = text(&done["result"]["session_token"]).to_owned();
    let silent = [("prompt", "none")];
    assert_eq!(door.authorize_in(&session, "app", &silent).await.json()["state"], "done");
    let elsewhere = [("prompt", "none"), ("resource", INVOICES)];
    let answer = door.authorize_in(&session, "app", &elsewhere).await;
    assert_eq!(parameter(&redirect(&answer), "error").as_deref(), Some("consent_required"));
    door.stop().await;
}

#[tokio::test]
async fn a_client_without_consent_learns_nothing_in_silence() {
    let door = Door::open().await;
    let session = door.sign_in("ana@acme.test").await;
    for otherwise in [
        &[("organization", "acme")][..],
        &[("organization", "other")],
        &[("organization", "unheard-of")],
        &[("scope", "invoices:read")],
        &[("scope", "orders:read")],
    ] {
        let asked = [&[("prompt", "none")], otherwise].concat();
        let answer = door.authorize_in(&session, "app", &asked).await;
        let error = parameter(&redirect(&answer), "error");
        assert_eq!(error.as_deref(), Some("consent_required"), "{otherwise:?}");
    }
    door.stop().await;
}

#[tokio::test]
async fn reuse_ends_a_family_whatever_nonsense_comes_with_it() {
    let door = Door::open().await;
    for (name, value) in [
        ("organization", "other"),
        ("resource", "https://nowhere.example"),
        ("scope", "\""),
        ("scope", "orders:read"),
    ] {
        let first = door.tokens("ana@acme.test", "web", "openid").await;
        let second = door.refresh("web", text(&first["refresh_token"])).await.json();
        let stolen = [
            ("grant_type", "refresh_token"),
            ("refresh_token", text(&first["refresh_token"])),
            (name, value),
        ];
        door.token_as("web", &stolen).await.refused(400, "invalid_grant");
        let next = door.refresh("web", text(&second["refresh_token"])).await;
        next.refused(400, "invalid_grant");
    }
    door.stop().await;
}

#[tokio::test]
async fn a_code_is_redeemed_for_what_it_was_granted_for() {
    let door = Door::open().await;
    let session = door.sign_in("ana@acme.test").await;
    let code = door.code(&session, "web", "openid").await;
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", code.as_str()),
        ("code_verifier", crate::person::VERIFIER),
    ];
    let other = [&fields[..], &[("resource", INVOICES)]].concat();
    door.token_as("web", &other).await.refused(400, "invalid_target");
    let other = [&fields[..], &[("organization", "other")]].concat();
    door.token_as("web", &other).await.refused(400, "invalid_grant");
    assert_eq!(door.token_as("web", &fields).await.status, 200, "nothing was spent");
    door.stop().await;
}

#[tokio::test]
async fn a_refresh_token_that_could_not_be_used_is_not_called_active() {
    let door = Door::open().await;
    let tokens = door.tokens("ana@acme.test", "web", "openid invoices:read").await;
    let refresh = text(&tokens["refresh_token"]);
    assert_eq!(door.introspect("web", refresh).await["active"], true);
    door.apply("[[organization]]\nslug = \"acme\"\nenabled = false\n").await;
    assert_eq!(door.introspect("web", refresh).await["active"], false);
    door.apply("[[organization]]\nslug = \"acme\"\nenabled = true\n").await;
    assert_eq!(door.introspect("web", refresh).await["active"], true);
    door.clock.advance(Duration::from_hours(7 * 24));
    assert_eq!(door.introspect("web", refresh).await["active"], false, "its session is over");
    door.stop().await;
}

#[tokio::test]
async fn a_code_is_not_spent_where_nothing_could_be_signed() {
    let door = Door::open().await;
    let session = door.sign_in("ana@acme.test").await;
    let code = door.code(&session, "web", "openid").await;
    let client = |algorithm: &str| {
        format!("[[client]]\nclient_id = \"web\"\nid_token_signed_response_alg = \"{algorithm}\"\n")
    };
    door.apply(&client("PS256")).await;
    a_second().await;
    door.redeem("web", &code).await.refused(503, "temporarily_unavailable");
    door.apply(&client("RS256")).await;
    a_second().await;
    assert_eq!(door.redeem("web", &code).await.status, 200);
    door.stop().await;
}

#[tokio::test]
async fn many_organizations_fit_into_a_flow() {
    let door = Door::open().await;
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
    door.apply(&file).await;
    let session = door.sign_in("ana@acme.test").await;
    let asked = door.authorize_in(&session, "web", &[]).await.json();
    assert_eq!(asked["organizations"].as_array().unwrap().len(), 90);
    assert!(text(&asked["id"]).len() < 2_000);
    let organization = "organization-with-a-rather-long-slug-42";
    let done = door.step(&asked, "organization", json!({ "organization": organization })).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    door.stop().await;
}
