//! People make accounts for themselves, and the page tells no one who has one.

use crate::{
    http::Answer,
    mails::{begin, code, mails, names, prove_by_mail, sent},
    person::text,
    support::{TestOptions, TestServer},
};
use porteiro::http::SignUp;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::time::Duration;

const NEW: &str = "a long enough new password";

async fn open() -> TestServer {
    // What looks after the keys reads and commits, and would be counted.
    let keys_every = Duration::from_hours(1);
    let options = TestOptions { mailbox: true, keys_every, ..TestOptions::default() };
    TestServer::open_in(options).await
}

async fn describe(server: &TestServer, flow: &Value, email: &str) -> Answer {
    server.step(flow, "profile", json!({ "email": email, "given_name": "Eva" })).await
}

/// Goes as far as the first credential.
async fn proved(server: &TestServer, email: &str) -> Value {
    let flow = begin(server, "sign_up").await;
    assert_eq!((text(&flow["state"]), names(&flow)), ("profile", vec!["profile"]));
    let described = describe(server, &flow, email).await.json();
    assert_eq!(described["state"], "proof", "{described}");
    assert!(names(&described).contains(&"profile"), "it can be corrected: {described}");
    let proved = prove_by_mail(server, &flow).await.json();
    assert_eq!(proved["state"], "credential", "{proved}");
    proved
}

#[tokio::test]
async fn a_person_makes_an_account_and_is_signed_in() {
    let server = open().await;
    let flow = proved(&server, "Eva@acme.test").await;
    assert!(names(&flow).contains(&"new_password") && names(&flow).contains(&"skip"), "{flow}");
    let short = server.step(&flow, "new_password", json!({ "password": "short" })).await;
    short.problem(400, "password_refused");
    let done = server.step(&flow, "new_password", json!({ "password": NEW })).await.json();
    assert_eq!((text(&done["state"]), text(&done["assurance"]["reached"])), ("done", "aal1"));
    let session = text(&done["result"]["session_token"]);
    let code = server.code(session, "web", "openid email profile").await;
    let tokens = server.redeem("web", &code).await.json();
    let info = server.userinfo(text(&tokens["access_token"])).await.json();
    assert_eq!((&info["email"], &info["email_verified"]), (&json!("Eva@acme.test"), &json!(true)));
    assert_eq!(info["given_name"], "Eva");
    let again = server.step(&flow, "skip", json!({})).await;
    again.problem(409, "flow_over");

    let flow = begin(&server, "sign_in").await;
    server.step(&flow, "identifier", json!({ "identifier": "eva@acme.test" })).await;
    let done = server.step(&flow, "password", json!({ "password": NEW })).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_first_credential_can_be_left_out_and_mail_remains() {
    let server = open().await;
    let flow = proved(&server, "eva@acme.test").await;
    let done = server.step(&flow, "skip", json!({})).await.json();
    assert_eq!(done["state"], "done", "{done}");
    let flow = begin(&server, "sign_in").await;
    server.step(&flow, "identifier", json!({ "identifier": "eva@acme.test" })).await;
    assert_eq!(prove_by_mail(&server, &flow).await.json()["state"], "done");
    server.stop().await;
}

/// What was done for callers so far.
fn work(server: &TestServer) -> (u64, u64) {
    let report = server.running().system().store().report();
    (report.reads, report.commits + report.refused + report.failed + report.unknown)
}

/// What can be told of a step from outside, and what it cost.
async fn told(
    server: &TestServer,
    flow: &Value,
    step: &str,
    body: Value,
) -> (u16, String, [u64; 2]) {
    // The outbox works for no caller.
    server.quiet().await;
    let before = work(server);
    let answer = server.step(flow, step, body).await;
    let after = work(server);
    let shown = answer.text().replace(text(&flow["id"]), "FLOW");
    (answer.status.as_u16(), shown, [after.0 - before.0, after.1 - before.1])
}

#[tokio::test]
async fn a_sign_up_tells_no_one_who_has_an_account() {
    let server = open().await;
    let mut seen = Vec::new();
    for email in ["ana@acme.test", "eva@acme.test"] {
        let flow = begin(&server, "sign_up").await;
        let mut steps = Vec::new();
        steps.push(told(&server, &flow, "profile", json!({ "email": email })).await);
        steps.push(told(&server, &flow, "email_code/send", json!({})).await);
        steps.push(told(&server, &flow, "email_code", json!({ "code": "000000" })).await);
        steps.push(told(&server, &flow, "magic_link/send", json!({})).await);
        steps.push(told(&server, &flow, "magic_link", json!({ "token": "wrong" })).await);
        steps.push(told(&server, &flow, "new_password", json!({ "password": NEW })).await);
        seen.push(steps);
    }
    let statuses: Vec<u16> = seen[0].iter().map(|(status, ..)| *status).collect();
    assert_eq!(statuses, [200, 200, 401, 200, 401, 409]);
    for (known, unknown) in seen[0].iter().zip(&seen[1]) {
        assert_eq!(known, unknown);
    }
    let items = mails(&server).await;
    let of = |to: &str| items.iter().filter(|mail| mail["to"] == to).collect::<Vec<_>>();
    assert_eq!((of("ana@acme.test").len(), of("eva@acme.test").len()), (2, 2));
    for mail in of("ana@acme.test") {
        let digits = |line: &str| line.len() == 6 && line.bytes().all(|one| one.is_ascii_digit());
        assert!(!text(&mail["text"]).lines().any(digits), "no code is right: {mail}");
    }
    server.stop().await;
}

#[tokio::test]
async fn of_two_sign_ups_for_one_address_one_is_late() {
    let server = open().await;
    let (one, other) =
        (proved(&server, "eva@acme.test").await, proved(&server, "EVA@acme.test").await);
    let password = json!({ "password": NEW });
    let (first, second) = tokio::join!(
        server.step(&one, "new_password", password.clone()),
        server.step(&other, "new_password", password),
    );
    let (won, lost) = if first.status == 200 { (first, second) } else { (second, first) };
    assert_eq!(won.json()["state"], "done", "{won:?}");
    lost.problem(409, "email_taken");
    server.stop().await;
}

#[tokio::test]
async fn a_new_profile_voids_what_was_sent_to_the_former_address() {
    let server = open().await;
    let flow = begin(&server, "sign_up").await;
    describe(&server, &flow, "eva@acme.test").await;
    let former = code(&sent(&server, &flow, "email_code/send").await);
    // The victim of an attacker who reads the mail of eva.
    describe(&server, &flow, "ida@acme.test").await;
    let crossed = server.step(&flow, "email_code", json!({ "code": former })).await;
    crossed.problem(401, "invalid_credentials");
    server.stop().await;
}

#[tokio::test]
async fn a_profile_is_judged_member_by_member() {
    let server = open().await;
    let flow = begin(&server, "sign_up").await;
    for (body, pointer) in [
        (json!({}), "#/email"),
        (json!({ "email": "nobody" }), "#/email"),
        (json!({ "email": "a@b.test", "locale": "no language" }), "#/locale"),
        (json!({ "email": "a@b.test", "given_name": "a\nb" }), "#/given_name"),
        (json!({ "email": "a@b.test", "given_name": "Ana\u{202e}lif" }), "#/given_name"),
        (json!({ "email": "a@b.test", "family_name": "S\u{200b}á" }), "#/family_name"),
        (json!({ "email": "a@b.test", "family_name": "x".repeat(300) }), "#/family_name"),
        (json!({ "email": 7 }), "#/email"),
    ] {
        let refused = server.step(&flow, "profile", body).await;
        refused.problem(400, "invalid_request");
        assert_eq!(refused.json()["errors"][0]["pointer"], pointer, "{refused:?}");
    }
    let looked = server.get(&format!("/flows/{}", text(&flow["id"]))).await.json();
    assert_eq!(looked["state"], "profile");
    server.stop().await;
}

#[tokio::test]
async fn a_closed_installation_makes_no_accounts() {
    let sign_up = SignUp { open: false, proof_of_work_bits: 0 };
    let server = TestServer::open_in(TestOptions { sign_up, ..TestOptions::default() }).await;
    let refused = server.post_json("/flows", &json!({ "kind": "sign_up" }), &[]).await;
    refused.problem(403, "sign_up_closed");
    server.stop().await;
}

#[tokio::test]
async fn a_proof_of_work_is_for_one_flow_and_one_address() {
    let sign_up = SignUp { open: true, proof_of_work_bits: 8 };
    let options = TestOptions { sign_up, mailbox: true, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    let (flow, other) = (begin(&server, "sign_up").await, begin(&server, "sign_up").await);
    assert_eq!(flow["proof_of_work"]["bits"], 8, "{flow}");
    assert!(begin(&server, "sign_in").await.get("proof_of_work").is_none());
    let solve = |flow: &Value, email: &str| {
        let challenge = text(&flow["proof_of_work"]["challenge"]).to_owned();
        let solved =
            |answer: &String| Sha256::digest(format!("{challenge}:{email}:{answer}"))[0] == 0;
        (0..u32::MAX).map(|number| number.to_string()).find(solved).unwrap()
    };
    let email = "eva@acme.test";
    let missing = server.step(&flow, "profile", json!({ "email": email })).await;
    missing.problem(400, "proof_of_work_required");
    for wrong in [solve(&other, email), solve(&flow, "ida@acme.test"), "x".repeat(9_000)] {
        let body = json!({ "email": email, "proof_of_work": wrong });
        // One in 256 answers of another challenge is right by chance.
        let challenge = text(&flow["proof_of_work"]["challenge"]);
        if Sha256::digest(format!("{challenge}:{email}:{wrong}"))[0] != 0 {
            let refused = server.step(&flow, "profile", body).await;
            refused.problem(400, "proof_of_work_required");
        }
    }
    let body = json!({ "email": email, "proof_of_work": solve(&flow, email) });
    assert_eq!(server.step(&flow, "profile", body).await.json()["state"], "proof");
    server.stop().await;
}
