//! A person who cannot sign in any more gets their account back, and no one else does.

use crate::{
    authenticator::{Authenticator, recovery_codes},
    http::Answer,
    mails::{begin, link, mails, names, prove_by_mail, wait_for},
    outside::Outside,
    person::{PASSWORD, parameter, text},
    support::{TestOptions, TestServer},
};
use porteiro::domain::Clock as _;
use serde_json::{Value, json};
use std::time::Duration;

pub const NEW: &str = "a long enough new password";
const ANA: &str = "ana@acme.test";
const DORA: &str = "dora@acme.test";

async fn open() -> TestServer {
    let keys_every = Duration::from_hours(1);
    let options = TestOptions { mailbox: true, keys_every, ..TestOptions::default() };
    TestServer::open_in(options).await
}

async fn named(server: &TestServer, email: &str) -> Value {
    let flow = begin(server, "recovery").await;
    assert_eq!((text(&flow["state"]), names(&flow)), ("identify", vec!["identifier"]));
    server.step(&flow, "identifier", json!({ "identifier": email })).await.json()
}

/// Goes as far as mail leads.
async fn recovering(server: &TestServer, email: &str) -> Value {
    let flow = named(server, email).await;
    assert_eq!(flow["state"], "proof", "{flow}");
    let proved = prove_by_mail(server, &flow).await.json();
    assert_eq!(proved["state"], "credential", "{proved}");
    proved
}

pub async fn choose(server: &Outside, flow: &Value) -> Answer {
    server.step(flow, "new_password", json!({ "password": NEW })).await
}

pub async fn sign_in_with(server: &TestServer, email: &str, password: &str) -> Answer {
    let flow = begin(server, "sign_in").await;
    server.step(&flow, "identifier", json!({ "identifier": email })).await;
    server.step(&flow, "password", json!({ "password": password })).await
}

#[tokio::test]
async fn a_recovered_account_has_a_new_password_and_nothing_of_before() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    let scope = "openid offline_access invoices:read";
    let code = server.code(&session, "web", scope).await;
    let offline = server.redeem("web", &code).await.json();
    let online = server.redeem("web", &server.code(&session, "web", "openid").await).await.json();
    let unused = server.code(&session, "web", "openid").await;

    let flow = recovering(&server, ANA).await;
    // Signed in while the recovery is under way.
    let late = server.sign_in(ANA).await;
    let late_tokens = server.redeem("web", &server.code(&late, "web", scope).await).await.json();
    let done = choose(&server, &flow).await;
    assert_eq!((done.status.as_u16(), &done.json()["state"]), (200, &json!("done")), "{done:?}");
    assert!(done.json()["result"].get("session_token").is_none(), "{done:?}");
    assert!(done.header("set-cookie").is_none(), "{done:?}");

    for session in [&session, &late] {
        let asked = server.authorize_in(session, "web", &[]).await.json();
        assert_eq!(asked["state"], "identify", "the session is over: {asked}");
    }
    for tokens in [&offline, &online, &late_tokens] {
        let access = server.userinfo(text(&tokens["access_token"])).await;
        assert_eq!(access.status, 401, "{access:?}");
        if let Some(token) = tokens["refresh_token"].as_str() {
            let refused = server.refresh("web", token).await;
            assert_eq!(refused.json()["error"], "invalid_grant", "{refused:?}");
        }
    }
    let refused = server.redeem("web", &unused).await;
    assert_eq!(refused.json()["error"], "invalid_grant", "{refused:?}");
    sign_in_with(&server, ANA, PASSWORD).await.problem(401, "invalid_credentials");
    assert_eq!(sign_in_with(&server, ANA, NEW).await.json()["state"], "done");
    choose(&server, &flow).await.problem(409, "flow_over");

    let subjects = wait_for(&server, 3).await;
    assert!(subjects.iter().all(|mail| mail["to"] == ANA), "{subjects:?}");
    server.stop().await;
}

#[tokio::test]
async fn mail_alone_takes_no_account_over_that_has_a_second_factor() {
    let server = open().await;
    let flow = recovering(&server, DORA).await;
    assert_eq!(names(&flow), ["new_password"], "{flow}");
    // However long one waits, and whatever one asks for.
    server.clock.advance(Duration::from_mins(14));
    for step in ["passkey/create_options", "passkey/create", "skip", "totp", "recovery_code"] {
        let body = json!({ "code": "123456", "credential": {} });
        let refused = server.step(&flow, step, body).await;
        assert!([404, 409].contains(&refused.status.as_u16()), "{step}: {refused:?}");
    }
    assert_eq!(choose(&server, &flow).await.json()["state"], "done");
    let asked = sign_in_with(&server, DORA, NEW).await.json();
    assert_eq!((text(&asked["state"]), names(&asked)), ("second_factor", vec!["totp"]), "{asked}");
    let code = Authenticator::of_dora().code(server.clock.now());
    let done = server.step(&asked, "totp", json!({ "code": code })).await.json();
    assert_eq!(done["state"], "done", "{done}");
    server.stop().await;
}

#[tokio::test]
async fn mail_and_a_saved_code_together_replace_the_second_factor() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    let (_, enrolled) = server.enrol_totp(&session, server.clock.now()).await;
    let codes = recovery_codes(&enrolled);
    let flow = recovering(&server, ANA).await;
    assert_eq!(names(&flow), ["recovery_code", "new_password"], "{flow}");
    let wrong = server.step(&flow, "recovery_code", json!({ "code": "aaaaa-aaaaa" })).await;
    wrong.problem(401, "invalid_credentials");
    let proved = server.step(&flow, "recovery_code", json!({ "code": codes[0] })).await.json();
    assert!(names(&proved).contains(&"new_password"), "{proved}");
    assert_eq!(choose(&server, &flow).await.json()["state"], "done");
    let done = sign_in_with(&server, ANA, NEW).await.json();
    assert_eq!(done["state"], "done", "the application is not asked for: {done}");
    server.stop().await;
}

#[tokio::test]
async fn a_second_factor_that_is_enrolled_meanwhile_is_not_taken_away() {
    let server = open().await;
    let flow = recovering(&server, ANA).await;
    let session = server.sign_in(ANA).await;
    server.enrol_totp(&session, server.clock.now()).await;
    // The flow believes that there is none; the account decides.
    let done = choose(&server, &flow).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    let asked = sign_in_with(&server, ANA, NEW).await.json();
    assert_eq!(asked["state"], "second_factor", "{asked}");
    server.stop().await;
}

#[tokio::test]
async fn what_was_proved_before_a_recovery_signs_in_no_more() {
    let server = open().await;
    // A thief who knows the password waits at a question.
    let waiting = server.authorize("app", &[("scope", "openid")]).await.json();
    let asked = server.prove(&waiting, ANA).await.json();
    assert_eq!(asked["state"], "consent", "{asked}");
    let flow = recovering(&server, ANA).await;
    assert_eq!(choose(&server, &flow).await.json()["state"], "done");
    let refused = server.step(&waiting, "consent", json!({ "decision": "allow" })).await;
    refused.problem(409, "account_changed");
    server.stop().await;
}

#[tokio::test]
async fn a_recovery_tells_no_one_who_has_an_account() {
    let server = open().await;
    let report = || {
        let report = server.running().system().store().report();
        (report.reads, report.commits + report.refused + report.failed + report.unknown)
    };
    let mut seen = Vec::new();
    // The first is not compared: what the whole installation shares is read then.
    for email in ["first@acme.test", ANA, DORA, "eva@acme.test", "nobody at all"] {
        let flow = begin(&server, "recovery").await;
        let mut steps = Vec::new();
        for (step, body) in [
            ("identifier", json!({ "identifier": email })),
            ("email_code/send", json!({})),
            ("email_code", json!({ "code": "000000" })),
            ("magic_link/send", json!({})),
            ("magic_link", json!({ "token": "wrong" })),
            ("new_password", json!({ "password": NEW })),
        ] {
            server.quiet().await;
            let before = report();
            let answer = server.step(&flow, step, body).await;
            let after = report();
            let cost = (after.0 - before.0, after.1 - before.1);
            let shown = answer.text().replace(text(&flow["id"]), "FLOW");
            steps.push((step, answer.status.as_u16(), shown, cost));
        }
        seen.push(steps);
    }
    for other in &seen[2..] {
        for (one, other) in seen[1].iter().zip(other) {
            assert_eq!(one, other);
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn the_holder_of_the_address_can_stop_a_recovery() {
    let server = open().await;
    let flow = recovering(&server, ANA).await;
    let started = wait_for(&server, 2).await.swap_remove(0);
    let link = link(&started);
    let token = parameter(&link, "stop").unwrap();
    // A mail scanner stops nothing.
    server.get(&format!("{}?{}", link.path(), link.query().unwrap())).await;
    assert_eq!(server.get("/flows/stop").await.status, 405);
    let forged = format!("{}A", &token[..token.len() - 1]);
    for wrong in ["", "nothing", &*forged, text(&flow["id"])] {
        if wrong != token {
            let refused = server.post_json("/flows/stop", &json!({ "token": wrong }), &[]).await;
            refused.problem(404, "flow_not_found");
        }
    }
    let foreign = [("origin", "https://evil.example")];
    let body = json!({ "token": token });
    assert_eq!(server.post_json("/flows/stop", &body, &foreign).await.status, 403);
    let stopped = server.post_json("/flows/stop", &body, &[]).await;
    assert_eq!(stopped.status, 204, "{stopped:?}");
    choose(&server, &flow).await.problem(409, "flow_over");
    let again = server.post_json("/flows/stop", &body, &[]).await;
    again.problem(409, "flow_over");
    assert_eq!(sign_in_with(&server, ANA, PASSWORD).await.json()["state"], "done");
    assert_eq!(mails(&server).await.len(), 2, "nothing was recovered");
    server.stop().await;
}

#[tokio::test]
async fn of_two_tabs_that_recover_one_account_each_counts_whole() {
    let server = open().await;
    let (one, other) = (recovering(&server, ANA).await, recovering(&server, ANA).await);
    assert_eq!(choose(&server, &one).await.json()["state"], "done");
    // It was proved before the account was recovered.
    choose(&server, &other).await.problem(409, "account_changed");
    server.stop().await;
}
