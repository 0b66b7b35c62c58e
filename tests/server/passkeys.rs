//! Passkeys over HTTP: made and used.

use crate::{
    binary::{Installation, free_port},
    chromium::Chromium,
    http::Answer,
    outside::Outside,
    passkey_device::{Device, Lies},
    person::{PASSWORD, claims, parameter, redirect, text},
    shared::eventually,
    support::{ACME, TestOptions, TestServer},
};
use porteiro::{
    domain::account::{Account, EMAIL_ADDRESSES, Passkey},
    http::Links,
    server::Issuer,
};
use serde_json::{Value, json};
use std::{net::SocketAddr, time::Duration};
use tokio::task::JoinSet;

pub const ANA: &str = "ana@acme.test";

impl Outside {
    pub async fn begin(&self, kind: &str, headers: &[(&str, &str)]) -> Answer {
        self.post_json("/flows", &json!({ "kind": kind }), headers).await
    }

    /// Begins a sign-in and asks for the options of a passkey.
    pub async fn passkey_options(&self) -> (Value, Value) {
        let flow = self.begin("sign_in", &[]).await.json();
        let options = self.step(&flow, "passkey/options", json!({})).await;
        assert_eq!(options.status, 200, "{options:?}");
        (flow, options.json())
    }

    pub async fn present(&self, flow: &Value, credential: Value) -> Answer {
        self.step(flow, "passkey", json!({ "credential": credential })).await
    }

    /// Signs in with a passkey and nothing else.
    pub async fn sign_in_by_passkey(&self, device: &mut Device) -> Value {
        let (flow, options) = self.passkey_options().await;
        let done = self.present(&flow, device.get(&options).await).await;
        assert_eq!(done.json()["state"], "done", "{done:?}");
        done.json()
    }

    /// Adds a passkey in a session and returns what the flow has come to.
    pub async fn add_passkey(&self, session: &str, device: &mut Device) -> Value {
        let flow = self.begin("enroll_passkey", &[("x-session-token", session)]).await.json();
        let options = self.step(&flow, "passkey/create_options", json!({})).await;
        assert_eq!(options.status, 200, "{options:?}");
        let made = device.create(&options.json()).await;
        let done = self.step(&flow, "passkey/create", json!({ "credential": made })).await;
        assert_eq!(done.json()["state"], "done", "{done:?}");
        done.json()
    }
}

/// A server, and a device with a passkey of Ana's.
pub async fn open() -> (TestServer, Device) {
    let server = TestServer::open().await;
    let device = device_of(&server, ANA).await;
    (server, device)
}

pub async fn device_of(server: &TestServer, email: &str) -> Device {
    let mut device = Device::new(server.issuer());
    let session = server.sign_in(email).await;
    server.add_passkey(&session, &mut device).await;
    device
}

fn names(flow: &Value) -> Vec<&str> {
    flow["steps"].as_array().unwrap().iter().map(|step| text(&step["name"])).collect()
}

/// The id of the account of an address.
pub async fn id_of(server: &TestServer, email: &str) -> String {
    let store = server.running().system().store();
    store.find(EMAIL_ADDRESSES, email).await.unwrap().unwrap().1
}

/// The passkeys that the account of an address has.
pub async fn kept(server: &TestServer, email: &str) -> Vec<Passkey> {
    let id = id_of(server, email).await;
    let seen = server.running().system().view::<Account>().peek(&id).await.unwrap();
    let known = seen.machine.known().unwrap();
    known.credentials.passkeys().map(|(passkey, _)| passkey.clone()).collect()
}

#[tokio::test]
async fn a_passkey_is_added_and_signs_in_with_no_identifier() {
    let server = TestServer::open().await;
    let session = server.sign_in(ANA).await;
    let mut device = Device::new(server.issuer());
    let begun = server.begin("enroll_passkey", &[("x-session-token", &session)]).await;
    assert_eq!(begun.status, 201, "{begun:?}");
    let flow = begun.json();
    assert_eq!((text(&flow["kind"]), text(&flow["state"])), ("enroll_passkey", "credential"));
    assert_eq!(names(&flow), ["passkey/create_options", "passkey/create"]);
    let options = server.step(&flow, "passkey/create_options", json!({})).await.json();
    let user = &options["publicKey"]["user"];
    assert_eq!((text(&user["name"]), text(&user["displayName"])), (ANA, "Ana"));
    let made = device.create(&options).await;
    let body = json!({ "credential": made, "name": " My\u{202e} phone " });
    let done = server.step(&flow, "passkey/create", body).await;
    assert_eq!((done.status.as_u16(), text(&done.json()["state"])), (200, "done"), "{done:?}");
    assert_eq!(done.json()["result"]["recovery_codes"].as_array().unwrap().len(), 10);
    let again = server.get(&format!("/flows/{}", text(&flow["id"]))).await.json();
    assert!(again["state"] == "done" && again.get("result").is_none(), "shown once: {again}");
    let passkeys = kept(&server, ANA).await;
    assert_eq!((passkeys.len(), passkeys[0].name.as_str()), (1, "My phone"));
    assert!(passkeys[0].backed_up && passkeys[0].last_used_at.is_none());

    let flow = server.begin("sign_in", &[]).await.json();
    assert_eq!(names(&flow), ["identifier", "passkey/options", "passkey"]);
    let options = server.step(&flow, "passkey/options", json!({})).await.json();
    assert_eq!(options["publicKey"]["allowCredentials"], json!([]));
    let done = server.present(&flow, device.get(&options).await).await.json();
    assert_eq!(done["state"], "done", "{done}");
    assert_eq!(done["assurance"]["reached"], "aal2");
    assert_eq!(done["assurance"]["methods"], json!(["swk", "mfa"]));
    assert!(done["result"]["session_token"].is_string());
    assert!(kept(&server, ANA).await[0].last_used_at.is_some());
    server.stop().await;
}

#[tokio::test]
async fn a_person_is_told_of_a_new_passkey_by_mail() {
    let options = TestOptions { mailbox: true, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    device_of(&server, ANA).await;
    let mut mails = Vec::new();
    eventually("the mail", async || {
        mails = server.get("/mailbox").await.json()["items"].as_array().unwrap().clone();
        !mails.is_empty()
    })
    .await;
    assert_eq!((mails.len(), &mails[0]["to"]), (1, &json!(ANA)), "{mails:?}");
    assert!(mails[0].to_string().contains("passkey"), "{mails:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_client_learns_how_the_person_signed_in() {
    let (server, mut device) = open().await;
    let flow = server.authorize("web", &[("acr_values", "aal2")]).await.json();
    let options = server.step(&flow, "passkey/options", json!({})).await.json();
    let done = server.present(&flow, device.get(&options).await).await;
    let code = parameter(&redirect(&done), "code").unwrap();
    let tokens = server.redeem("web", &code).await.json();
    let claims = claims(&tokens["id_token"]);
    assert_eq!((&claims["acr"], &claims["amr"]), (&json!("aal2"), &json!(["swk", "mfa"])));
    server.stop().await;
}

#[tokio::test]
async fn an_account_has_several_passkeys_and_no_device_two() {
    let (server, mut phone) = open().await;
    let session = server.sign_in_by_passkey(&mut phone).await;
    let session = text(&session["result"]["session_token"]).to_owned();
    let mut laptop = Device::new(server.issuer());
    let added = server.add_passkey(&session, &mut laptop).await;
    assert!(added["result"].get("recovery_codes").is_none(), "the first came with them: {added}");
    assert_eq!(kept(&server, ANA).await.len(), 2);
    for device in [&mut phone, &mut laptop] {
        server.sign_in_by_passkey(device).await;
        let flow = server.begin("enroll_passkey", &[("x-session-token", &session)]).await.json();
        let options = server.step(&flow, "passkey/create_options", json!({})).await.json();
        assert_eq!(options["publicKey"]["excludeCredentials"].as_array().unwrap().len(), 2);
        assert_eq!(device.create_lying(&options, &Lies::default()).await, None);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_passkey_is_called_after_its_device_where_the_person_gave_no_name() {
    let server = TestServer::open().await;
    let agents = [
        (ANA, "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Safari/604.1", "iPhone"),
        ("bruno@acme.test", "Mozilla/5.0 (Linux; Android 16) Chrome/156.0", "Android"),
        ("clara@nowhere.test", "curl/8.0", "Passkey"),
    ];
    for (email, agent, name) in agents {
        let session = server.sign_in(email).await;
        let flow = server.begin("enroll_passkey", &[("x-session-token", &session)]).await.json();
        let options = server.step(&flow, "passkey/create_options", json!({})).await.json();
        let made = Device::new(server.issuer()).create(&options).await;
        let path = format!("/flows/{}/passkey/create", text(&flow["id"]));
        let body = json!({ "credential": made });
        let done = server.post_json(&path, &body, &[("user-agent", agent)]).await;
        assert_eq!(done.json()["state"], "done", "{done:?}");
        assert_eq!(kept(&server, email).await[0].name, name);
    }
    server.stop().await;
}

#[tokio::test]
async fn adding_a_passkey_needs_a_session_and_a_fresh_proof() {
    let server = TestServer::open().await;
    server.begin("enroll_passkey", &[]).await.problem(401, "session_required");
    let session = server.sign_in(ANA).await;
    server.clock.advance(Duration::from_mins(16));
    let flow = server.begin("enroll_passkey", &[("x-session-token", &session)]).await.json();
    assert_eq!((text(&flow["state"]), names(&flow)), ("credential", vec!["password"]));
    let early = server.step(&flow, "passkey/create_options", json!({})).await;
    early.problem(409, "step_not_available");
    let proved = server.step(&flow, "password", json!({ "password": PASSWORD })).await.json();
    assert_eq!(names(&proved), ["passkey/create_options", "passkey/create"], "{proved}");
    let other = server.sign_in(ANA).await;
    let early_bird = server.begin("enroll_passkey", &[("x-session-token", &other)]).await.json();
    let mut device = Device::new(server.issuer());
    let options = server.step(&flow, "passkey/create_options", json!({})).await.json();
    let made = device.create(&options).await;
    let done = server.step(&flow, "passkey/create", json!({ "credential": made })).await.json();
    assert_eq!(done["state"], "done", "{done}");
    // A flow that began before that, and with less, is of no use any more.
    let options = server.step(&early_bird, "passkey/create_options", json!({})).await.json();
    let made = Device::new(server.issuer()).create(&options).await;
    let late = server.step(&early_bird, "passkey/create", json!({ "credential": made })).await;
    late.problem(409, "account_changed");
    // From now on the account has two factors, and one is not enough.
    let session = server.sign_in(ANA).await;
    let flow = server.begin("enroll_passkey", &[("x-session-token", &session)]).await.json();
    let early = server.step(&flow, "passkey/create_options", json!({})).await;
    early.problem(409, "step_not_available");
    let options = server.step(&flow, "passkey/options", json!({})).await.json();
    let proved = server.present(&flow, device.get(&options).await).await.json();
    assert_eq!(names(&proved), ["passkey/create_options", "passkey/create"], "{proved}");
    server.stop().await;
}

#[tokio::test]
async fn a_passkey_is_a_second_factor_and_a_step_up_of_its_own_account_alone() {
    let (server, mut device) = open().await;
    let mut of_bruno = device_of(&server, "bruno@acme.test").await;
    let flow = server.authorize("web", &[("acr_values", "aal2")]).await.json();
    let asked = server.prove(&flow, ANA).await.json();
    let offered = vec!["passkey/options", "passkey", "recovery_code"];
    assert_eq!((text(&asked["state"]), names(&asked)), ("second_factor", offered));
    let options = server.step(&flow, "passkey/options", json!({})).await.json();
    let answer = of_bruno.get(&options).await;
    server.present(&flow, answer).await.problem(401, "invalid_credentials");
    let options = server.step(&flow, "passkey/options", json!({})).await.json();
    let done = server.present(&flow, device.get(&options).await).await;
    assert!(parameter(&redirect(&done), "code").is_some());
    assert_eq!(done.json()["assurance"]["methods"], json!(["pwd", "swk", "mfa"]));
    server.stop().await;
}

#[tokio::test]
async fn one_passkey_signs_in_on_many_devices_at_once() {
    let (server, device) = open().await;
    let mut racers = JoinSet::new();
    for _ in 0..16 {
        let (outside, mut device) = (Outside { address: server.address }, device.copy());
        racers.spawn(async move { outside.sign_in_by_passkey(&mut device).await });
    }
    assert_eq!(racers.join_all().await.len(), 16);
    server.stop().await;
}

#[tokio::test]
async fn a_sign_in_by_passkey_is_two_commits() {
    let (server, mut device) = open().await;
    server.quiet().await;
    let before = server.running().system().store().report().commits;
    let flow = server.authorize("web", &[]).await.json();
    let options = server.step(&flow, "passkey/options", json!({})).await.json();
    let done = server.present(&flow, device.get(&options).await).await;
    assert!(parameter(&redirect(&done), "code").is_some());
    server.quiet().await;
    let commits = server.running().system().store().report().commits - before;
    assert!(commits <= 2, "{commits} commits, those that no one waits for included");
    server.stop().await;
}

#[tokio::test]
async fn an_issuer_without_a_domain_serves_no_passkeys() {
    let issuer = Issuer::Named("http://127.0.0.1:8080".to_owned());
    let server = TestServer::open_in(TestOptions { issuer, ..TestOptions::default() }).await;
    let flow = server.begin("sign_in", &[]).await.json();
    assert_eq!(names(&flow), ["identifier"]);
    server.step(&flow, "passkey/options", json!({})).await.problem(404, "not_found");
    server.step(&flow, "passkey", json!({ "credential": {} })).await.problem(404, "not_found");
    assert_eq!(server.get("/.well-known/webauthn").await.status, 404);
    let session = server.sign_in(ANA).await;
    let begun = server.begin("enroll_passkey", &[("x-session-token", &session)]).await;
    begun.problem(400, "invalid_request");
    server.stop().await;
}

#[tokio::test]
async fn browsers_learn_which_pages_may_use_our_passkeys() {
    let page = |url: &str| Some(url.parse().unwrap());
    let links = Links {
        sign_in: page("https://app.example.com/sign-in"),
        device: page("https://app.example.com/device"),
        approval: page("https://desk.example.org/approve"),
        ..Links::default()
    };
    let server = TestServer::open_in(TestOptions { links, ..TestOptions::default() }).await;
    let answer = server.get("/.well-known/webauthn").await;
    assert_eq!(
        (answer.status.as_u16(), answer.header("content-type")),
        (200, Some("application/json"))
    );
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    let origins = [server.issuer(), "https://app.example.com", "https://desk.example.org"];
    assert_eq!(answer.json(), json!({ "origins": origins }));
    // A page of such an origin signs in; one of no such origin was refused above.
    let mut device = Device::new("https://desk.example.org");
    let session = server.sign_in(ANA).await;
    server.add_passkey(&session, &mut device).await;
    server.sign_in_by_passkey(&mut device).await;
    server.stop().await;
}

#[tokio::test]
async fn a_ceremony_goes_on_on_another_node_when_its_own_has_died() {
    let installation = Installation::new().await;
    installation.apply(ACME);
    let first = installation.serve();
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let second = installation.serve_at(address);
    let (one, other) = (Outside { address: installation.address }, Outside { address });
    let mut device = Device::new(&format!("http://localhost:{}", installation.address.port()));
    let session = one.sign_in(ANA).await;
    let flow = one.begin("enroll_passkey", &[("x-session-token", &session)]).await.json();
    let options = one.step(&flow, "passkey/create_options", json!({})).await.json();
    let made = device.create(&options).await;
    let done = other.step(&flow, "passkey/create", json!({ "credential": made })).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    let (flow, options) = one.passkey_options().await;
    first.signal("-KILL");
    drop(first);
    let done = other.present(&flow, device.get(&options).await).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    drop(second);
}

#[tokio::test]
async fn a_real_browser_adds_a_passkey_and_signs_in_with_it() {
    let Some(browser) = Chromium::start().await else { return };
    let server = TestServer::open().await;
    browser.open(&format!("{}/.well-known/webauthn", server.issuer())).await;
    browser.add_authenticator().await;
    let session = server.sign_in(ANA).await;
    let flow = server.begin("enroll_passkey", &[("x-session-token", &session)]).await.json();
    let options = server.step(&flow, "passkey/create_options", json!({})).await.json();
    let made = browser.create(&options).await;
    let done = server.step(&flow, "passkey/create", json!({ "credential": made })).await;
    assert_eq!(done.json()["state"], "done", "{made}: {done:?}");
    let (flow, options) = server.passkey_options().await;
    let answer = browser.get(&options).await;
    let done = server.present(&flow, answer.clone()).await;
    assert_eq!(done.json()["state"], "done", "{answer}: {done:?}");
    assert_eq!(done.json()["assurance"]["reached"], "aal2");
    // It knows by the list that was sent with the options that it has one already.
    let session = text(&done.json()["result"]["session_token"]).to_owned();
    let flow = server.begin("enroll_passkey", &[("x-session-token", &session)]).await.json();
    let options = server.step(&flow, "passkey/create_options", json!({})).await.json();
    let refused = browser.create(&options).await;
    assert!(text(&refused["error"]).starts_with("InvalidStateError"), "{refused}");
    // A page of another origin gets nothing from it.
    let elsewhere = server.issuer().replace("localhost", "127.0.0.1");
    browser.open(&format!("{elsewhere}/.well-known/webauthn")).await;
    let (_, options) = server.passkey_options().await;
    let refused = browser.get(&options).await;
    assert!(text(&refused["error"]).starts_with("SecurityError"), "{refused}");
    server.stop().await;
}
