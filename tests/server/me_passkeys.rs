//! Passkeys under `/me`: what is shown of them, and what a change of them takes.

use crate::{
    http::Answer,
    mails::wait_for,
    me::{ask, delete_in, get_in, records},
    person::{PASSWORD, text},
    step_up::{add_passkey, code, dora, reached, token},
    support::{TestOptions, TestServer},
};
use hyper::Method;
use porteiro::domain::Clock as _;
use serde_json::{Value, json};
use std::time::Duration;

async fn rename(server: &TestServer, session: &str, id: &str, body: &Value) -> Answer {
    let request = server
        .request(Method::PATCH, &format!("/me/passkeys/{id}"))
        .header("content-type", "application/json")
        .header("x-session-token", session);
    server.send(request.body(body.to_string().into()).unwrap()).await
}

#[tokio::test]
async fn passkeys_are_listed_named_and_removed_by_a_fresh_proof() {
    let server = TestServer::open_in(TestOptions { mailbox: true, ..TestOptions::default() }).await;
    add_passkey(&server, "dora@acme.test", "cGFzc2tleQ").await;
    let session = dora(&server).await;
    let listed = get_in(&server, &session, "/me/passkeys").await;
    let items = listed.json()["items"].as_array().unwrap().clone();
    assert_eq!(items.len(), 1, "{listed:?}");
    let passkey = &items[0];
    assert_eq!((text(&passkey["id"]), text(&passkey["name"])), ("cGFzc2tleQ", "Phone"));
    assert_eq!((&passkey["backed_up"], &passkey["device_bound"]), (&json!(true), &json!(false)));
    assert!(text(&passkey["created_at"]).ends_with('Z') && passkey.get("verifier").is_none());
    assert_eq!(get_in(&server, &session, "/me").await.json()["credentials"]["passkeys"], 1);

    let renamed =
        rename(&server, &session, "cGFzc2tleQ", &json!({ "name": " Telefone 📱 " })).await;
    assert_eq!(renamed.status, 200, "{renamed:?}");
    assert_eq!(text(&renamed.json()["name"]), "Telefone 📱");
    for bad in ["", "  ", &"x".repeat(65), "a\u{7}b", "a\u{202e}b"] {
        let refused = rename(&server, &session, "cGFzc2tleQ", &json!({ "name": bad })).await;
        refused.problem(400, "invalid_request");
        assert_eq!(refused.json()["errors"][0]["pointer"], "#/name");
    }
    rename(&server, &session, "cGFzc2tleQ", &json!({})).await.problem(400, "invalid_request");
    for unknown in ["AAAA", "%00", "%ff", "a.b", &"A".repeat(3_000)] {
        let path = format!("/me/passkeys/{unknown}");
        delete_in(&server, &session, &path).await.problem(404, "not_found");
    }
    // Another account has none of it.
    let ana = server.sign_in("ana@acme.test").await;
    delete_in(&server, &ana, "/me/passkeys/cGFzc2tleQ").await.problem(404, "not_found");
    rename(&server, &ana, "cGFzc2tleQ", &json!({ "name": "x" })).await.problem(404, "not_found");

    let removed = delete_in(&server, &session, "/me/passkeys/cGFzc2tleQ").await;
    assert_eq!((removed.status.as_u16(), removed.body.len()), (204, 0), "{removed:?}");
    assert_eq!(get_in(&server, &session, "/me/passkeys").await.json()["items"], json!([]));
    delete_in(&server, &session, "/me/passkeys/cGFzc2tleQ").await.problem(404, "not_found");
    let mails = wait_for(&server, 1).await;
    assert_eq!(text(&mails[0]["to"]), "dora@acme.test", "she is told: {mails:?}");
    assert!(mails[0].to_string().contains("Telefone"), "{mails:?}");
    for event in ["credential.passkey_renamed", "credential.passkey_removed"] {
        let written = records(&server, event).await;
        assert_eq!(written.len(), 1, "{event}: {written:?}");
        assert_eq!(written[0]["passkey"], "cGFzc2tleQ");
        assert_eq!(written[0]["context"]["actor"]["id"], written[0]["account"]);
        assert!(!written[0].to_string().contains("Telefone"), "names are not for the log");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_change_of_passkeys_needs_a_fresh_proof_and_the_refusal_leads_to_it() {
    let server = TestServer::open().await;
    add_passkey(&server, "dora@acme.test", "cGFzc2tleQ").await;
    let session = dora(&server).await;
    server.clock.advance(Duration::from_mins(16));
    assert_eq!(reached(&server, &session).await, "aal2", "enough to look, too old to change");
    let path = "/me/passkeys/cGFzc2tleQ";
    let renamed = rename(&server, &session, "cGFzc2tleQ", &json!({ "name": "x" })).await;
    renamed.problem(403, "step_up_required");
    let refused = delete_in(&server, &session, path).await;
    refused.problem(403, "step_up_required");
    let flow = refused.json()["flow"].clone();
    assert_eq!((text(&flow["kind"]), text(&flow["assurance"]["required"])), ("step_up", "aal2"));
    assert!(text(&flow["id"]).starts_with("flw_"));
    assert_eq!(get_in(&server, &session, "/me/passkeys").await.json()["items"][0]["name"], "Phone");
    let once = server.step_in(&session, &flow, "password", json!({ "password": PASSWORD })).await;
    assert_eq!(once.json()["state"], "second_factor", "an old code does not count: {once:?}");
    let right = json!({ "code": code(server.clock.now()) });
    let done = server.step_in(&session, &flow, "totp", right).await;
    let renewed = token(&done);
    delete_in(&server, &session, path).await.problem(401, "session_required");
    assert_eq!(delete_in(&server, &renewed, path).await.status, 204);
    server.stop().await;
}

#[tokio::test]
async fn where_two_factors_are_held_one_changes_nothing() {
    let server = TestServer::open().await;
    // A session of one factor: the password is known to an attacker, the passkey is not.
    let session = server.sign_in("ana@acme.test").await;
    add_passkey(&server, "ana@acme.test", "cGFzc2tleQ").await;
    let refused = delete_in(&server, &session, "/me/passkeys/cGFzc2tleQ").await;
    refused.problem(403, "step_up_required");
    let flow = refused.json()["flow"].clone();
    let again = server.step_in(&session, &flow, "password", json!({ "password": PASSWORD })).await;
    assert_ne!(again.json()["state"], "done", "{again:?}");
    let cookie = format!("porteiro={session}");
    let browser = [("cookie", cookie.as_str()), ("sec-fetch-site", "same-origin")];
    let refused = ask(&server, Method::DELETE, "/me/passkeys/cGFzc2tleQ", &browser).await;
    refused.problem(403, "step_up_required");
    let set = refused.header("set-cookie").unwrap();
    assert!(set.starts_with("porteiro-browser="), "the flow is the browser's: {set}");
    server.stop().await;
}
