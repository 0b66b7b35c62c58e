//! A passkey as the credential that a person chooses in a sign-up and in a recovery.

use crate::{
    authenticator::recovery_codes,
    mails::{begin, names, prove_by_mail},
    passkey_device::{Device, altered},
    passkeys::kept,
    person::{PASSWORD, text},
    security_log::records,
    support::{TestOptions, TestServer},
};
use serde_json::{Value, json};

const ANA: &str = "ana@acme.test";
const EVA: &str = "eva@acme.test";

async fn open() -> TestServer {
    TestServer::open_in(TestOptions { mailbox: true, ..TestOptions::default() }).await
}

/// Goes as far as a new credential is asked for.
async fn proved(server: &TestServer, kind: &str, step: &str, body: Value) -> Value {
    let flow = begin(server, kind).await;
    server.step(&flow, step, body).await;
    let proved = prove_by_mail(server, &flow).await.json();
    assert_eq!(proved["state"], "credential", "{proved}");
    proved
}

/// Makes a passkey in a flow that asks for a credential.
async fn make(server: &TestServer, flow: &Value, device: &mut Device) -> Value {
    let options = server.step(flow, "passkey/create_options", json!({})).await;
    assert_eq!(options.status, 200, "{options:?}");
    let made = device.create(&options.json()).await;
    // One that was altered is refused, and uses the ceremony up.
    let wrong = altered(&made, "/response/clientDataJSON", |bytes| bytes[0] ^= 1);
    let refused = server.step(flow, "passkey/create", json!({ "credential": wrong })).await;
    assert!([400, 401].contains(&refused.status.as_u16()), "{refused:?}");
    let failed = records(server, "enrolment.failed").await;
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(failed[0].contains("passkey/create"), "{failed:?}");
    assert!(records(server, "sign_in.failed").await.is_empty(), "it proved nothing");
    let late = server.step(flow, "passkey/create", json!({ "credential": made })).await;
    assert_ne!(late.status, 200, "{late:?}");
    let options = server.step(flow, "passkey/create_options", json!({})).await.json();
    let made = device.create(&options).await;
    let done = server.step(flow, "passkey/create", json!({ "credential": made })).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    done.json()
}

async fn password_is_refused(server: &TestServer, email: &str) {
    let flow = begin(server, "sign_in").await;
    server.step(&flow, "identifier", json!({ "identifier": email })).await;
    let refused = server.step(&flow, "password", json!({ "password": PASSWORD })).await;
    refused.problem(401, "invalid_credentials");
}

#[tokio::test]
async fn a_person_signs_up_with_a_passkey_and_signs_in_by_it() {
    let server = open().await;
    let flow = proved(&server, "sign_up", "profile", json!({ "email": EVA })).await;
    assert!(names(&flow).contains(&"passkey/create_options"), "{flow}");
    let mut device = Device::new(server.issuer());
    let done = make(&server, &flow, &mut device).await;
    assert_eq!(recovery_codes(&done).len(), 10, "they come with the first passkey");
    let session = text(&done["result"]["session_token"]);
    server.code(session, "web", "openid").await;
    assert_eq!(kept(&server, EVA).await.len(), 1);
    let signed_in = server.sign_in_by_passkey(&mut device).await;
    assert_eq!(signed_in["assurance"]["reached"], "aal2", "{signed_in}");
    password_is_refused(&server, EVA).await;
    server.stop().await;
}

#[tokio::test]
async fn a_person_recovers_with_a_passkey_and_signs_in_by_it_alone() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    let flow = proved(&server, "recovery", "identifier", json!({ "identifier": ANA })).await;
    assert!(names(&flow).contains(&"passkey/create_options"), "{flow}");
    let mut device = Device::new(server.issuer());
    let done = make(&server, &flow, &mut device).await;
    assert!(done["result"].get("session_token").is_none(), "{done}");
    let asked = server.authorize_in(&session, "web", &[]).await.json();
    assert_eq!(asked["state"], "identify", "the session is over: {asked}");
    server.sign_in_by_passkey(&mut device).await;
    password_is_refused(&server, ANA).await;
    server.stop().await;
}

#[tokio::test]
async fn a_saved_code_lets_a_new_passkey_replace_the_lost_one() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    let mut lost = Device::new(server.issuer());
    let added = server.add_passkey(&session, &mut lost).await;
    let codes = recovery_codes(&added);
    let flow = proved(&server, "recovery", "identifier", json!({ "identifier": ANA })).await;
    // Mail alone makes no passkey of an account that has one.
    let early = server.step(&flow, "passkey/create_options", json!({})).await;
    early.problem(409, "step_not_available");
    let saved = server.step(&flow, "recovery_code", json!({ "code": codes[0] })).await.json();
    assert!(names(&saved).contains(&"passkey/create_options"), "{saved}");
    let mut device = Device::new(server.issuer());
    make(&server, &flow, &mut device).await;
    let (flow, options) = server.passkey_options().await;
    let refused = server.present(&flow, lost.get(&options).await).await;
    refused.problem(401, "invalid_credentials");
    assert_eq!(kept(&server, ANA).await.len(), 1);
    server.sign_in_by_passkey(&mut device).await;
    password_is_refused(&server, ANA).await;
    server.stop().await;
}
