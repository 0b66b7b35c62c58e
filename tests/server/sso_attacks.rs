//! Hostile and broken providers, over real HTTP: what the seed refuses for ever, and what an organization believes.

use crate::{
    authenticator::Authenticator,
    me::get_in,
    person::{claims, parameter, redirect, text},
    sso_scene::{
        SUBJECT, Scene, account_of, connect, draft, link, link_in, options, parameters, prove,
        session_of,
    },
    support::TestOptions,
    upstream_provider::{METADATA, Provider, Reply},
    zone_server::ZoneServer,
};
use hyper::Method;
use porteiro::domain::{Clock as _, connection::Draft, upstream::RoleMapping};
use serde_json::{Value, json};
use std::time::Duration;

const ANA: &str = "ana@acme.test";
const NOVA: &str = "nova@acme.test";
const BRUNO: &str = "bruno@acme.test";
pub const DORA: &str = "dora@acme.test";

/// A person with two factors who belongs to both organizations.
pub const DORA_EVERYWHERE: &str = r#"
[[account]]
email = "dora@acme.test"
memberships = [{ organization = "acme", roles = ["manager"] }, { organization = "other", roles = [] }]
"#;

fn refusal(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

#[tokio::test]
async fn an_account_is_never_found_by_the_address_that_a_provider_reports() {
    let scene = Scene::proved().await;
    let server = &scene.server;
    for address in [ANA, "ANA@ACME.TEST", "rita@acme.test"] {
        scene.provider.claim("email", json!(address));
        scene.provider.claim("email_verified", json!(true));
        assert_eq!(scene.refused().await, refusal(403, "identity_not_linked"), "{address}");
    }
    // Under no domain of the organization it is not told whether an account has the address.
    let mut told = Vec::new();
    for address in ["clara@nowhere.test", "nobody@nowhere.test", "olga@operator.test"] {
        scene.provider.claim("email", json!(address));
        let mut answer = scene.sign_on().await.json();
        answer.as_object_mut().unwrap().remove("request_id");
        told.push(answer);
    }
    assert_eq!(told[0]["code"], "account_not_vouched");
    assert!(told.iter().all(|one| *one == told[0]), "{told:?}");
    // Nothing was linked: the subject still leads nowhere, and Ana's own password still opens her account.
    scene.provider.claim("email", Value::Null);
    assert_eq!(scene.refused().await, refusal(403, "account_not_vouched"));
    server.sign_in(ANA).await;
}

#[tokio::test]
async fn no_account_is_made_without_a_domain_that_the_organization_has_proved() {
    let scene = Scene::open().await;
    let server = &scene.server;
    let refused = async |address: &str| {
        scene.provider.claim("email", json!(address));
        assert_eq!(scene.refused().await, refusal(403, "account_not_vouched"), "{address}");
        assert_eq!(account_of(server, address).await, None, "{address}");
    };
    refused(NOVA).await;
    prove(server, &scene.zone, ("other", "other.test")).await;
    // Another company's domain, what is below the own one or looks like it, and what is no address.
    prove(server, &scene.zone, ("acme", "acme.test")).await;
    for address in
        ["eve@other.test", "eve@sub.acme.test", "eve@acme.test.evil.test", "eve", "@acme.test"]
    {
        refused(address).await;
    }
    scene.provider.claim("email_verified", json!(false));
    refused(NOVA).await;
    // What is neither true nor false is not taken for an absent claim.
    scene.provider.claim("email_verified", json!("perhaps"));
    refused(NOVA).await;
    scene.provider.claim("email_verified", Value::Null);
    // Where the claim is absent the proved domain suffices.
    let session = session_of(&scene.sign_on().await);
    assert!(account_of(server, NOVA).await.is_some());
    let organizations = get_in(server, &session, "/me/organizations").await.json();
    assert_eq!(organizations["items"][0]["slug"], "acme", "{organizations}");
    // Another subject may not have what the first one got: addresses are reused, subjects change.
    scene.provider.claim("sub", json!("another-subject"));
    assert_eq!(scene.refused().await, refusal(403, "identity_not_linked"));
    // The first one stays who they were, whatever address it asserts now.
    scene.provider.claim("sub", json!(SUBJECT));
    scene.provider.claim("email", json!("somebody.else@acme.test"));
    let again = session_of(&scene.sign_on().await);
    let me = |session: String| async move { get_in(server, &session, "/me").await };
    let (first, second) = (me(session).await, me(again).await);
    assert_eq!(first.status, second.status, "{first:?} {second:?}");
    assert_eq!(account_of(server, "somebody.else@acme.test").await, None);
}

#[tokio::test]
async fn what_a_provider_proves_counts_for_its_organization_and_no_token_spans_two() {
    let scene = Scene::open().await;
    let server = &scene.server;
    link(server, &scene.connection, SUBJECT, BRUNO).await;
    let session = session_of(&scene.sign_on().await);
    let asks = async |otherwise: &[(&str, &str)]| {
        let answer = server.authorize_in(&session, "web", otherwise).await;
        (answer.json()["state"].clone(), answer)
    };
    let (state, granted) =
        asks(&[("organization", "acme"), ("scope", "openid invoices:read")]).await;
    assert_eq!(state, "done", "{granted:?}");
    let code = parameter(&redirect(&granted), "code").unwrap();
    let tokens = server.redeem("web", &code).await.json();
    let held = claims(&tokens["access_token"]);
    assert_eq!((&held["org"], &held["acr"]), (&json!("acme"), &json!("aal1")), "{held}");
    assert!(held.get("amr").is_none());
    // The other organization, and a token of none, want the account's own credential.
    let (state, asked) = asks(&[("organization", "other"), ("scope", "openid")]).await;
    assert_ne!(state, "done", "{asked:?}");
    let steps = |document: &Value| -> Vec<String> {
        let steps = document["steps"].as_array().unwrap().iter();
        steps.map(|step| text(&step["name"]).to_owned()).collect()
    };
    let offered = steps(&asked.json());
    assert!(!offered.iter().any(|step| step.starts_with("sso")), "{offered:?}");
    // A refresh keeps its organization, whatever is asked.
    let asked = [
        ("grant_type", "refresh_token"),
        ("refresh_token", text(&tokens["refresh_token"])),
        ("organization", "other"),
    ];
    let refreshed = server.token_as("web", &asked).await.json();
    let org = refreshed.get("access_token").map(|token| claims(token)["org"].clone());
    assert!(org.is_none() || org == Some(json!("acme")), "{refreshed}");
    // Nothing of the account itself may be changed by it.
    let body = json!({ "password": "another correct horse battery" });
    let headers = [("x-session-token", &*session), ("content-type", "application/json")];
    let mut request = server.request(Method::PUT, "/me/password");
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let changed = server.send(request.body(body.to_string().into()).unwrap()).await;
    assert!([401, 403].contains(&changed.status.as_u16()), "{changed:?}");
    server.sign_in(BRUNO).await;
}

#[tokio::test]
async fn an_enrolled_person_is_not_taken_over_through_a_hostile_provider() {
    let scene = Scene::proved().await;
    let server = &scene.server;
    server.apply(DORA_EVERYWHERE).await;
    link(server, &scene.connection, "dora-at-acme", DORA).await;
    // Mallory runs the provider of the other organization, in which Dora is a member, and its proved domain.
    prove(server, &scene.zone, ("other", "other.test")).await;
    let mallory = Provider::start(server.clock.clone()).await;
    let hostile = Draft { organization: Some("other".to_owned()), ..draft(&mallory.issuer) };
    let hostile = Draft { believe_acr: Some(true), ..hostile };
    let connection = connect(server, hostile, Some("mallory")).await;
    let attack = async |subject: &str, email: &str| {
        mallory.claim("sub", json!(subject));
        mallory.claim("email", json!(email));
        mallory.claim("email_verified", json!(true));
        mallory.claim("acr", json!("phrh"));
        mallory.claim("amr", json!(["mfa", "hwk"]));
        let wish = json!({ "kind": "sign_in", "organization": "other" });
        let flow = server.post_json("/flows", &wish, &[]).await.json();
        let left = server.step(&flow, "sso/options", json!({ "connection": connection })).await;
        let query = mallory.authorize(&parameters(text(&left.json()["redirect_to"])));
        let callback = format!("{}/connect/sso/{connection}/callback?{query}", server.issuer());
        server.step(&flow, "sso", json!({ "callback": callback })).await
    };
    // By Dora's address, and by the subject that she has at acme.
    attack("mallory", DORA).await.problem(403, "account_not_vouched");
    attack("dora-at-acme", DORA).await.problem(403, "account_not_vouched");
    attack("dora-at-acme", "dora@other.test").await;
    let made = account_of(server, "dora@other.test").await;
    assert_ne!(made, account_of(server, DORA).await, "at best an account of its own");
    // Where Dora has linked herself there, Mallory signs in as her, with two factors as the other organization
    // believes: for that organization, and for nothing else.
    link_in(server, ("other", &connection), "dora-at-other", DORA).await;
    let session = session_of(&attack("dora-at-other", DORA).await);
    for (method, path, body) in [
        (Method::PUT, "/me/password", json!({ "password": "mallory has taken this over" })),
        (Method::DELETE, "/me/totp", json!({})),
        (Method::POST, "/me/recovery-codes", json!({})),
        (Method::POST, "/me/email", json!({ "email": "mallory@other.test" })),
        (Method::DELETE, "/me/sessions", json!({})),
        (Method::DELETE, "/me", json!({})),
    ] {
        let request = server.request(method.clone(), path).header("x-session-token", &*session);
        let request = request.header("content-type", "application/json");
        let answer = server.send(request.body(body.to_string().into()).unwrap()).await;
        assert!([401, 403].contains(&answer.status.as_u16()), "{method} {path}: {answer:?}");
        let steps = answer.json()["flow"]["steps"].to_string();
        assert!(!steps.contains("sso"), "a step-up there offers no sso: {steps}");
    }
    for kind in ["enroll_totp", "enroll_passkey"] {
        let begun = server.begin_in(&session, kind).await;
        let document = begun.json();
        assert!(!document["steps"].to_string().contains("create"), "{begun:?}");
        assert!(!document["steps"].to_string().contains("options"), "{begun:?}");
    }
    for organization in [Some("acme"), None] {
        let asked: Vec<(&str, &str)> =
            organization.map(|slug| ("organization", slug)).into_iter().collect();
        let answer = server.authorize_in(&session, "web", &asked).await;
        let granted = answer.json()["result"]["redirect_to"].to_string().contains("code=");
        let other = organization.is_none() && answer.json()["state"] == "organization";
        assert!(!granted || other, "{organization:?}: {answer:?}");
    }
    // Dora's own factors are what they were.
    let flow = server.asks_second_factor(DORA).await;
    let code = Authenticator::of_dora().code(server.clock.now());
    assert_eq!(server.step(&flow, "totp", json!({ "code": code })).await.json()["state"], "done");
}

#[tokio::test]
async fn providers_that_are_slow_huge_silent_or_gone_are_refused_in_time() {
    let zone = ZoneServer::open().await;
    let hasty = TestOptions { upstream_limit: Some(Duration::from_millis(300)), ..options(&zone) };
    let scene = Scene::open_in(zone, hasty).await;
    let server = &scene.server;
    link(server, &scene.connection, SUBJECT, ANA).await;
    let flow = scene.begin().await;
    let huge = || {
        let body = format!("{{\"issuer\":\"{}\"}}", "x".repeat(600_000));
        Reply::Raw(200, "content-type: application/json".to_owned(), body)
    };
    for reply in [huge(), Reply::Never, Reply::Json(500, json!({})), Reply::Json(200, json!([]))] {
        scene.provider.reply(METADATA, reply);
        // A cache must not help.
        server.clock.advance(Duration::from_secs(31));
        let left = server.step(&flow, "sso/options", json!({})).await;
        left.problem(502, "upstream_unavailable");
    }
    scene.provider.state().replies.clear();
    server.clock.advance(Duration::from_secs(31));
    for reply in [huge(), Reply::Never, Reply::Json(400, json!({ "error": "invalid_grant" }))] {
        let flow = scene.begin().await;
        let query = scene.answer_to(&flow).await;
        scene.provider.reply("/token", reply);
        scene.bring(&flow, &query).await.problem(401, "sso_refused");
        scene.provider.state().replies.clear();
        // The flow goes on, and the next attempt is as good as any.
        let query = scene.answer_to(&flow).await;
        session_of(&scene.bring(&flow, &query).await);
    }
    // Keys that change in the middle of a sign-in.
    let flow = scene.begin().await;
    let query = scene.answer_to(&flow).await;
    scene.provider.rotate();
    server.clock.advance(Duration::from_secs(31));
    session_of(&scene.bring(&flow, &query).await);
    // An answer is taken once.
    scene.bring(&flow, &query).await.problem(409, "flow_over");
}

#[tokio::test]
async fn roles_are_mapped_at_each_sign_in_and_those_given_otherwise_stay() {
    let scene = Scene::proved().await;
    let server = &scene.server;
    let mapping = |value: &str, role: &str| RoleMapping {
        claim: "groups".to_owned(),
        value: value.to_owned(),
        role: role.to_owned(),
    };
    let roles = vec![mapping("finance", "manager"), mapping("finance", "no-such-role")];
    scene.change(Draft { roles: Some(roles), ..Draft::default() }).await;
    scene.provider.claim("email", json!(NOVA));
    scene.provider.claim("groups", json!(["staff", "finance"]));
    let held = claims(&scene.tokens("openid invoices:write").await["access_token"]);
    assert_eq!(held["role"], "manager", "{held}");
    let text = "[[account]]\nemail = \"nova@acme.test\"\nmemberships = [{ organization = \"acme\", \
                roles = [\"clerk\", \"manager\"] }]\n";
    server.apply(&text.replace(", \"manager\"", "")).await;
    server.clock.expire_views();
    let held = claims(&scene.tokens("openid invoices:write").await["access_token"]);
    assert_eq!(held["role"], "clerk manager", "{held}");
    scene.provider.claim("groups", json!("finance-no-more"));
    let held = claims(&scene.tokens("openid invoices:read").await["access_token"]);
    assert_eq!(held["role"], "clerk", "what was mapped is gone: {held}");
    let answer = scene.authorize("web", "openid invoices:write").await;
    assert!(
        answer.json()["result"]["redirect_to"].to_string().contains("invalid_scope"),
        "{answer:?}"
    );
}

#[tokio::test]
async fn one_factor_is_believed_and_two_where_the_organization_says_so() {
    let scene = Scene::open().await;
    let server = &scene.server;
    server.apply(DORA_EVERYWHERE).await;
    link(server, &scene.connection, SUBJECT, DORA).await;
    // Who has enrolled an application is asked for its code.
    scene.provider.claim("acr", json!("phr"));
    let flow = scene.begin().await;
    let query = scene.answer_to(&flow).await;
    let asked = scene.bring(&flow, &query).await;
    assert_eq!(asked.json()["state"], "second_factor", "{asked:?}");
    assert_eq!(asked.json()["assurance"]["reached"], "aal1");
    let code = Authenticator::of_dora().code(server.clock.now());
    let done = server.step(&flow, "totp", json!({ "code": code })).await;
    let session = session_of(&done);
    let asked = [("organization", "acme"), ("scope", "openid"), ("acr_values", "aal2")];
    let granted = server.authorize_in(&session, "web", &asked).await;
    let code = parameter(&redirect(&granted), "code").unwrap();
    let tokens = server.redeem("web", &code).await.json();
    assert_eq!(claims(&tokens["id_token"])["acr"], "aal2");
    // With believe_acr it is two factors for acme, and the code is not asked for.
    scene.change(Draft { believe_acr: Some(true), ..Draft::default() }).await;
    let tokens = scene.tokens("openid").await;
    assert_eq!(claims(&tokens["id_token"])["acr"], "aal2", "nothing is aal3");
    scene.provider.claim("acr", json!("urn:example:whatever"));
    let asked = scene.sign_on().await;
    assert_eq!(asked.json()["state"], "second_factor", "{asked:?}");
}

#[tokio::test]
async fn where_single_sign_on_is_required_nothing_else_confers_anything() {
    let scene = Scene::open().await;
    let server = &scene.server;
    link(server, &scene.connection, SUBJECT, BRUNO).await;
    let before = server.sign_in(BRUNO).await;
    let asked = [("organization", "acme"), ("scope", "openid invoices:read")];
    let granted = server.authorize_in(&before, "web", &asked).await;
    let code = parameter(&redirect(&granted), "code").unwrap();
    let family = server.redeem("web", &code).await.json();
    scene.change(Draft { required: Some(true), ..Draft::default() }).await;
    // Its flows offer nothing else.
    let flow = scene.begin().await;
    let steps: Vec<&str> =
        flow["steps"].as_array().unwrap().iter().map(|step| text(&step["name"])).collect();
    assert_eq!(steps, ["sso/options", "sso"]);
    server
        .step(&flow, "identifier", json!({ "identifier": BRUNO }))
        .await
        .problem(409, "step_not_available");
    // What was there confers nothing, and a family that is refused so ends.
    let refused = server.refresh("web", text(&family["refresh_token"])).await;
    assert_eq!(refused.status, 400, "{refused:?}");
    let introspected = server.introspect("invoices-api", text(&family["access_token"])).await;
    assert_eq!(introspected["active"], false);
    let asked_again = server.authorize_in(&before, "web", &asked).await.json();
    assert_ne!(asked_again["state"], "done", "{asked_again}");
    // By the provider it goes on; the account's own credential still opens the other organization.
    let tokens = scene.tokens("openid invoices:read").await;
    let introspected = server.introspect("invoices-api", text(&tokens["access_token"])).await;
    assert_eq!(introspected["active"], true);
    let elsewhere = [("organization", "other"), ("scope", "openid")];
    assert_eq!(server.authorize_in(&before, "web", &elsewhere).await.json()["state"], "done");
    scene.change(Draft { required: Some(false), ..Draft::default() }).await;
    let lifted = server.authorize_in(&before, "web", &asked).await.json();
    assert_eq!(lifted["state"], "done", "sessions confer again: {lifted}");
    let ended = server.refresh("web", text(&family["refresh_token"])).await;
    assert_eq!(ended.status, 400, "what was refused meanwhile stays ended");
}
