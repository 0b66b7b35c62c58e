//! Passkeys under attack, over HTTP: every wrong answer is refused in the same words, a ceremony serves
//! once, and no one is locked out.

use crate::{
    outside::Outside,
    passkey_ceremonies::LOOKALIKES,
    passkey_device::{Device, Lies, altered},
    passkeys::{ANA, device_of, id_of, kept, open},
    person::PASSWORD,
    security_log::records,
    support::{TestOptions, TestServer},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro::{http::Links, server::Issuer};
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};
use tokio::task::JoinSet;

/// What is done to an honest answer.
type Change<'a> = (&'static str, &'a dyn Fn(&Value) -> Value);

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
async fn no_page_whose_origin_looks_like_ours_gets_anything() {
    let issuer = Issuer::Named("https://example.com".to_owned());
    let sign_in = Some("https://app.example.org/sign-in".parse().unwrap());
    let links = Links { sign_in, ..Links::default() };
    let options = TestOptions { issuer, links, rates: None, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    let mut device = device_of(&server, ANA).await;
    let session = server.sign_in("bruno@acme.test").await;
    let mut words = BTreeSet::new();
    for origin in LOOKALIKES {
        let lies = Lies { origin: Some(origin), ..Lies::default() };
        let (flow, options) = server.passkey_options().await;
        let answer = device.get_lying(&options, &lies).await;
        let refused = server.present(&flow, answer).await;
        refused.problem(401, "invalid_credentials");
        words.insert(refused.text());
        let flow = server.begin("enroll_passkey", &[("x-session-token", &session)]).await.json();
        let options = server.step(&flow, "passkey/create_options", json!({})).await.json();
        let made = Device::new(server.issuer()).create_lying(&options, &lies).await;
        let refused = server.step(&flow, "passkey/create", json!({ "credential": made })).await;
        refused.problem(401, "invalid_credentials");
        words.insert(refused.text());
    }
    assert_eq!(words.len(), 1, "{words:?}");
    assert!(kept(&server, "bruno@acme.test").await.is_empty());
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
    let store = || server.running().system().store().report();
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
