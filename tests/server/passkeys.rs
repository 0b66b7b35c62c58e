//! Passkeys over HTTP: made, used, and attacked.

use crate::{
    binary::{Installation, free_port},
    chromium::Chromium,
    http::Answer,
    outside::Outside,
    passkey_device::{Device, Lies, altered},
    person::{PASSWORD, claims, parameter, redirect, text},
    security_log::records,
    shared::eventually,
    support::{ACME, TestOptions, TestServer},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro::{
    domain::account::{Account, EMAIL_ADDRESSES, Passkey},
    http::Links,
    server::Issuer,
};
use serde_json::{Value, json};
use std::{net::SocketAddr, time::Duration};
use tokio::task::JoinSet;

const ANA: &str = "ana@acme.test";

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
async fn open() -> (TestServer, Device) {
    let server = TestServer::open().await;
    let device = device_of(&server, ANA).await;
    (server, device)
}

async fn device_of(server: &TestServer, email: &str) -> Device {
    let mut device = Device::new(server.issuer());
    let session = server.sign_in(email).await;
    server.add_passkey(&session, &mut device).await;
    device
}

fn names(flow: &Value) -> Vec<&str> {
    flow["steps"].as_array().unwrap().iter().map(|step| text(&step["name"])).collect()
}

/// The id of the account of an address.
async fn id_of(server: &TestServer, email: &str) -> String {
    let store = server.running.system().store();
    store.find(EMAIL_ADDRESSES, email).await.unwrap().unwrap().1
}

/// The passkeys that the account of an address has.
async fn kept(server: &TestServer, email: &str) -> Vec<Passkey> {
    let id = id_of(server, email).await;
    let seen = server.running.system().view::<Account>().peek(&id).await.unwrap();
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

/// The answer with another value at this path.
fn with(answer: &Value, path: &str, value: Value) -> Value {
    let mut changed = answer.clone();
    *changed.pointer_mut(path).unwrap() = value;
    changed
}

#[tokio::test]
async fn a_wrong_answer_is_refused_in_the_same_words_whatever_is_wrong_with_it() {
    let (server, mut device) = open().await;
    let mut of_bruno = device_of(&server, "bruno@acme.test").await;
    let lies = [
        Lies { origin: Some("https://evil.test"), ..Lies::default() },
        Lies { rp_id: Some("evil.test"), ..Lies::default() },
        Lies { kind: Some("webauthn.create"), ..Lies::default() },
        Lies { framed: true, ..Lies::default() },
        Lies { unverified: true, ..Lies::default() },
    ];
    let mut refused = Vec::new();
    for lies in &lies {
        let (flow, options) = server.passkey_options().await;
        let answer = device.get_lying(&options, lies).await;
        refused.push((format!("{lies:?}"), server.present(&flow, answer).await));
    }
    let (_, options) = server.passkey_options().await;
    let bruno = of_bruno.get(&options).await["response"]["userHandle"].clone();
    let (handle, signature) = ("/response/userHandle", "/response/signature");
    let nobody = Value::from(URL_SAFE_NO_PAD.encode([7; 16]));
    type Change<'a> = (&'static str, &'a dyn Fn(&Value) -> Value);
    let changes: [Change<'_>; 8] = [
        ("another signature", &|it| altered(it, signature, |bytes| bytes[9] ^= 1)),
        ("cut off", &|it| altered(it, signature, |bytes| bytes.truncate(20))),
        ("large", &|it| altered(it, signature, |bytes| bytes.resize(20_000, 0))),
        ("of another account", &|it| with(it, handle, bruno.clone())),
        ("of no account", &|it| with(it, handle, nobody.clone())),
        ("no handle", &|it| with(it, handle, Value::Null)),
        ("of no passkey", &|it| with(it, "/rawId", "AAAA".into())),
        ("nothing", &|_| json!({})),
    ];
    for (what, change) in changes {
        let (flow, options) = server.passkey_options().await;
        let answer = change(&device.get(&options).await);
        refused.push((what.to_owned(), server.present(&flow, answer).await));
    }
    for (what, answer) in &refused {
        answer.problem(401, "invalid_credentials");
        assert_eq!(answer.body, refused[0].1.body, "{what}");
    }
    let (flow, _) = server.passkey_options().await;
    let shapeless = json!({ "credential": "all of it" });
    server.step(&flow, "passkey", shapeless).await.problem(400, "invalid_request");
    let huge = json!({ "credential": { "id": "x".repeat(70_000) } });
    assert_eq!(server.step(&flow, "passkey", huge).await.status, 413);
    server.sign_in_by_passkey(&mut device).await;
    server.stop().await;
}

#[tokio::test]
async fn an_answer_tells_neither_by_words_nor_by_work_whose_account_it_names() {
    let keys_every = Duration::from_hours(1);
    let server = TestServer::open_in(TestOptions { keys_every, ..TestOptions::default() }).await;
    let mut device = device_of(&server, ANA).await;
    device_of(&server, "bruno@acme.test").await;
    server.quiet().await;
    let store = || server.running.system().store().report();
    let mut seen = Vec::new();
    // An account that has passkeys, and none at all; of the passkeys neither is one.
    let bruno = id_of(&server, "bruno@acme.test").await;
    for account in [bruno, "00000000-0000-4000-8000-000000000000".to_owned()] {
        let (flow, options) = server.passkey_options().await;
        let handle = URL_SAFE_NO_PAD
            .encode(account.replace('-', "").as_bytes().chunks(2).map(hex).collect::<Vec<u8>>());
        let answer = with(&device.get(&options).await, "/response/userHandle", handle.into());
        let before = store();
        let refused = server.present(&flow, answer).await;
        let after = store();
        seen.push((refused.text(), after.reads - before.reads, after.commits - before.commits));
    }
    assert_eq!(seen[0], seen[1]);
    server.stop().await;
}

fn hex(digits: &[u8]) -> u8 {
    u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap()
}

#[tokio::test]
async fn a_ceremony_serves_for_one_answer() {
    let (server, mut device) = open().await;
    // A wrong answer uses it up.
    let (flow, options) = server.passkey_options().await;
    let honest = device.get(&options).await;
    let wrong = altered(&honest, "/response/signature", |bytes| bytes[9] ^= 1);
    server.present(&flow, wrong).await.problem(401, "invalid_credentials");
    server.present(&flow, honest).await.problem(401, "invalid_credentials");
    // Options that are asked for again void the former.
    let (flow, first) = server.passkey_options().await;
    let second = server.step(&flow, "passkey/options", json!({})).await.json();
    assert_ne!(first["publicKey"]["challenge"], second["publicKey"]["challenge"]);
    let late = device.get(&first).await;
    server.present(&flow, late).await.problem(401, "invalid_credentials");
    // An answer of one flow is none in another.
    let (_, options) = server.passkey_options().await;
    let (other, _) = server.passkey_options().await;
    let astray = device.get(&options).await;
    server.present(&other, astray).await.problem(401, "invalid_credentials");
    // Nor does one come back in a flow where nothing was asked.
    let flow = server.begin("sign_in", &[]).await.json();
    let replayed = device.get(&options).await;
    server.present(&flow, replayed).await.problem(401, "invalid_credentials");
    server.stop().await;
}

#[tokio::test]
async fn a_flow_that_is_over_takes_no_second_answer() {
    let (server, mut device) = open().await;
    let (flow, options) = server.passkey_options().await;
    let answer = device.get(&options).await;
    let done = server.present(&flow, answer.clone()).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    server.present(&flow, answer).await.problem(409, "flow_over");
    let again = server.step(&flow, "passkey/options", json!({})).await;
    again.problem(409, "flow_over");
    server.stop().await;
}

#[tokio::test]
async fn of_many_answers_at_once_one_signs_in() {
    let (server, mut device) = open().await;
    let (flow, options) = server.passkey_options().await;
    let answer = device.get(&options).await;
    let mut racers = JoinSet::new();
    for _ in 0..20 {
        let (outside, flow, answer) =
            (Outside { address: server.address }, flow.clone(), answer.clone());
        racers.spawn(async move { outside.present(&flow, answer).await });
    }
    let answers = racers.join_all().await;
    let won = answers.iter().filter(|answer| answer.json()["result"]["session_token"].is_string());
    assert_eq!(won.count(), 1, "{answers:?}");
    assert!(answers.iter().all(|answer| [200, 401, 409].contains(&answer.status.as_u16())));
    server.stop().await;
}

#[tokio::test]
async fn one_passkey_signs_in_on_two_devices_at_once() {
    let (server, device) = open().await;
    let mut racers = JoinSet::new();
    for _ in 0..8 {
        let (outside, mut device) = (Outside { address: server.address }, device.copy());
        racers.spawn(async move { outside.sign_in_by_passkey(&mut device).await });
    }
    assert_eq!(racers.join_all().await.len(), 8);
    server.stop().await;
}

#[tokio::test]
async fn a_sign_in_by_passkey_is_three_commits() {
    let (server, mut device) = open().await;
    server.quiet().await;
    let before = server.running.system().store().report().commits;
    let flow = server.authorize("web", &[]).await.json();
    let options = server.step(&flow, "passkey/options", json!({})).await.json();
    let done = server.present(&flow, device.get(&options).await).await;
    assert!(parameter(&redirect(&done), "code").is_some());
    server.quiet().await;
    let commits = server.running.system().store().report().commits - before;
    assert!(commits <= 3, "{commits} commits, those that no one waits for included");
    server.stop().await;
}

#[tokio::test]
async fn a_person_who_is_locked_out_of_their_password_has_their_passkey() {
    let (server, mut device) = open().await;
    let attempt = async |password: &str| {
        let flow = server.begin("sign_in", &[]).await.json();
        server.step(&flow, "identifier", json!({ "identifier": ANA })).await;
        server.step(&flow, "password", json!({ "password": password })).await
    };
    for _ in 0..10 {
        attempt("wrong").await.problem(401, "invalid_credentials");
    }
    assert_eq!(attempt(PASSWORD).await.status, 429);
    // However many wrong answers name her passkey.
    for _ in 0..20 {
        let (flow, options) = server.passkey_options().await;
        let honest = device.get(&options).await;
        let wrong = altered(&honest, "/response/signature", |bytes| bytes[9] ^= 1);
        server.present(&flow, wrong).await.problem(401, "invalid_credentials");
    }
    server.sign_in_by_passkey(&mut device).await;
    server.quiet().await;
    assert_eq!(attempt(PASSWORD).await.status, 200, "and nothing is held against her any more");
    server.stop().await;
}

#[tokio::test]
async fn ten_wrong_answers_end_a_flow() {
    let (server, mut device) = open().await;
    let flow = server.begin("sign_in", &[]).await.json();
    for _ in 0..10 {
        let options = server.step(&flow, "passkey/options", json!({})).await.json();
        let honest = device.get(&options).await;
        let wrong = altered(&honest, "/response/signature", |bytes| bytes[9] ^= 1);
        server.present(&flow, wrong).await.problem(401, "invalid_credentials");
    }
    server.step(&flow, "passkey/options", json!({})).await.problem(409, "flow_over");
    server.stop().await;
}

#[tokio::test]
async fn a_wrong_registration_adds_nothing() {
    let server = TestServer::open().await;
    let session = server.sign_in(ANA).await;
    let flow = server.begin("enroll_passkey", &[("x-session-token", &session)]).await.json();
    let mut device = Device::new(server.issuer());
    let lies = [
        Lies { origin: Some("https://evil.test"), ..Lies::default() },
        Lies { rp_id: Some("evil.test"), ..Lies::default() },
        Lies { unverified: true, ..Lies::default() },
    ];
    for lies in lies {
        let options = server.step(&flow, "passkey/create_options", json!({})).await.json();
        let made = device.create_lying(&options, &lies).await.unwrap();
        let refused = server.step(&flow, "passkey/create", json!({ "credential": made })).await;
        refused.problem(401, "invalid_credentials");
    }
    // What was made for one person's flow is nothing in another's.
    let options = server.step(&flow, "passkey/create_options", json!({})).await.json();
    let made = device.create(&options).await;
    let session = server.sign_in("bruno@acme.test").await;
    let other = server.begin("enroll_passkey", &[("x-session-token", &session)]).await.json();
    server.step(&other, "passkey/create_options", json!({})).await;
    let astray = server.step(&other, "passkey/create", json!({ "credential": made })).await;
    astray.problem(401, "invalid_credentials");
    let large = altered(&made, "/response/attestationObject", |bytes| bytes.resize(20_000, 0));
    let refused = server.step(&flow, "passkey/create", json!({ "credential": large })).await;
    refused.problem(401, "invalid_credentials");
    assert!(
        kept(&server, ANA).await.is_empty() && kept(&server, "bruno@acme.test").await.is_empty()
    );
    server.stop().await;
}

#[tokio::test]
async fn a_counter_that_did_not_grow_is_in_the_security_log() {
    let server = TestServer::open().await;
    let mut device = Device::counting(server.issuer());
    let session = server.sign_in(ANA).await;
    server.add_passkey(&session, &mut device).await;
    let mut copy = device.copy();
    server.sign_in_by_passkey(&mut device).await;
    let event = "credential.passkey_counter_regressed";
    assert!(records(&server, event).await.is_empty());
    server.sign_in_by_passkey(&mut copy).await;
    let written = records(&server, event).await;
    assert_eq!(written.len(), 1);
    assert!(written[0].contains(&kept(&server, ANA).await[0].id), "{written:?}");
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
