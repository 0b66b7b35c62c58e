//! Enrolling an authenticator application: what it takes, and what it gives.

use crate::{
    authenticator::{Authenticator, recovery_codes},
    person::{PASSWORD, text},
    support::{TestOptions, TestServer, sealed},
};
use porteiro::domain::Clock as _;
use serde_json::{Value, json};
use std::{collections::HashSet, time::Duration};
use tokio::task::JoinSet;

const ANA: &str = "ana@acme.test";

fn names(document: &Value) -> Vec<&str> {
    document["steps"].as_array().unwrap().iter().map(|step| text(&step["name"])).collect()
}

async fn stored_account(server: &TestServer, email: &str) -> String {
    let store = server.running().system().store();
    let (_, id) = store.find("email_addresses", email).await.unwrap().unwrap();
    store.load("account", &id).await.unwrap().unwrap().state
}

#[tokio::test]
async fn a_person_enrols_an_application_and_from_then_on_it_is_asked_for() {
    let server = TestServer::open().await;
    let session = server.sign_in(ANA).await;
    let begun = server.begin_in(&session, "enroll_totp").await;
    assert_eq!(begun.status, 201, "{begun:?}");
    let flow = begun.json();
    assert_eq!((text(&flow["kind"]), text(&flow["state"])), ("enroll_totp", "credential"));
    assert_eq!(names(&flow), ["totp/options", "totp"]);
    let early = server.step_in(&session, &flow, "totp", json!({ "code": "123456" })).await;
    early.problem(409, "step_not_available");

    let answer = server.step_in(&session, &flow, "totp/options", json!({})).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    sealed(&answer.headers);
    let options = answer.json();
    assert_eq!(options.as_object().unwrap().len(), 3);
    let secret = text(&options["secret"]);
    assert_eq!(secret.len(), 32);
    let uri = format!(
        "otpauth://totp/localhost:ana%40acme.test?secret={secret}&issuer=localhost\
         &algorithm=SHA1&digits=6&period=30"
    );
    assert_eq!(text(&options["otpauth_uri"]), uri);
    assert!(text(&options["qr_svg"]).starts_with("<svg ") && !answer.text().contains("script"));

    let application = Authenticator::new(secret);
    let code = json!({ "code": application.code(server.clock.now()) });
    let done = server.step_in(&session, &flow, "totp", code.clone()).await;
    let document = done.json();
    assert_eq!(document["state"], "done", "{document}");
    assert!(document["result"].get("session_token").is_none(), "nothing was proved");
    let codes = recovery_codes(&document);
    assert_eq!(codes.iter().collect::<HashSet<_>>().len(), 10, "{codes:?}");
    assert!(codes.iter().all(|code| code.len() == 11 && code.as_bytes()[5] == b'-'), "{codes:?}");
    // What is secret was shown once, and is kept sealed or hashed.
    let again = server.get(&format!("/flows/{}", text(&flow["id"]))).await;
    assert!(again.json().get("result").is_none(), "{again:?}");
    server.step_in(&session, &flow, "totp", code.clone()).await.problem(409, "flow_over");
    let stored = stored_account(&server, ANA).await;
    assert!(!stored.contains(secret) && !codes.iter().any(|code| stored.contains(code)));
    assert!(!codes.iter().any(|code| stored.contains(&code.replace('-', ""))));

    let asked = server.asks_second_factor(ANA).await;
    assert_eq!(names(&asked), ["totp", "recovery_code"]);
    let spent = server.step(&asked, "totp", code).await;
    spent.problem(401, "invalid_credentials");
    server.clock.advance(Duration::from_secs(30));
    let code = json!({ "code": application.code(server.clock.now()) });
    let done = server.step(&asked, "totp", code).await.json();
    assert_eq!((&done["state"], &done["assurance"]["reached"]), (&json!("done"), &json!("aal2")));
    server.stop().await;
}

#[tokio::test]
async fn a_secret_that_was_drawn_again_or_for_another_flow_enrols_nothing() {
    let server = TestServer::open().await;
    let session = server.sign_in(ANA).await;
    let (flow, other) = (
        server.begin_in(&session, "enroll_totp").await.json(),
        server.begin_in(&session, "enroll_totp").await.json(),
    );
    let options = async |flow: &Value| {
        let options = server.step_in(&session, flow, "totp/options", json!({})).await.json();
        Authenticator::new(text(&options["secret"]))
    };
    let (former, of_other) = (options(&flow).await, options(&other).await);
    let application = options(&flow).await;
    let now = server.clock.now();
    for wrong in [&former, &of_other] {
        let code = json!({ "code": wrong.code(now) });
        let refused = server.step_in(&session, &flow, "totp", code).await;
        refused.problem(401, "invalid_credentials");
    }
    let old = json!({ "code": application.code(now - Duration::from_mins(2)) });
    server.step_in(&session, &flow, "totp", old).await.problem(401, "invalid_credentials");
    for malformed in [json!({}), json!({ "code": 123_456 }), json!({ "code": null })] {
        let refused = server.step_in(&session, &flow, "totp", malformed).await;
        refused.problem(400, "invalid_request");
    }
    assert!(!stored_account(&server, ANA).await.contains("totp"));
    let code = json!({ "code": application.code(now) });
    let done = server.step_in(&session, &flow, "totp", code).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    server.stop().await;
}

#[tokio::test]
async fn ten_wrong_codes_end_an_enrolment_and_nothing_is_enrolled() {
    let server = TestServer::open().await;
    let session = server.sign_in(ANA).await;
    let flow = server.begin_in(&session, "enroll_totp").await.json();
    let options = server.step_in(&session, &flow, "totp/options", json!({})).await.json();
    let application = Authenticator::new(text(&options["secret"]));
    let right = application.code(server.clock.now());
    for wrong in ["", "28708", "２８７０８２", "abcdef", "1234567"] {
        for code in [wrong.to_owned(), format!("{right}{right}")] {
            let refused = server.step_in(&session, &flow, "totp", json!({ "code": code })).await;
            refused.problem(401, "invalid_credentials");
        }
    }
    let late = server.step_in(&session, &flow, "totp", json!({ "code": right })).await;
    late.problem(409, "flow_over");
    assert!(!stored_account(&server, ANA).await.contains("totp"));
    server.sign_in(ANA).await;
    server.stop().await;
}

#[tokio::test]
async fn an_enrolment_needs_a_session_and_a_fresh_proof() {
    let server = TestServer::open().await;
    let begin = json!({ "kind": "enroll_totp" });
    server.post_json("/flows", &begin, &[]).await.problem(401, "session_required");
    // Of one factor, where the account has no other: fifteen minutes.
    let ana = server.sign_in(ANA).await;
    server.clock.advance(Duration::from_mins(16));
    let stale = server.begin_in(&ana, "enroll_totp").await.json();
    assert_eq!(text(&stale["state"]), "credential");
    assert!(names(&stale).contains(&"password"), "{stale}");
    assert!(!names(&stale).iter().any(|name| name.starts_with("totp")), "{stale}");
    let refused = server.step_in(&ana, &stale, "totp/options", json!({})).await;
    refused.problem(409, "step_not_available");
    let refused = server.step_in(&ana, &stale, "totp", json!({ "code": "123456" })).await;
    refused.problem(409, "step_not_available");
    server.stop().await;
}

#[tokio::test]
async fn an_application_is_replaced_with_the_former_one() {
    let server = TestServer::open().await;
    let former = Authenticator::of_dora();
    let asked = server.asks_second_factor("dora@acme.test").await;
    assert_eq!(names(&asked), ["totp"], "she was provisioned, and has no recovery codes");
    let code = json!({ "code": former.code(server.clock.now()) });
    let done = server.step(&asked, "totp", code).await.json();
    let session = text(&done["result"]["session_token"]).to_owned();
    // An hour unused, and her session is of one factor.
    server.clock.advance(Duration::from_mins(61));
    let flow = server.begin_in(&session, "enroll_totp").await.json();
    let refused = server.step_in(&session, &flow, "totp/options", json!({})).await;
    refused.problem(409, "step_not_available");
    let code = json!({ "code": former.code(server.clock.now()) });
    let asked = server.step_in(&session, &flow, "totp", code).await.json();
    assert!(names(&asked).contains(&"password"), "one factor is not enough: {asked}");
    assert!(!names(&asked).contains(&"totp/options"), "{asked}");
    let password = json!({ "password": PASSWORD });
    let proved = server.step_in(&session, &flow, "password", password).await.json();
    assert_eq!(names(&proved), ["totp/options", "totp"], "{proved}");
    let options = server.step_in(&session, &flow, "totp/options", json!({})).await.json();
    let application = Authenticator::new(text(&options["secret"]));
    let code = json!({ "code": application.code(server.clock.now()) });
    let done = server.step_in(&session, &flow, "totp", code).await.json();
    assert_eq!(done["state"], "done", "{done}");
    assert_eq!(recovery_codes(&done).len(), 10, "she had none");
    let renewed = text(&done["result"]["session_token"]).to_owned();
    assert_ne!(renewed, session, "she has proved more");

    server.clock.advance(Duration::from_secs(30));
    let asked = server.asks_second_factor("dora@acme.test").await;
    let code = json!({ "code": former.code(server.clock.now()) });
    server.step(&asked, "totp", code).await.problem(401, "invalid_credentials");
    let code = json!({ "code": application.code(server.clock.now()) });
    assert_eq!(server.step(&asked, "totp", code).await.json()["state"], "done");
    server.stop().await;
}

#[tokio::test]
async fn a_second_factor_that_came_meanwhile_is_asked_for() {
    let server = TestServer::open().await;
    let session = server.sign_in(ANA).await;
    let early = server.begin_in(&session, "enroll_totp").await.json();
    let options = server.step_in(&session, &early, "totp/options", json!({})).await.json();
    let other = server.sign_in(ANA).await;
    server.enrol_totp(&other, server.clock.now()).await;
    // The flow began when one factor was enough: it is not any more.
    let code = Authenticator::new(text(&options["secret"])).code(server.clock.now());
    let late = server.step_in(&session, &early, "totp", json!({ "code": code })).await;
    late.problem(409, "account_changed");
    server.stop().await;
}

#[tokio::test]
async fn a_browser_enrols_by_its_cookie() {
    let server = TestServer::open().await;
    let session = server.sign_in(ANA).await;
    let cookie = format!("porteiro={session}");
    let origin = server.issuer().to_owned();
    let headers = [("cookie", cookie.as_str()), ("origin", origin.as_str())];
    let begun = server.post_json("/flows", &json!({ "kind": "enroll_totp" }), &headers).await;
    assert_eq!(begun.status, 201, "{begun:?}");
    let flow = begun.json();
    let path = |step: &str| format!("/flows/{}/{step}", text(&flow["id"]));
    // Without the cookie of the flow it belongs to no caller.
    let refused = server.post_json(&path("totp/options"), &json!({}), &headers).await;
    refused.problem(403, "wrong_channel");
    let set = begun.header("set-cookie").unwrap().split(';').next().unwrap();
    let cookies = format!("{cookie}; {set}");
    let foreign = [("cookie", cookies.as_str()), ("origin", "https://evil.example")];
    let refused = server.post_json(&path("totp/options"), &json!({}), &foreign).await;
    assert_eq!(refused.status, 403, "{refused:?}");
    let headers = [("cookie", cookies.as_str()), ("origin", origin.as_str())];
    let options = server.post_json(&path("totp/options"), &json!({}), &headers).await.json();
    let application = Authenticator::new(text(&options["secret"]));
    let code = json!({ "code": application.code(server.clock.now()) });
    let done = server.post_json(&path("totp"), &code, &headers).await.json();
    assert_eq!(recovery_codes(&done).len(), 10, "{done}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_fifty_that_finish_one_enrolment_one_is_shown_the_recovery_codes() {
    let server = TestServer::open_in(TestOptions { rates: None, ..TestOptions::default() }).await;
    let session = server.sign_in(ANA).await;
    let flow = server.begin_in(&session, "enroll_totp").await.json();
    let options = server.step_in(&session, &flow, "totp/options", json!({})).await.json();
    let application = Authenticator::new(text(&options["secret"]));
    let code = json!({ "code": application.code(server.clock.now()) });
    let mut racers = JoinSet::new();
    for _ in 0..50 {
        let (node, session, flow, code) = (*server, session.clone(), flow.clone(), code.clone());
        racers.spawn(async move { node.step_in(&session, &flow, "totp", code).await });
    }
    let answers = racers.join_all().await;
    let won: Vec<_> = answers.iter().filter(|answer| answer.status == 200).collect();
    assert_eq!(won.len(), 1, "{answers:?}");
    let codes = recovery_codes(&won[0].json());
    for refused in answers.iter().filter(|answer| answer.status != 200) {
        assert!([409, 503].contains(&refused.status.as_u16()), "{refused:?}");
        assert!(!refused.text().contains(&codes[0]));
    }
    // Those that were shown are those that are good.
    let asked = server.asks_second_factor(ANA).await;
    let done = server.step(&asked, "recovery_code", json!({ "code": codes[9] })).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    server.stop().await;
}
