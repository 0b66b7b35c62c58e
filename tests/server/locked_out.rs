//! Others guess, and the person gets in all the same: by codes, links, a known browser, or their operator
//! (review 2, A4).

use crate::{
    authenticator::Authenticator,
    browser::Browser,
    database::Database,
    mails::{begin, code, link, mails, sent, wait_for},
    passwords::unlocked,
    person::{PASSWORD, parameter, text},
    support::{TestOptions, TestServer},
};
use porteiro::domain::Clock as _;
use serde_json::{Value, json};
use std::time::Duration;

const ANA: &str = "ana@acme.test";
const DORA: &str = "dora@acme.test";
/// Has no password: mail is the way in.
const RUI: &str = "rui@acme.test";

async fn open() -> TestServer {
    open_in(TestOptions { mailbox: true, ..TestOptions::default() }).await
}

/// Without a pace, so that a hundred failures take no time.
async fn open_unpaced() -> TestServer {
    open_in(TestOptions { mailbox: true, rates: None, ..TestOptions::default() }).await
}

async fn open_in(options: TestOptions) -> TestServer {
    let server = TestServer::open_in(options).await;
    server.apply("[[account]]\nemail = \"rui@acme.test\"\n").await;
    server
}

async fn named(server: &TestServer, kind: &str, email: &str) -> Value {
    let flow = begin(server, kind).await;
    server.step(&flow, "identifier", json!({ "identifier": email })).await.json()
}

/// Tries ten wrong codes or tokens in a flow.
async fn guess(server: &TestServer, flow: &Value, step: &str) {
    for number in 0..10 {
        let body = json!({ "code": format!("00000{number}"), "token": format!("wrong {number}") });
        let refused = server.step(flow, step, body).await;
        refused.problem(401, "invalid_credentials");
    }
}

/// A hundred wrong codes, in flows that were sent one each.
async fn guess_sent_codes(server: &TestServer, email: &str) {
    for _ in 0..10 {
        let flow = named(server, "sign_in", email).await;
        let right = code(&sent(server, &flow, "email_code/send").await);
        for wrong in (0..).map(|number| format!("{number:06}")).filter(|one| *one != right).take(10)
        {
            let refused = server.step(&flow, "email_code", json!({ "code": wrong })).await;
            refused.problem(401, "invalid_credentials");
        }
    }
}

/// How many throttles there are.
async fn throttles(server: &TestServer) -> usize {
    server.quiet().await;
    let mut database = Database::at(&server.url).await;
    let rows = database.texts::<1>("SELECT id FROM entities WHERE kind = 'throttle'").await;
    rows.len()
}

/// Signs in by mail from anywhere.
async fn by_code(server: &TestServer, email: &str) -> Value {
    let flow = named(server, "sign_in", email).await;
    let right = code(&sent(server, &flow, "email_code/send").await);
    server.step(&flow, "email_code", json!({ "code": right })).await.json()
}

async fn by_link(server: &TestServer, kind: &str, email: &str) -> Value {
    let flow = named(server, kind, email).await;
    let token = parameter(&link(&sent(server, &flow, "magic_link/send").await), "token");
    server.step(&flow, "magic_link", json!({ "token": token })).await.json()
}

#[tokio::test]
async fn codes_and_tokens_that_were_never_sent_are_held_against_no_person() {
    let server = open().await;
    for kind in ["sign_in", "recovery"] {
        for step in ["email_code", "magic_link"] {
            for _ in 0..3 {
                guess(&server, &named(&server, kind, ANA).await, step).await;
            }
        }
    }
    assert_eq!(throttles(&server).await, 0);
    assert!(mails(&server).await.is_empty(), "nothing was sent");
    assert_eq!(by_code(&server, ANA).await["state"], "done");
    assert_eq!(by_link(&server, "recovery", ANA).await["state"], "credential");
    server.stop().await;
}

#[tokio::test]
async fn wrong_tokens_of_a_link_close_nothing_however_many() {
    let server = open_unpaced().await;
    for _ in 0..11 {
        let flow = named(&server, "sign_in", ANA).await;
        sent(&server, &flow, "magic_link/send").await;
        guess(&server, &flow, "magic_link").await;
        // A flow bears ten, as ever.
        let over = server.step(&flow, "magic_link", json!({ "token": "x" })).await;
        over.problem(409, "flow_over");
    }
    assert_eq!(by_link(&server, "sign_in", ANA).await["state"], "done");
    assert_eq!(by_code(&server, ANA).await["state"], "done");
    server.stop().await;
}

#[tokio::test]
async fn a_hundred_wrong_codes_close_the_code_and_neither_the_link_nor_a_known_browser() {
    let server = open_unpaced().await;
    // A browser that came in by a link, of a person without a password.
    let mut browser = Browser { server: &server, cookies: Vec::new() };
    let flow = browser.post("/flows", &json!({ "kind": "sign_in" })).await.json();
    let path = |flow: &Value, step: &str| format!("/flows/{}/{step}", text(&flow["id"]));
    browser.post(&path(&flow, "identifier"), &json!({ "identifier": RUI })).await;
    browser.post(&path(&flow, "magic_link/send"), &json!({})).await;
    let token = parameter(&link(&wait_for(&server, 1).await[0]), "token");
    let done = browser.post(&path(&flow, "magic_link"), &json!({ "token": token })).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    browser.forget_session();

    guess_sent_codes(&server, RUI).await;
    let flow = named(&server, "sign_in", RUI).await;
    let right = code(&sent(&server, &flow, "email_code/send").await);
    let refused = server.step(&flow, "email_code", json!({ "code": right })).await;
    refused.problem(429, "too_many_requests");
    for kind in ["sign_in", "recovery"] {
        let state = by_link(&server, kind, RUI).await["state"].clone();
        assert!(state == "done" || state == "credential", "{kind}: {state}");
    }
    guess_sent_codes(&server, RUI).await;
    let flow = browser.post("/flows", &json!({ "kind": "sign_in" })).await.json();
    browser.post(&path(&flow, "identifier"), &json!({ "identifier": RUI })).await;
    let before = mails(&server).await.len();
    browser.post(&path(&flow, "email_code/send"), &json!({})).await;
    let right = code(&wait_for(&server, before + 1).await[0]);
    let done = browser.post(&path(&flow, "email_code"), &json!({ "code": right })).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    server.stop().await;
}

#[tokio::test]
async fn an_operator_unlocks_codes_that_were_sent_as_well() {
    let server = open_unpaced().await;
    guess_sent_codes(&server, ANA).await;
    assert_eq!(by_code(&server, ANA).await["status"], 429);
    let done = unlocked(&server, ANA).await.unwrap();
    assert_eq!(done.authenticators, ["email_code", "message"]);
    server.clock.advance(Duration::from_secs(1));
    assert_eq!(by_code(&server, ANA).await["state"], "done");
    server.stop().await;
}

#[tokio::test]
async fn a_known_browser_is_asked_for_its_code_though_others_who_know_the_password_have_guessed() {
    let server = open_unpaced().await;
    let mut browser = Browser { server: &server, cookies: Vec::new() };
    server.clock.advance(Duration::from_mins(1));
    let asked = browser.password(DORA, PASSWORD).await.json();
    let totp = |server: &TestServer| Authenticator::of_dora().code(server.clock.now());
    let path = format!("/flows/{}/totp", text(&asked["id"]));
    let done = browser.post(&path, &json!({ "code": totp(&server) })).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    browser.forget_session();
    server.clock.advance(Duration::from_mins(1));
    for _ in 0..10 {
        let thief = server.asks_second_factor(DORA).await;
        for _ in 0..10 {
            server.step(&thief, "totp", json!({ "code": "wrong" })).await;
        }
    }
    let thief = server.asks_second_factor(DORA).await;
    let refused = server.step(&thief, "totp", json!({ "code": totp(&server) })).await;
    refused.problem(429, "too_many_requests");
    let asked = browser.password(DORA, PASSWORD).await.json();
    let path = format!("/flows/{}/totp", text(&asked["id"]));
    let done = browser.post(&path, &json!({ "code": totp(&server) })).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_browser_is_not_known_any_more_after_a_recovery_that_leaves_no_password() {
    let server = open_unpaced().await;
    let mut browser = Browser { server: &server, cookies: Vec::new() };
    assert_eq!(browser.password(ANA, PASSWORD).await.json()["state"], "done");
    browser.forget_session();
    let flow = named(&server, "recovery", ANA).await;
    crate::mails::prove_by_mail(&server, &flow).await;
    let options = server.step(&flow, "passkey/create_options", json!({})).await.json();
    let mut device = crate::passkey_device::Device::new(server.issuer());
    let made = device.create(&options).await;
    let done = server.step(&flow, "passkey/create", json!({ "credential": made })).await.json();
    assert_eq!(done["state"], "done", "{done}");
    guess_sent_codes(&server, ANA).await;
    let flow = browser.post("/flows", &json!({ "kind": "sign_in" })).await.json();
    let path = |step: &str| format!("/flows/{}/{step}", text(&flow["id"]));
    browser.post(&path("identifier"), &json!({ "identifier": ANA })).await;
    let before = mails(&server).await.len();
    browser.post(&path("email_code/send"), &json!({})).await;
    let right = code(&wait_for(&server, before + 1).await[0]);
    let refused = browser.post(&path("email_code"), &json!({ "code": right })).await;
    refused.problem(429, "too_many_requests");
    // The person has their passkey, and comes in by it from anywhere; that opens the rest.
    server.sign_in_by_passkey(&mut device).await;
    server.quiet().await;
    assert_eq!(by_code(&server, ANA).await["state"], "done");
    server.stop().await;
}
