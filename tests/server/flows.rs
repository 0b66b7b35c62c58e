//! Flows beside the first sign-in: other kinds, more assurance, browsers that are known.

use crate::{
    authenticator::Authenticator,
    browser::Browser,
    http::Answer,
    person::{PASSWORD, claims, parameter, redirect, text},
    shared::eventually,
    support::{TestOptions, TestServer},
};
use porteiro::{
    crypto::{
        SystemDice,
        keys::{DevKeys, Folder},
        password::{Memory, PasswordCost, hash},
    },
    domain::{
        Clock as _,
        account::{self, Account, EMAIL_ADDRESSES, PasswordHash},
    },
    system::Workbench,
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// Signs in Dora with both of her factors.
async fn dora(server: &TestServer) -> String {
    let begun = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
    let asked = server.prove(&begun, "dora@acme.test").await.json();
    assert_eq!(
        (&asked["state"], &asked["assurance"]["required"]),
        (&json!("second_factor"), &json!("aal2"))
    );
    let done = server
        .step(&begun, "totp", json!({ "code": Authenticator::of_dora().code(server.clock.now()) }))
        .await;
    assert_eq!(done.json()["assurance"]["reached"], "aal2", "{done:?}");
    text(&done.json()["result"]["session_token"]).to_owned()
}

async fn level_of(server: &TestServer, answer: &Answer) -> String {
    let code = parameter(&redirect(answer), "code").unwrap_or_else(|| panic!("{answer:?}"));
    let tokens = server.redeem("web", &code).await.json();
    text(&claims(&tokens["id_token"])["acr"]).to_owned()
}

#[tokio::test]
async fn two_factors_lapse_and_a_client_that_wants_them_has_the_second_asked_for_again() {
    let server = TestServer::open().await;
    let session = dora(&server).await;
    let wanted = [("acr_values", "aal2")];
    let fresh = server.authorize_in(&session, "web", &wanted).await;
    assert_eq!(level_of(&server, &fresh).await, "aal2");
    // An hour without use, and two factors count as one; the session lives on.
    server.clock.advance(Duration::from_mins(61));
    let plain = server.authorize_in(&session, "web", &[]).await;
    assert_eq!(level_of(&server, &plain).await, "aal1");
    let silent = server.authorize_in(&session, "web", &[wanted[0], ("prompt", "none")]).await;
    assert_eq!(parameter(&redirect(&silent), "error").as_deref(), Some("login_required"));
    let asked = server.authorize_in(&session, "web", &wanted).await.json();
    assert_eq!(
        (text(&asked["state"]), text(&asked["assurance"]["required"])),
        ("second_factor", "aal2")
    );
    assert_eq!(asked["steps"][0]["name"], "totp");
    let body = json!({ "code": Authenticator::of_dora().code(server.clock.now()) });
    let done = server.step_in(&session, &asked, "totp", body).await;
    assert_eq!(level_of(&server, &done).await, "aal2");
    // More was proved: the session goes on under a new token.
    let renewed = text(&done.json()["result"]["session_token"]).to_owned();
    assert_ne!(renewed, session);
    assert_eq!(server.authorize_in(&session, "web", &[]).await.json()["state"], "identify");
    assert_eq!(level_of(&server, &server.authorize_in(&renewed, "web", &[]).await).await, "aal2");
    // And after a day, used or not.
    for _ in 0..48 {
        server.clock.advance(Duration::from_mins(30));
        server.authorize_in(&renewed, "web", &[]).await;
    }
    assert_eq!(level_of(&server, &server.authorize_in(&renewed, "web", &[]).await).await, "aal1");
    server.stop().await;
}

#[tokio::test]
async fn what_is_required_is_told_and_what_was_reached_is_what_the_tokens_say() {
    let server = TestServer::open().await;
    let flow = server.authorize("web", &[("acr_values", "phrh aal2 aal1")]).await.json();
    assert_eq!(flow["assurance"]["required"], "aal2");
    let done = server.prove(&flow, "ana@acme.test").await;
    let assurance = &done.json()["assurance"];
    assert_eq!((text(&assurance["required"]), text(&assurance["reached"])), ("aal2", "aal1"));
    assert_eq!(level_of(&server, &done).await, "aal1", "she has no second factor");
    server.stop().await;
}

#[tokio::test]
async fn a_person_signs_out_once_they_have_confirmed_it() {
    let server = TestServer::open().await;
    let begin = json!({ "kind": "sign_out" });
    server.post_json("/flows", &begin, &[]).await.problem(401, "session_required");
    let session = server.sign_in("ana@acme.test").await;
    let header = [("x-session-token", session.as_str())];
    let flow = server.post_json("/flows", &begin, &header).await.json();
    assert_eq!((text(&flow["state"]), text(&flow["steps"][0]["name"])), ("confirm", "confirm"));
    let refused = server.step_in(&session, &flow, "confirm", json!({ "decision": "deny" })).await;
    assert_eq!(refused.json()["state"], "failed", "{refused:?}");
    assert_eq!(server.authorize_in(&session, "web", &[]).await.json()["state"], "done");
    let flow = server.post_json("/flows", &begin, &header).await.json();
    let consent = json!({ "decision": "allow" });
    server
        .step_in(&session, &flow, "consent", consent.clone())
        .await
        .problem(409, "step_not_available");
    let done = server.step_in(&session, &flow, "confirm", consent).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    assert_eq!(server.authorize_in(&session, "web", &[]).await.json()["state"], "identify");
    server.stop().await;
}

#[tokio::test]
async fn a_person_who_is_locked_out_by_others_signs_in_where_they_did_before() {
    let server = TestServer::open().await;
    let mut known = Browser { server: &server, cookies: Vec::new() };
    let mut other = Browser { server: &server, cookies: Vec::new() };
    assert_eq!(known.password("ana@acme.test", PASSWORD).await.status, 200);
    known.forget_session();
    assert!(known.cookies.iter().any(|cookie| cookie.starts_with("porteiro-known=")));
    assert_eq!(other.password("bruno@acme.test", PASSWORD).await.status, 200);
    other.forget_session();
    for _ in 0..10 {
        let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
        server.step(&flow, "identifier", json!({ "identifier": "ana@acme.test" })).await;
        server.step(&flow, "password", json!({ "password": "a guess" })).await;
    }
    // Locked for callers that are not known, and for browsers that are known to another account.
    let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
    server.prove(&flow, "ana@acme.test").await.problem(429, "too_many_requests");
    other.password("ana@acme.test", PASSWORD).await.problem(429, "too_many_requests");
    // The allowance of the known browser is ten failures, and no more.
    for _ in 0..9 {
        known.password("ana@acme.test", "a typing error").await.problem(401, "invalid_credentials");
    }
    assert_eq!(known.password("ana@acme.test", PASSWORD).await.status, 200, "the right one");
    known.forget_session();
    let mut stolen = Browser { server: &server, cookies: known.cookies.clone() };
    for _ in 0..10 {
        stolen.password("ana@acme.test", "a guess").await.problem(401, "invalid_credentials");
    }
    stolen.password("ana@acme.test", PASSWORD).await.problem(429, "too_many_requests");
    server.stop().await;
}

#[tokio::test]
async fn a_known_browser_is_no_factor() {
    let server = TestServer::open().await;
    let mut known = Browser { server: &server, cookies: Vec::new() };
    let first = known.password("dora@acme.test", PASSWORD).await.json();
    let totp = format!("/flows/{}/totp", text(&first["id"]));
    let done = known
        .post(&totp, &json!({ "code": Authenticator::of_dora().code(server.clock.now()) }))
        .await
        .json();
    assert_eq!(done["state"], "done", "{done}");
    known.forget_session();
    assert!(known.cookies.iter().any(|cookie| cookie.starts_with("porteiro-known=")));
    server.clock.advance(Duration::from_mins(1));
    let again = known.password("dora@acme.test", PASSWORD).await.json();
    assert_eq!(
        (text(&again["state"]), text(&again["assurance"]["reached"])),
        ("second_factor", "aal1")
    );
    assert_eq!(again["assurance"]["methods"], json!(["pwd"]), "the browser is no method");
    server.stop().await;
}

#[tokio::test]
async fn without_limits_a_hundred_wrong_passwords_close_it_but_for_a_known_browser() {
    let options = TestOptions { rates: None, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    let mut known = Browser { server: &server, cookies: Vec::new() };
    assert_eq!(known.password("ana@acme.test", PASSWORD).await.status, 200);
    known.forget_session();
    server.quiet().await;
    let mut stranger = Browser { server: &server, cookies: Vec::new() };
    for _ in 0..100 {
        stranger.password("ana@acme.test", "a guess").await.problem(401, "invalid_credentials");
    }
    // Neither the right one nor time opens it.
    for _ in 0..2 {
        stranger.password("ana@acme.test", PASSWORD).await.problem(429, "too_many_requests");
        server.clock.advance(Duration::from_hours(24));
    }
    assert_eq!(stranger.password("bruno@acme.test", PASSWORD).await.status, 200, "another account");
    for _ in 0..9 {
        known.password("ana@acme.test", "a typing error").await.problem(401, "invalid_credentials");
    }
    assert_eq!(known.password("ana@acme.test", PASSWORD).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn a_changed_password_ends_what_a_browser_was_known_by() {
    let server = TestServer::open().await;
    let mut known = Browser { server: &server, cookies: Vec::new() };
    assert_eq!(known.password("ana@acme.test", PASSWORD).await.status, 200);
    known.forget_session();
    server.clock.advance(Duration::from_mins(1));
    let folder = Folder::load(&server.keys(), DevKeys::Refused).unwrap();
    let (clock, dice) = (server.clock.clone(), Arc::new(SystemDice));
    let bench = Workbench::open(&server.url, &folder, clock, dice).await.unwrap();
    let (_, id) = bench.store().find(EMAIL_ADDRESSES, "ana@acme.test").await.unwrap().unwrap();
    let new = "another horse, another battery";
    let phc = hash(new.as_bytes(), [7; 16], PasswordCost::CHEAP, &mut Memory::default()).unwrap();
    let mut commit = bench.multi_commit();
    let set = account::Command::SetPassword(PasswordHash::new(phc));
    commit.decide::<Account>(&id, &set).await.unwrap().unwrap();
    commit.commit().await.unwrap();
    bench.close().await;
    server.clock.advance(Duration::from_secs(1));
    for _ in 0..10 {
        let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
        server.step(&flow, "identifier", json!({ "identifier": "ana@acme.test" })).await;
        server.step(&flow, "password", json!({ "password": "a guess" })).await;
    }
    known.password("ana@acme.test", new).await.problem(429, "too_many_requests");
    server.clock.advance(Duration::from_secs(31));
    assert_eq!(known.password("ana@acme.test", new).await.status, 200, "it is known again");
    server.stop().await;
}

#[tokio::test]
async fn another_way_in_opens_a_password_that_others_have_closed() {
    let options = TestOptions { rates: None, mailbox: true, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    let begin = async || {
        let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
        server.step(&flow, "identifier", json!({ "identifier": "ana@acme.test" })).await;
        flow
    };
    for _ in 0..10 {
        let flow = begin().await;
        for _ in 0..10 {
            let wrong = server.step(&flow, "password", json!({ "password": "a guess" })).await;
            wrong.problem(401, "invalid_credentials");
        }
    }
    let flow = begin().await;
    let right = json!({ "password": PASSWORD });
    server.step(&flow, "password", right.clone()).await.problem(429, "too_many_requests");
    assert_eq!(server.step(&flow, "email_code/send", json!({})).await.status, 200);
    let mut sent = Value::Null;
    eventually("a code", async || {
        sent = server.get("/mailbox").await.json();
        sent["items"].as_array().is_some_and(|items| !items.is_empty())
    })
    .await;
    let is_code = |line: &&str| line.len() == 6 && line.bytes().all(|it| it.is_ascii_digit());
    let code = text(&sent["items"][0]["text"]).lines().find(is_code).unwrap();
    // Sent is not proved: an unfinished flow clears nothing.
    server.step(&begin().await, "password", right.clone()).await.problem(429, "too_many_requests");
    let done = server.step(&flow, "email_code", json!({ "code": code })).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    server.quiet().await;
    let again = server.step(&begin().await, "password", right).await;
    assert_eq!(again.json()["state"], "done", "{again:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_flow_that_is_not_finished_clears_no_count() {
    let server = TestServer::open().await;
    let begin = async || {
        let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
        server.step(&flow, "identifier", json!({ "identifier": "dora@acme.test" })).await;
        flow
    };
    let flow = begin().await;
    for _ in 0..9 {
        server.step(&flow, "password", json!({ "password": "wrong" })).await;
    }
    // Right, but the second factor is not given: as if it had not been tried.
    for _ in 0..3 {
        let flow = begin().await;
        let asked = server.step(&flow, "password", json!({ "password": PASSWORD })).await;
        assert_eq!(asked.json()["state"], "second_factor", "{asked:?}");
        server.quiet().await;
    }
    let flow = begin().await;
    let wrong = json!({ "password": "wrong" });
    server.step(&flow, "password", wrong.clone()).await.problem(401, "invalid_credentials");
    server.step(&flow, "password", wrong).await.problem(429, "too_many_requests");
    server.stop().await;
}

#[tokio::test]
async fn a_refused_body_names_the_member_and_never_its_value() {
    let server = TestServer::open().await;
    let pointer = |answer: &Answer| {
        answer.problem(400, "invalid_request");
        let error = &answer.json()["errors"][0];
        (text(&error["pointer"]).to_owned(), text(&error["detail"]).to_owned())
    };
    let missing = server.post_json("/flows", &json!({}), &[]).await;
    assert_eq!(pointer(&missing), ("#/kind".into(), "is missing".into()));
    let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
    let wrong = server.step(&flow, "identifier", json!({ "identifier": ["secret"] })).await;
    assert_eq!(pointer(&wrong), ("#/identifier".into(), "has the wrong type".into()));
    let long = server.step(&flow, "identifier", json!({ "identifier": "x".repeat(300) })).await;
    assert_eq!(pointer(&long), ("#/identifier".into(), "has 1 to 254 characters".into()));
    let unknown = server.step(&flow, "consent", json!({ "decision": "hunter2" })).await;
    assert_eq!(pointer(&unknown), ("#/decision".into(), "has a value that is not known".into()));
    assert!(!unknown.text().contains("hunter2"));
    server.stop().await;
}
