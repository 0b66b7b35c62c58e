//! CIBA: a flow in which a person proves enough and approves.

use crate::{
    ciba::{ANA, CLARA, TRANSFER, ask, decide, open, open_in, poll, start, waiting},
    me::records,
    passkeys::{device_of, id_of},
    person::{claims, text},
    step_up::{code, dora},
    support::{TestOptions, TestServer},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro::{domain::Clock as _, http::Links};
use serde_json::{Value, json};
use std::time::Duration;

fn steps(document: &Value) -> Vec<&str> {
    document["steps"].as_array().unwrap().iter().map(|step| text(&step["name"])).collect()
}

/// Dora becomes a manager of Acme.
async fn promote_dora(server: &TestServer) {
    server
        .apply(
            "[[account]]\nemail = \"dora@acme.test\"\n\
             memberships = [{ organization = \"acme\", roles = [\"manager\"] }]\n",
        )
        .await;
}

#[tokio::test]
async fn what_cannot_be_taken_back_needs_two_factors_in_a_flow_that_ends_in_the_approval() {
    let server = open().await;
    promote_dora(&server).await;
    let session = dora(&server).await;
    server.clock.advance(Duration::from_mins(61));
    let details = [("authorization_details", TRANSFER)];
    let id = start(*server, "agent", "dora@acme.test", &details).await;
    let items = waiting(&server, &session).await;
    let shown = &items[0]["authorization_details"][0];
    assert_eq!((&shown["amount"], &shown["text"]["pt"]), (&json!(50), &json!("Transferir 50 EUR")));
    let approval = text(&items[0]["id"]);
    let approve = json!({ "decision": "approve" });
    let refused = decide(*server, &session, approval, approve.clone()).await;
    refused.problem(403, "step_up_required");
    let flow = refused.json()["flow"].clone();
    assert_eq!((&flow["kind"], &flow["state"]), (&json!("approval"), &json!("second_factor")));
    assert_eq!((&flow["client"]["client_id"], steps(&flow)[0]), (&json!("agent"), "totp"));
    assert_eq!(flow["authorization_details"][0]["text"]["en"], "Transfer 50 EUR");
    poll(*server, "agent", &id).await.refused(400, "authorization_pending");
    let wrong = server.step_in(&session, &flow, "totp", json!({ "code": "000000" })).await;
    wrong.problem(401, "invalid_credentials");
    let proof = json!({ "code": code(server.clock.now()) });
    let done = server.step_in(&session, &flow, "totp", proof).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    let renewed = text(&done.json()["result"]["session_token"]).to_owned();
    // The caller may ask again, as it was told, and hears that it is done.
    assert_eq!(decide(*server, &renewed, approval, approve.clone()).await.status, 204);
    let deny = json!({ "decision": "deny" });
    decide(*server, &renewed, approval, deny).await.problem(409, "already_decided");
    let tokens = poll(*server, "agent", &id).await.json();
    assert_eq!(tokens["authorization_details"], json!([{ "type": "transfer", "amount": 50 }]));
    assert_eq!(claims(&tokens["access_token"])["acr"], "aal2");
    // One who has no second factor cannot.
    let ana = server.sign_in(ANA).await;
    let id = start(*server, "agent", ANA, &details).await;
    let items = waiting(&server, &ana).await;
    let refused = decide(*server, &ana, text(&items[0]["id"]), approve).await;
    refused.problem(403, "assurance_out_of_reach");
    assert_eq!(refused.json()["enroll"], json!(["enroll_passkey", "enroll_totp"]));
    poll(*server, "agent", &id).await.refused(400, "authorization_pending");
    server.stop().await;
}

#[tokio::test]
async fn a_passkey_signs_the_hash_of_exactly_what_was_shown() {
    let server = open().await;
    let mut device = device_of(&server, ANA).await;
    let signed_in = server.sign_in_by_passkey(&mut device).await;
    let session = text(&signed_in["result"]["session_token"]).to_owned();
    let id = start(*server, "agent", ANA, &[("authorization_details", TRANSFER)]).await;
    let items = waiting(&server, &session).await;
    // The session has proved two factors a moment ago, and not this.
    let approve = json!({ "decision": "approve" });
    let refused = decide(*server, &session, text(&items[0]["id"]), approve).await;
    refused.problem(403, "step_up_required");
    let flow = refused.json()["flow"].clone();
    assert!(steps(&flow).contains(&"passkey"), "{flow}");
    // A password is not enough.
    let body = json!({ "password": crate::person::PASSWORD });
    let more = server.step_in(&session, &flow, "password", body).await;
    assert_eq!(more.json()["state"], "credential", "{more:?}");
    let options = server.step_in(&session, &flow, "passkey/options", json!({})).await.json();
    let challenge = URL_SAFE_NO_PAD.decode(text(&options["publicKey"]["challenge"])).unwrap();
    assert_eq!(challenge.len(), 64);
    let credential = device.get(&options).await;
    let body = json!({ "credential": credential });
    let done = server.step_in(&session, &flow, "passkey", body).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    assert_eq!(poll(*server, "agent", &id).await.status, 200);
    let [given] = &records(&server, "approval.given").await[..] else { panic!("one") };
    assert_eq!(given["shown"], URL_SAFE_NO_PAD.encode(&challenge[32..]), "{given}");
    assert_eq!(given["asserted"], true);
    server.stop().await;
}

#[tokio::test]
async fn a_flow_of_kind_approval_signs_in_shows_and_decides() {
    let server = open().await;
    let id = start(*server, "agent", ANA, &[("binding_message", "7")]).await;
    let approval = {
        let session = server.sign_in(ANA).await;
        text(&waiting(&server, &session).await[0]["id"]).to_owned()
    };
    let begin = async |headers: &[(&str, &str)]| {
        let body = json!({ "kind": "approval", "approval": approval });
        server.post_json("/flows", &body, headers).await
    };
    // Another person is not shown it.
    let flow = begin(&[]).await.json();
    assert!(flow.get("client").is_none() && flow.get("approval").is_none(), "{flow}");
    server.prove(&flow, CLARA).await.problem(404, "approval_not_waiting");
    let flow = begin(&[]).await.json();
    let shown = server.prove(&flow, ANA).await.json();
    assert_eq!((&shown["state"], steps(&shown)), (&json!("confirm"), vec!["confirm"]), "{shown}");
    assert_eq!(shown["approval"]["binding_message"], "7");
    assert_eq!(shown["client"]["client_id"], "agent");
    poll(*server, "agent", &id).await.refused(400, "authorization_pending");
    let done = server.step(&flow, "confirm", json!({ "decision": "allow" })).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    assert_eq!(poll(*server, "agent", &id).await.status, 200);
    begin(&[]).await;
    let session = server.sign_in(ANA).await;
    let headers = [("x-session-token", session.as_str())];
    begin(&headers).await.problem(409, "already_decided");
    // In a session, without an id, and blocked.
    let id = start(*server, "agent", ANA, &[]).await;
    let flow = server.post_json("/flows", &json!({ "kind": "approval" }), &headers).await.json();
    assert_eq!((&flow["state"], &flow["organization"]), (&json!("confirm"), &json!("acme")));
    let denied = server.step_in(&session, &flow, "confirm", json!({ "decision": "block" })).await;
    assert_eq!(denied.json()["state"], "failed", "{denied:?}");
    poll(*server, "agent", &id).await.refused(400, "access_denied");
    ask(*server, "agent", ANA, &[]).await.refused(403, "access_denied");
    server.stop().await;
}

#[tokio::test]
async fn the_person_is_written_to_and_the_link_decides_nothing() {
    let approval = Some("https://login.example.com/ok?theme=dark".parse().unwrap());
    let links = Links { approval, ..Links::default() };
    let options = TestOptions { screens: false, links, mailbox: true, ..TestOptions::default() };
    let server = open_in(options).await;
    let id = start(*server, "agent", ANA, &[]).await;
    let mailbox = server.mailbox.clone().unwrap();
    crate::shared::eventually("a mail", async || !mailbox.messages().is_empty()).await;
    let mail = mailbox.messages().remove(0);
    assert_eq!(mail.to, ANA);
    let link = "https://login.example.com/ok?theme=dark&approval=";
    let alone: Vec<&str> = mail.text.lines().filter(|line| line.starts_with("https://")).collect();
    let [line] = alone[..] else { panic!("{}", mail.text) };
    assert!(line.starts_with(link), "{line}");
    assert!(mail.text.contains("Agent"), "{}", mail.text);
    poll(*server, "agent", &id).await.refused(400, "authorization_pending");
    // It has no page here.
    assert_eq!(server.get("/approve").await.status, 404);
    assert_eq!(id_of(&server, ANA).await.len(), 36);
    server.stop().await;
}
