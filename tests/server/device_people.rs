//! Device authorization: the people who decide, and what ends with them.

use crate::{
    browser::Browser,
    device::{ANA, BRUNO, allow, ask, begin, confirm, enter, open, open_in, poll, start, steps},
    person::{PASSWORD, claims, text},
    support::{INVOICES, TestOptions},
};
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn a_person_who_is_signed_in_enters_the_code_at_once_or_later() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    let headers = [("x-session-token", session.as_str())];
    let codes = start(*server, "tv", &[("scope", "openid")]).await;
    begin(*server, "BBBB-BBBB", &headers).await.problem(400, "user_code_not_valid");
    // Without a code the flow asks for it, and again where it was wrong.
    let begun = server.post_json("/flows", &json!({ "kind": "device" }), &headers).await;
    let flow = begun.json();
    assert_eq!((&flow["state"], steps(&flow)), (&json!("confirm"), vec!["user_code"]), "{flow}");
    let path = |step: &str| format!("/flows/{}/{step}", text(&flow["id"]));
    let allow = json!({ "decision": "allow" });
    let early = server.post_json(&path("confirm"), &allow, &headers).await;
    early.problem(409, "step_not_available");
    for wrong in ["BBBB-BBBB", "", "AEIOU"] {
        let body = json!({ "user_code": wrong });
        let refused = server.post_json(&path("user_code"), &body, &headers).await;
        refused.problem(400, "user_code_not_valid");
    }
    let body = json!({ "user_code": codes.user });
    let shown = server.post_json(&path("user_code"), &body, &headers).await.json();
    assert_eq!((&shown["state"], steps(&shown)), (&json!("confirm"), vec!["confirm"]), "{shown}");
    let done = server.post_json(&path("confirm"), &allow, &headers).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    assert_eq!(poll(*server, "tv", &codes.device).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn user_codes_guessed_from_many_addresses_are_limited_by_account() {
    let proxies = vec!["127.0.0.0/8".parse().unwrap()];
    let server = open_in(TestOptions { proxies, ..TestOptions::default() }).await;
    let codes = start(*server, "tv", &[("scope", "openid")]).await;
    let (ana, bruno) = (server.sign_in(ANA).await, server.sign_in(BRUNO).await);
    let guess = async |number: u32, code: &str, session: &str| {
        let from = format!("203.0.113.{number}");
        let headers = [("x-forwarded-for", from.as_str()), ("x-session-token", session)];
        begin(*server, code, &headers).await
    };
    for number in 0..10 {
        guess(number, "BBBB-BBBB", &ana).await.problem(400, "user_code_not_valid");
    }
    let refused = guess(200, &codes.user, &ana).await;
    refused.problem(429, "too_many_requests");
    assert!(refused.header("retry-after").is_some());
    // Another person is not kept out by it.
    let shown = guess(201, &codes.user, &bruno).await;
    assert_eq!(shown.status, 201, "{shown:?}");
    // An attacker has a device of their own: its code clears nothing.
    server.clock.advance(Duration::from_mins(6));
    let own = start(*server, "radio", &[("organization", "acme")]).await;
    assert_eq!(guess(202, &own.user, &ana).await.status, 201);
    server.quiet().await;
    let mut judged = 0;
    for number in 210..214 {
        let answer = guess(number, "BBBB-BBBB", &ana).await;
        judged += usize::from(answer.status == 400);
    }
    assert!(judged <= 1, "{judged} guesses");
    server.stop().await;
}

#[tokio::test]
async fn a_flow_that_began_in_one_browser_ends_in_no_other() {
    let server = open().await;
    let codes = start(*server, "tv", &[("scope", "openid")]).await;
    let mut one = Browser { server: &server, cookies: Vec::new() };
    let mut other = Browser { server: &server, cookies: Vec::new() };
    let body = json!({ "kind": "device", "user_code": codes.user });
    let flow = one.post("/flows", &body).await.json();
    other.password(ANA, PASSWORD).await;
    let path = |step: &str| format!("/flows/{}/{step}", text(&flow["id"]));
    let identify = json!({ "identifier": ANA });
    other.post(&path("identifier"), &identify).await.problem(403, "wrong_channel");
    server.step(&flow, "identifier", identify.clone()).await.problem(403, "wrong_channel");
    one.post(&path("identifier"), &identify).await;
    let shown = one.post(&path("password"), &json!({ "password": PASSWORD })).await;
    assert_eq!(shown.json()["state"], "confirm", "{shown:?}");
    let allow = json!({ "decision": "allow" });
    other.post(&path("confirm"), &allow).await.problem(403, "wrong_channel");
    server.step(&flow, "confirm", allow.clone()).await.problem(403, "wrong_channel");
    poll(*server, "tv", &codes.device).await.refused(400, "authorization_pending");
    assert_eq!(one.post(&path("confirm"), &allow).await.json()["state"], "done");
    assert_eq!(poll(*server, "tv", &codes.device).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn what_a_person_may_not_grant_is_denied_to_the_device() {
    let server = open().await;
    for (email, fields, code) in [
        // A clerk may not approve.
        (BRUNO, [("scope", "invoices:approve"), ("organization", "acme")], "invalid_scope"),
        (ANA, [("scope", "openid"), ("organization", "other")], "access_denied"),
        (ANA, [("scope", "openid"), ("organization", "nowhere")], "access_denied"),
        (
            "clara@nowhere.test",
            [("scope", "invoices:read"), ("resource", INVOICES)],
            "invalid_scope",
        ),
    ] {
        let codes = start(*server, "tv", &fields).await;
        let (_, failed) = enter(*server, &codes.user, email).await;
        assert_eq!((failed.status.as_u16(), &failed.json()["state"]), (200, &json!("failed")));
        poll(*server, "tv", &codes.device).await.refused(400, code);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_suspended_organization_is_denied_before_and_after_the_approval() {
    let server = open().await;
    let asked = [("scope", "invoices:read"), ("organization", "acme")];
    let (before, after) = (start(*server, "tv", &asked).await, start(*server, "tv", &asked).await);
    allow(*server, &after.user, ANA).await;
    let (flow, _) = enter(*server, &before.user, ANA).await;
    server.apply("[[organization]]\nslug = \"acme\"\nenabled = false\n").await;
    poll(*server, "tv", &after.device).await.refused(400, "access_denied");
    let failed = confirm(*server, &flow, "allow").await;
    assert_eq!(failed.json()["state"], "failed", "{failed:?}");
    poll(*server, "tv", &before.device).await.refused(400, "access_denied");
    server.stop().await;
}

#[tokio::test]
async fn a_person_with_several_organizations_chooses_one() {
    let server = open().await;
    let codes = start(*server, "tv", &[("scope", "openid")]).await;
    let (flow, asked) = enter(*server, &codes.user, BRUNO).await;
    assert_eq!(asked.json()["state"], "organization", "{asked:?}");
    assert_eq!(asked.json()["organizations"].as_array().unwrap().len(), 2);
    let chosen = server.step(&flow, "organization", json!({ "organization": "other" })).await;
    assert_eq!(chosen.json()["organization"], "other", "{chosen:?}");
    confirm(*server, &flow, "allow").await;
    let tokens = poll(*server, "tv", &codes.device).await.json();
    assert_eq!(claims(&tokens["access_token"])["org"], "other");
    server.stop().await;
}

#[tokio::test]
async fn a_device_ends_with_the_session_that_let_it_in_unless_it_is_offline() {
    let server = open().await;
    for (scope, survives) in [("openid", false), ("openid offline_access", true)] {
        let codes = start(*server, "tv", &[("scope", scope)]).await;
        let session = allow(*server, &codes.user, ANA).await;
        let tokens = poll(*server, "tv", &codes.device).await.json();
        let headers = [("x-session-token", session.as_str())];
        let flow =
            server.post_json("/flows", &json!({ "kind": "sign_out" }), &headers).await.json();
        let path = format!("/flows/{}/confirm", text(&flow["id"]));
        let out = server.post_json(&path, &json!({ "decision": "allow" }), &headers).await;
        assert_eq!(out.json()["state"], "done", "{out:?}");
        let refresh =
            [("grant_type", "refresh_token"), ("refresh_token", text(&tokens["refresh_token"]))];
        let refreshed = ask(*server, "tv", "/connect/token", &refresh).await;
        assert_eq!(refreshed.status == 200, survives, "{scope}: {refreshed:?}");
    }
    server.stop().await;
}
