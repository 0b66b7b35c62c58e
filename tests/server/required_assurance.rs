//! Organizations that require how sure we are of a person before tokens speak for them.

use crate::{
    http::Answer,
    passkey_device::Device,
    passkeys::device_of,
    person::{PASSWORD, claims, parameter, redirect, text},
    shared::eventually,
    step_up::{code, dora, token},
    support::TestServer,
};
use porteiro::domain::Clock as _;
use serde_json::{Value, json};
use std::time::Duration;

const BRUNO: &str = "bruno@acme.test";

async fn require(server: &TestServer, acr: &str) {
    let file = format!("[[organization]]\nslug = \"acme\"\nrequired_acr = \"{acr}\"\n");
    server.apply(&file).await;
}

/// A member of Acme alone who has a password and an authenticator application.
async fn dora_of_acme(server: &TestServer) -> String {
    server
        .apply(
            "[[account]]\nemail = \"dora@acme.test\"\n\
             memberships = [{ organization = \"acme\", roles = [\"clerk\"] }]\n",
        )
        .await;
    dora(server).await
}

fn error(answer: &Answer) -> (String, String) {
    let to = redirect(answer);
    let of = |name| parameter(&to, name).unwrap_or_default();
    (of("error"), of("error_description"))
}

async fn org_of(server: &TestServer, client: &str, done: &Answer) -> Value {
    let code = parameter(&redirect(done), "code").unwrap_or_else(|| panic!("{done:?}"));
    let tokens = server.redeem(client, &code).await.json();
    claims(&tokens["access_token"])
}

#[tokio::test]
async fn a_session_that_proved_too_little_is_stepped_up_for_the_organization() {
    let server = TestServer::open().await;
    let session = dora_of_acme(&server).await;
    require(&server, "aal2").await;
    let at_once = server.authorize_in(&session, "web", &[]).await;
    assert_eq!(org_of(&server, "web", &at_once).await["org"], "acme", "two factors were proved");
    server.clock.advance(Duration::from_mins(61));
    let silent = server.authorize_in(&session, "web", &[("prompt", "none")]).await;
    assert_eq!(error(&silent).0, "login_required");
    let flow = server.authorize_in(&session, "web", &[]).await.json();
    assert_eq!((text(&flow["kind"]), text(&flow["state"])), ("step_up", "second_factor"));
    assert_eq!(flow["assurance"]["required"], "aal2");
    let right = json!({ "code": code(server.clock.now()) });
    let done = server.step_in(&session, &flow, "totp", right).await;
    let access = org_of(&server, "web", &done).await;
    assert_eq!((text(&access["org"]), text(&access["acr"])), ("acme", "aal2"));
    // The session is worth it from now on, and no passkey is among what was proved.
    let again = server.authorize_in(&token(&done), "web", &[("prompt", "none")]).await;
    assert!(parameter(&redirect(&again), "code").is_some(), "{again:?}");
    require(&server, "phr").await;
    let denied = server.authorize_in(&token(&done), "web", &[]).await;
    assert_eq!(error(&denied).0, "access_denied");
    server.stop().await;
}

#[tokio::test]
async fn an_account_that_cannot_prove_as_much_is_refused_with_the_reason() {
    let server = TestServer::open().await;
    let session = server.sign_in("ana@acme.test").await;
    for acr in ["aal2", "aal3", "phr", "phrh"] {
        require(&server, acr).await;
        for otherwise in [&[][..], &[("prompt", "none")], &[("organization", "acme")]] {
            let denied = server.authorize_in(&session, "web", otherwise).await;
            let (code, why) = error(&denied);
            assert_eq!(code, "access_denied", "{acr}: {denied:?}");
            assert_eq!(why, "more is required than the account of the person can prove");
        }
        let flow = server.authorize("web", &[]).await.json();
        let failed = server.prove(&flow, "ana@acme.test").await;
        assert_eq!(failed.json()["state"], "failed", "{failed:?}");
        assert_eq!(error(&failed).0, "access_denied");
    }
    // Machines have no evidence: nothing is required of them.
    server.token("billing", "invoices:read").await;
    server.stop().await;
}

#[tokio::test]
async fn the_organization_is_chosen_first_and_only_its_own_rule_counts() {
    let server = TestServer::open().await;
    let mut device = device_of(&server, BRUNO).await;
    require(&server, "aal2").await;
    let session = server.sign_in(BRUNO).await;
    let begin = async || server.authorize_in(&session, "web", &[]).await.json();
    let flow = begin().await;
    assert_eq!(flow["state"], "organization", "{flow}");
    let other = server.step(&flow, "organization", json!({ "organization": "other" })).await;
    assert_eq!(org_of(&server, "web", &other).await["org"], "other", "it requires nothing");
    let flow = begin().await;
    let asked = server.step(&flow, "organization", json!({ "organization": "acme" })).await;
    let done = prove_by_passkey(&server, &flow, &asked, &mut device).await;
    let access = org_of(&server, "web", &done).await;
    assert_eq!((text(&access["org"]), text(&access["acr"])), ("acme", "aal2"));
    // The same without a session.
    let flow = server.authorize("web", &[]).await.json();
    server.prove(&flow, BRUNO).await;
    let asked = server.step(&flow, "organization", json!({ "organization": "acme" })).await;
    let done = prove_by_passkey(&server, &flow, &asked, &mut device).await;
    assert_eq!(org_of(&server, "web", &done).await["org"], "acme");
    server.stop().await;
}

/// Proves the password again, which is not enough, and then the passkey.
async fn prove_by_passkey(
    server: &TestServer,
    flow: &Value,
    asked: &Answer,
    device: &mut Device,
) -> Answer {
    let asked = asked.json();
    assert_eq!((text(&asked["state"]), &asked["result"]), ("credential", &Value::Null), "{asked}");
    assert_eq!(asked["assurance"]["required"], "aal2");
    let same = server.step(flow, "password", json!({ "password": PASSWORD })).await.json();
    assert_eq!(same["state"], "credential", "one factor is one factor: {same}");
    let options = server.step(flow, "passkey/options", json!({})).await.json();
    server.present(flow, device.get(&options).await).await
}

#[tokio::test]
async fn consent_is_asked_for_after_it_and_remembered_for_that_organization() {
    let server = TestServer::open().await;
    let mut device = device_of(&server, BRUNO).await;
    require(&server, "aal2").await;
    let choose = async |session: &str, slug: &str| {
        let flow = server.authorize_in(session, "app", &[]).await.json();
        assert_eq!(flow["state"], "organization", "{flow}");
        let asked = server.step(&flow, "organization", json!({ "organization": slug })).await;
        (flow, asked)
    };
    let session = server.sign_in(BRUNO).await;
    let (flow, asked) = choose(&session, "acme").await;
    let asked = prove_by_passkey(&server, &flow, &asked, &mut device).await.json();
    assert_eq!(asked["state"], "consent", "{asked}");
    assert_eq!(asked["organizations"][0]["slug"], "acme", "{asked}");
    let done = server.step(&flow, "consent", json!({ "decision": "allow" })).await;
    assert_eq!(org_of(&server, "app", &done).await["org"], "acme");
    // What was consented to for one organization says nothing of another.
    let (_, asked) = choose(&token(&done), "other").await;
    assert_eq!(asked.json()["state"], "consent", "{asked:?}");
    // In a session of one factor it is remembered, once the other is proved.
    let session = server.sign_in(BRUNO).await;
    let (flow, asked) = choose(&session, "acme").await;
    let done = prove_by_passkey(&server, &flow, &asked, &mut device).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    server.stop().await;
}

#[tokio::test]
async fn what_was_granted_with_less_ends_with_the_rule_and_comes_back_with_it() {
    let server = TestServer::open().await;
    let session = server.sign_in("ana@acme.test").await;
    let scope = "openid offline_access invoices:read";
    let redeemed = server.code(&session, "web", scope).await;
    let tokens = server.redeem("web", &redeemed).await.json();
    let unused = server.code(&session, "web", scope).await;
    require(&server, "aal2").await;
    let refresh = text(&tokens["refresh_token"]);
    server.refresh("web", refresh).await.refused(400, "invalid_grant");
    server.redeem("web", &unused).await.refused(400, "invalid_grant");
    require(&server, "aal1").await;
    // Views may be a second old.
    eventually("a refresh", async || server.refresh("web", refresh).await.status == 200).await;
    server.stop().await;
}
