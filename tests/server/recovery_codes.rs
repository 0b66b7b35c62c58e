//! Recovery codes: each works once, for its own account, whatever races.

use crate::{
    authenticator::{Authenticator, recovery_codes},
    http::Answer,
    outside::Outside,
    passwords::unlocked,
    person::{claims, parameter, redirect, text},
    races::Pair,
    shared::eventually,
    support::{TestOptions, TestServer},
};
use http_body_util::Full;
use hyper::Method;
use porteiro::{
    clock::SystemClock,
    domain::{Clock as _, Timestamp},
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::task::JoinSet;

const ANA: &str = "ana@acme.test";

fn names(document: &Value) -> Vec<&str> {
    document["steps"].as_array().unwrap().iter().map(|step| text(&step["name"])).collect()
}

/// Enrols an application for an account that has a password, and returns the codes it was given.
async fn enrolled(node: Outside, email: &str, now: Timestamp) -> (Authenticator, Vec<String>) {
    let session = node.sign_in(email).await;
    let (application, done) = node.enrol_totp(&session, now).await;
    (application, recovery_codes(&done))
}

async fn use_code(node: Outside, flow: &Value, code: &str) -> Answer {
    node.step(flow, "recovery_code", json!({ "code": code })).await
}

#[tokio::test]
async fn a_recovery_code_stands_in_for_the_application_once() {
    let server = TestServer::open().await;
    let (_, codes) = enrolled(*server, ANA, server.clock.now()).await;
    let (_, of_bruno) = enrolled(*server, "bruno@acme.test", server.clock.now()).await;
    let flow = server.authorize("web", &[("acr_values", "aal2")]).await.json();
    let asked = server.prove(&flow, ANA).await.json();
    assert_eq!(names(&asked), ["totp", "recovery_code"], "{asked}");
    use_code(*server, &flow, &of_bruno[0]).await.problem(401, "invalid_credentials");
    // As it may be typed from paper.
    let typed = format!(" {} ", codes[0].to_uppercase().replace('-', " - "));
    let done = use_code(*server, &flow, &typed).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    assert_eq!(done.json()["assurance"]["reached"], "aal2");
    let code = parameter(&redirect(&done), "code").unwrap();
    let tokens = server.redeem("web", &code).await.json();
    let id = claims(&tokens["id_token"]);
    assert_eq!((&id["acr"], &id["amr"]), (&json!("aal2"), &json!(["pwd", "otp"])));

    let asked = server.asks_second_factor(ANA).await;
    use_code(*server, &asked, &codes[0]).await.problem(401, "invalid_credentials");
    assert_eq!(use_code(*server, &asked, &codes[1]).await.json()["state"], "done");
    server.stop().await;
}

#[tokio::test]
async fn a_person_is_mailed_when_an_application_is_enrolled_and_when_a_code_is_used() {
    let server = TestServer::open_in(TestOptions { mailbox: true, ..TestOptions::default() }).await;
    let (_, codes) = enrolled(*server, ANA, server.clock.now()).await;
    let asked = server.asks_second_factor(ANA).await;
    use_code(*server, &asked, "00000-00000").await.problem(401, "invalid_credentials");
    assert_eq!(use_code(*server, &asked, &codes[0]).await.json()["state"], "done");
    let mut mails = Vec::new();
    eventually("both mails", async || {
        let mailbox = server.get("/mailbox").await.json();
        mails = mailbox["items"].as_array().unwrap().clone();
        mails.len() >= 2
    })
    .await;
    assert_eq!(mails.len(), 2, "a wrong code is not told of: {mails:?}");
    for mail in &mails {
        assert_eq!(text(&mail["to"]), ANA);
        assert!(!codes.iter().any(|code| mail.to_string().contains(code)), "{mail}");
    }
    assert_ne!(mails[0]["subject"], mails[1]["subject"]);
    server.stop().await;
}

#[tokio::test]
async fn what_is_no_recovery_code_is_refused_whatever_it_is() {
    let server = TestServer::open().await;
    let (_, codes) = enrolled(*server, ANA, server.clock.now()).await;
    let asked = server.asks_second_factor(ANA).await;
    let both = format!("{}{}", codes[0], codes[1]);
    let spaced = format!("{}{}", codes[0], " ".repeat(1_000));
    for bad in ["", "00000-00000", "０００００-０００００", &both, &codes[0][..10], &spaced]
    {
        use_code(*server, &asked, bad).await.problem(401, "invalid_credentials");
    }
    for malformed in [json!({}), json!({ "code": 7 }), json!({ "code": [codes[0]] })] {
        let refused = server.step(&asked, "recovery_code", malformed).await;
        refused.problem(400, "invalid_request");
    }
    let long = use_code(*server, &asked, &"a".repeat(1_000_000)).await;
    assert!([400, 401, 413].contains(&long.status.as_u16()), "{long:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_code_is_no_first_proof_and_none_is_asked_of_an_account_without_a_set() {
    let server = TestServer::open().await;
    let (_, codes) = enrolled(*server, ANA, server.clock.now()).await;
    let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
    use_code(*server, &flow, &codes[0]).await.problem(409, "step_not_available");
    server.step(&flow, "identifier", json!({ "identifier": ANA })).await;
    use_code(*server, &flow, &codes[0]).await.problem(409, "step_not_available");
    // Dora's application was provisioned: it works, and nothing else is offered.
    let asked = server.asks_second_factor("dora@acme.test").await;
    assert_eq!(names(&asked), ["totp"]);
    use_code(*server, &asked, &codes[0]).await.problem(409, "step_not_available");
    let code = json!({ "code": Authenticator::of_dora().code(server.clock.now()) });
    assert_eq!(server.step(&asked, "totp", code).await.json()["state"], "done");
    server.stop().await;
}

#[tokio::test]
async fn unused_codes_are_kept_and_a_new_set_comes_when_none_is_left() {
    let server = TestServer::open_in(TestOptions { rates: None, ..TestOptions::default() }).await;
    let (_, codes) = enrolled(*server, ANA, server.clock.now()).await;
    let mut session = String::new();
    for (number, code) in codes.iter().enumerate() {
        let asked = server.asks_second_factor(ANA).await;
        let done = use_code(*server, &asked, code).await.json();
        assert_eq!(done["state"], "done", "{done}");
        session = text(&done["result"]["session_token"]).to_owned();
        if number == 8 {
            let (_, again) = server.enrol_totp(&session, server.clock.now()).await;
            assert!(again["result"].get("recovery_codes").is_none(), "one is left: {again}");
        }
    }
    let asked = server.asks_second_factor(ANA).await;
    assert_eq!(names(&asked), ["totp"], "none is left");
    let (_, renewed) = server.enrol_totp(&session, server.clock.now()).await;
    let fresh = recovery_codes(&renewed);
    assert!(fresh.iter().all(|code| !codes.contains(code)));
    let asked = server.asks_second_factor(ANA).await;
    use_code(*server, &asked, &codes[0]).await.problem(401, "invalid_credentials");
    assert_eq!(use_code(*server, &asked, &fresh[0]).await.json()["state"], "done");
    server.stop().await;
}

#[tokio::test]
async fn guessed_codes_are_limited_by_account_and_another_way_in_or_an_operator_clears_it() {
    let server = TestServer::open().await;
    let (application, codes) = enrolled(*server, ANA, server.clock.now()).await;
    let exhaust = async || {
        for _ in 0..2 {
            let asked = server.asks_second_factor(ANA).await;
            for _ in 0..5 {
                let wrong = use_code(*server, &asked, "00000-00000").await;
                wrong.problem(401, "invalid_credentials");
            }
        }
        let asked = server.asks_second_factor(ANA).await;
        use_code(*server, &asked, &codes[0]).await.problem(429, "too_many_requests");
        asked
    };
    let asked = exhaust().await;
    // The application has an allowance of its own, and to come in by it clears this one.
    server.clock.advance(Duration::from_secs(30));
    let code = json!({ "code": application.code(server.clock.now()) });
    let done = server.step(&asked, "totp", code).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    exhaust().await;
    let done = unlocked(&server, ANA).await.unwrap();
    assert!(done.authenticators.contains(&"recovery_code"), "{done:?}");
    server.clock.advance(Duration::from_secs(1));
    let asked = server.asks_second_factor(ANA).await;
    assert_eq!(use_code(*server, &asked, &codes[1]).await.json()["state"], "done");
    server.stop().await;
}

async fn ask(server: &TestServer, session: &str, method: Method, path: &str) -> Answer {
    let request = server.request(method, path).header("x-session-token", session);
    server.send(request.body(Full::default()).unwrap()).await
}

#[tokio::test]
async fn a_new_set_voids_the_one_before_and_needs_two_factors_proved_lately() {
    let server = TestServer::open().await;
    let path = "/me/recovery-codes";
    ask(&server, "nothing", Method::POST, path).await.problem(401, "session_required");
    let ana = server.sign_in(ANA).await;
    ask(&server, &ana, Method::POST, path).await.problem(409, "second_factor_required");
    let (_, codes) = enrolled(*server, ANA, server.clock.now()).await;
    // One factor is not enough any more, however fresh.
    let refused = ask(&server, &ana, Method::POST, path).await;
    refused.problem(403, "step_up_required");
    assert!(!refused.text().contains("recovery_codes"), "{refused:?}");
    let asked = server.asks_second_factor(ANA).await;
    let done = use_code(*server, &asked, &codes[0]).await.json();
    let session = text(&done["result"]["session_token"]).to_owned();
    let foreign = [("x-session-token", &*session), ("origin", "https://evil.example")];
    let refused = server.post_json(path, &json!({}), &foreign).await;
    assert_eq!(refused.status, 403, "{refused:?}");
    let made = ask(&server, &session, Method::POST, path).await;
    assert_eq!(made.status, 200, "{made:?}");
    assert_eq!(made.header("cache-control"), Some("no-store"));
    let made = made.json();
    let fresh: Vec<&str> = made["recovery_codes"].as_array().unwrap().iter().map(text).collect();
    assert_eq!((fresh.len(), made.as_object().unwrap().len()), (10, 1));
    let asked = server.asks_second_factor(ANA).await;
    use_code(*server, &asked, &codes[1]).await.problem(401, "invalid_credentials");
    assert_eq!(use_code(*server, &asked, fresh[0]).await.json()["state"], "done");
    server.clock.advance(Duration::from_mins(16));
    ask(&server, &session, Method::POST, path).await.problem(403, "step_up_required");
    server.stop().await;
}

#[tokio::test]
async fn an_application_is_removed_with_two_factors_proved_lately() {
    let server = TestServer::open_in(TestOptions { mailbox: true, ..TestOptions::default() }).await;
    let one_factor = server.sign_in(ANA).await;
    ask(&server, &one_factor, Method::DELETE, "/me/totp").await.problem(404, "not_found");
    let (_, codes) = enrolled(*server, ANA, server.clock.now()).await;
    let refused = ask(&server, &one_factor, Method::DELETE, "/me/totp").await;
    refused.problem(403, "step_up_required");
    let asked = server.asks_second_factor(ANA).await;
    let done = use_code(*server, &asked, &codes[0]).await.json();
    let session = text(&done["result"]["session_token"]).to_owned();
    let removed = ask(&server, &session, Method::DELETE, "/me/totp").await;
    assert_eq!((removed.status.as_u16(), removed.body.len()), (204, 0));
    ask(&server, &session, Method::DELETE, "/me/totp").await.problem(404, "not_found");
    // A password is enough again.
    server.sign_in(ANA).await;
    eventually("a mail that says so", async || {
        server.get("/mailbox").await.text().contains("was removed from your account")
    })
    .await;
    server.stop().await;
}

/// What is raced for.
#[derive(Clone)]
struct Prize {
    step: &'static str,
    code: String,
}

/// Presents one code fifty times at once: in ten flows, five times each, at all of `nodes` in turn.
async fn race(nodes: &[Outside], prize: &Prize) -> Vec<Answer> {
    let mut flows = Vec::new();
    for number in 0..10 {
        flows.push(nodes[number % nodes.len()].asks_second_factor(ANA).await);
    }
    let mut racers = JoinSet::new();
    for number in 0..50 {
        let node = nodes[number % nodes.len()];
        let (flow, prize) = (flows[number / 5].clone(), prize.clone());
        racers.spawn(
            async move { node.step(&flow, prize.step, json!({ "code": prize.code })).await },
        );
    }
    racers.join_all().await
}

/// Insists that at most one has come in, and that the others were told nothing.
#[track_caller]
fn winners(answers: &[Answer]) -> usize {
    assert_eq!(answers.len(), 50);
    for answer in answers {
        assert!([200, 401, 409, 503].contains(&answer.status.as_u16()), "{answer:?}");
    }
    let won = answers.iter().filter(|answer| answer.status == 200).count();
    assert!(won <= 1, "{won} came in");
    won
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_fifty_uses_of_one_code_one_succeeds() {
    let server = TestServer::open_in(TestOptions { rates: None, ..TestOptions::default() }).await;
    let (application, codes) = enrolled(*server, ANA, server.clock.now()).await;
    let saved = Prize { step: "recovery_code", code: codes[0].clone() };
    assert_eq!(winners(&race(&[*server], &saved).await), 1);
    server.clock.advance(Duration::from_secs(30));
    let shown = Prize { step: "totp", code: application.code(server.clock.now()) };
    assert_eq!(winners(&race(&[*server], &shown).await), 1);
    // And nothing is left of either.
    let asked = server.asks_second_factor(ANA).await;
    for Prize { step, code } in [saved, shown] {
        server
            .step(&asked, step, json!({ "code": code }))
            .await
            .problem(401, "invalid_credentials");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_take_one_code_once() {
    let pair = Pair::start().await;
    let (application, codes) = enrolled(pair.nodes[0], ANA, SystemClock.now()).await;
    let saved = Prize { step: "recovery_code", code: codes[0].clone() };
    assert_eq!(winners(&race(&pair.nodes, &saved).await), 1);
    // One step ahead is borne, and it is after the one that was enrolled.
    let next = application.code(SystemClock.now() + Duration::from_secs(30));
    let shown = Prize { step: "totp", code: next };
    winners(&race(&pair.nodes, &shown).await);
    let asked = pair.nodes[1].asks_second_factor(ANA).await;
    use_code(pair.nodes[1], &asked, &codes[0]).await.problem(401, "invalid_credentials");
    assert_eq!(use_code(pair.nodes[1], &asked, &codes[1]).await.json()["state"], "done");
}
