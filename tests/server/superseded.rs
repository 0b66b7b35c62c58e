//! A thief proves something and waits; the person changes what it was proved by. What waits comes to
//! nothing, and what has nothing to do with it goes on (review 2, A1).

use crate::{
    device,
    http::Answer,
    invitations::invited,
    mails::{begin, code, mails, names, prove_by_mail, sent},
    me::{delete_in, get_in, records},
    me_account::{ANA, message_to, open, post_in, renewed, send},
    outside::Outside,
    passkeys::device_of,
    person::{PASSWORD, parameter, redirect, text},
    recovery::sign_in_with,
    step_up::{add_passkey, code as totp_code, dora},
    support::{TestOptions, TestServer},
};
use hyper::Method;
use porteiro::{
    actors::Bound,
    domain::{Clock as _, session::SESSIONS},
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::task::JoinSet;

const NEW: &str = "another long and quiet sentence";
const DORA: &str = "dora@acme.test";

/// A flow that has come as far as the question of consent.
async fn parked(server: &Outside, email: &str) -> Value {
    let flow = server.authorize("app", &[]).await.json();
    let asked = server.prove(&flow, email).await.json();
    assert_eq!(asked["state"], "consent", "{asked}");
    asked
}

async fn allow(server: &Outside, flow: &Value) -> Answer {
    server.step(flow, "consent", json!({ "decision": "allow" })).await
}

/// A flow that was refused is over, and no session has begun.
async fn came_to_nothing(server: &TestServer, flow: &Value, refused: Answer) {
    refused.problem(409, "account_changed");
    let shown = server.get(&format!("/flows/{}", text(&flow["id"]))).await.json();
    assert_eq!((text(&shown["state"]), names(&shown)), ("failed", vec![]), "{shown}");
    if let Some(to) = shown["result"]["redirect_to"].as_str() {
        assert!(to.contains("error=access_denied") && !to.contains("code="), "{shown}");
    }
}

async fn goes_on(server: &TestServer, flow: &Value) {
    let done = allow(server, flow).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    assert!(parameter(&redirect(&done), "code").is_some(), "{done:?}");
}

/// Changes it, and returns the token that the session goes on under.
async fn change_password(server: &TestServer, session: &str, body: Value) -> String {
    renewed(&send(server, Method::PUT, (session, "/me/password"), &body).await)
}

async fn move_mailbox(server: &TestServer, session: &str, to: &str) {
    let asked = post_in(server, session, "/me/email", json!({ "email": to })).await;
    assert_eq!(asked.status, 202, "{asked:?}");
    let right = json!({ "code": code(&message_to(server, to, "\n").await) });
    let confirmed = post_in(server, session, "/me/email/confirm", right).await;
    assert!(confirmed.status.is_success(), "{confirmed:?}");
}

/// How many sessions an account has.
async fn sessions(server: &TestServer, email: &str) -> usize {
    let account = crate::passkeys::id_of(server, email).await;
    let view = server.running().system().view::<porteiro::domain::session::Session>();
    view.list_if(true, (SESSIONS, &account), Bound::new(1_000)).await.unwrap().len()
}

#[tokio::test]
async fn a_password_that_was_changed_ends_what_waits_at_consent() {
    let server = open().await;
    let flow = parked(&server, ANA).await;
    let before = sessions(&server, ANA).await;
    let session = server.sign_in(ANA).await;
    change_password(&server, &session, json!({ "password": NEW })).await;
    let refused = allow(&server, &flow).await;
    came_to_nothing(&server, &flow, refused).await;
    allow(&server, &flow).await.problem(409, "flow_over");
    assert_eq!(sessions(&server, ANA).await, before + 1, "the person's own");
    assert_eq!(records(&server, "sign_in.superseded").await.len(), 1);
    assert_eq!(sign_in_with(&server, ANA, NEW).await.json()["state"], "done");
    server.stop().await;
}

#[tokio::test]
async fn a_password_that_was_removed_ends_what_waits_at_consent() {
    let server = open().await;
    let flow = parked(&server, ANA).await;
    let session = server.sign_in(ANA).await;
    let removed = delete_in(&server, &session, "/me/password").await;
    assert!(removed.status.is_success(), "{removed:?}");
    let refused = allow(&server, &flow).await;
    came_to_nothing(&server, &flow, refused).await;
    server.stop().await;
}

#[tokio::test]
async fn what_has_nothing_to_do_with_the_proof_ends_no_flow() {
    let server = open().await;
    let (described, keyed, moved) =
        (parked(&server, ANA).await, parked(&server, ANA).await, parked(&server, ANA).await);
    let session = server.sign_in(ANA).await;
    let body = json!({ "given_name": "Anna", "locale": "pt" });
    let patched = send(&server, Method::PATCH, (&session, "/me"), &body).await;
    assert_eq!(patched.status, 200, "{patched:?}");
    goes_on(&server, &described).await;
    move_mailbox(&server, &session, "ana@new.test").await;
    goes_on(&server, &moved).await;
    add_passkey(&server, "ana@new.test", "cGFzc2tleQ").await;
    goes_on(&server, &keyed).await;
    server.stop().await;
}

#[tokio::test]
async fn a_recovery_proved_by_a_former_mailbox_sets_no_password_and_ends_no_session() {
    let server = open().await;
    let thief = begin(&server, "recovery").await;
    server.step(&thief, "identifier", json!({ "identifier": ANA })).await;
    let proved = prove_by_mail(&server, &thief).await.json();
    assert_eq!(proved["state"], "credential", "{proved}");
    let session = server.sign_in(ANA).await;
    move_mailbox(&server, &session, "ana@new.test").await;
    let refused = server.step(&thief, "new_password", json!({ "password": NEW })).await;
    came_to_nothing(&server, &thief, refused).await;
    assert_eq!(get_in(&server, &session, "/me").await.status, 200, "the person is signed in");
    assert_eq!(sign_in_with(&server, "ana@new.test", PASSWORD).await.json()["state"], "done");
    // The person recovers by the mailbox that they have.
    let own = begin(&server, "recovery").await;
    server.step(&own, "identifier", json!({ "identifier": "ana@new.test" })).await;
    prove_by_mail(&server, &own).await;
    let done = server.step(&own, "new_password", json!({ "password": NEW })).await.json();
    assert_eq!(done["state"], "done", "{done}");
    server.stop().await;
}

#[tokio::test]
async fn an_address_that_was_changed_ends_what_a_mail_to_it_has_proved() {
    let server = open().await;
    let (flow, unproved) =
        (server.authorize("app", &[]).await.json(), server.authorize("app", &[]).await.json());
    for flow in [&flow, &unproved] {
        server.step(flow, "identifier", json!({ "identifier": ANA })).await;
    }
    let asked = prove_by_mail(&server, &flow).await.json();
    assert_eq!(asked["state"], "consent", "{asked}");
    let kept = code(&sent(&server, &unproved, "email_code/send").await);
    let session = server.sign_in(ANA).await;
    move_mailbox(&server, &session, "ana@new.test").await;
    let refused = allow(&server, &flow).await;
    came_to_nothing(&server, &flow, refused).await;
    let late = server.step(&unproved, "email_code", json!({ "code": kept })).await;
    late.problem(401, "invalid_credentials");
    server.stop().await;
}

#[tokio::test]
async fn a_code_that_went_to_a_former_address_proves_nothing_in_a_session_either() {
    let server = open().await;
    let thief = server.sign_in(ANA).await;
    let body = json!({ "kind": "step_up", "acr": "aal1", "max_age": 0 });
    let flow = server.post_json("/flows", &body, &[("x-session-token", &thief)]).await.json();
    let kept = code(&sent(&server, &flow, "email_code/send").await);
    let session = server.sign_in(ANA).await;
    move_mailbox(&server, &session, "ana@new.test").await;
    let late = server.step(&flow, "email_code", json!({ "code": kept })).await;
    late.problem(401, "invalid_credentials");
    server.stop().await;
}

#[tokio::test]
async fn an_authenticator_application_that_was_removed_ends_what_it_has_proved() {
    let server = open().await;
    let session = dora(&server).await;
    server.clock.advance(Duration::from_mins(1));
    let flow = server.authorize("app", &[]).await.json();
    server.prove(&flow, DORA).await;
    let totp = json!({ "code": totp_code(server.clock.now()) });
    let asked = server.step(&flow, "totp", totp).await.json();
    assert_eq!(asked["state"], "consent", "{asked}");
    let removed = delete_in(&server, &session, "/me/totp").await;
    assert!(removed.status.is_success(), "{removed:?}");
    let refused = allow(&server, &flow).await;
    came_to_nothing(&server, &flow, refused).await;
    goes_on(&server, &parked(&server, DORA).await).await;
    server.stop().await;
}

#[tokio::test]
async fn a_passkey_that_was_removed_ends_what_it_has_proved_and_no_other_does() {
    let server = open().await;
    let mut device = device_of(&server, ANA).await;
    let waiting = async |device: &mut _| {
        let flow = server.authorize("app", &[]).await.json();
        let options = server.step(&flow, "passkey/options", json!({})).await.json();
        let device: &mut crate::passkey_device::Device = device;
        let asked = server.present(&flow, device.get(&options).await).await;
        assert_eq!(asked.json()["state"], "consent", "{asked:?}");
        flow
    };
    let (flow, other) = (waiting(&mut device).await, waiting(&mut device).await);
    add_passkey(&server, ANA, "b3RoZXI").await;
    let signed_in = server.sign_in_by_passkey(&mut device).await;
    let session = text(&signed_in["result"]["session_token"]);
    assert!(delete_in(&server, session, "/me/passkeys/b3RoZXI").await.status.is_success());
    goes_on(&server, &other).await;
    let own = crate::passkeys::kept(&server, ANA).await.swap_remove(0).id;
    let removed = delete_in(&server, session, &format!("/me/passkeys/{own}")).await;
    assert!(removed.status.is_success(), "{removed:?}");
    let refused = allow(&server, &flow).await;
    came_to_nothing(&server, &flow, refused).await;
    server.stop().await;
}

#[tokio::test]
async fn a_flow_in_a_session_ends_with_what_the_session_was_proved_by() {
    let server = open().await;
    let (thief, session) = (server.sign_in(ANA).await, server.sign_in(ANA).await);
    let flow = server.begin_in(&thief, "enroll_totp").await.json();
    let options = server.step_in(&thief, &flow, "totp/options", json!({})).await.json();
    let application = crate::authenticator::Authenticator::new(text(&options["secret"]));
    // The other sessions go on: the person wants it so.
    change_password(&server, &session, json!({ "password": NEW, "keep_sessions": true })).await;
    assert_eq!(get_in(&server, &thief, "/me").await.status, 200);
    let totp = json!({ "code": application.code(server.clock.now()) });
    let refused = server.step_in(&thief, &flow, "totp", totp).await;
    came_to_nothing(&server, &flow, refused).await;
    // What the session was proved by is no fresh proof any more, however lately it was given.
    let again = server.begin_in(&thief, "enroll_totp").await.json();
    assert!(!names(&again).contains(&"totp/options"), "{again}");
    let refused = send(
        &server,
        Method::PUT,
        (&thief, "/me/password"),
        &json!({ "password": "a password of the thief's own" }),
    )
    .await;
    refused.problem(403, "step_up_required");
    // A person who is in that session proves it by the new one.
    let proved =
        server.step_in(&thief, &again, "password", json!({ "password": NEW })).await.json();
    assert!(names(&proved).contains(&"totp/options"), "{proved}");
    server.stop().await;
}

#[tokio::test]
async fn a_device_an_approval_and_an_invitation_wait_for_a_person_whose_proof_stands() {
    let server = device::open_in(TestOptions { mailbox: true, ..TestOptions::default() }).await;
    let codes = device::start(*server, "tv", &[("scope", "openid")]).await;
    let (flow, shown) = device::enter(*server, &codes.user, ANA).await;
    assert_eq!(shown.json()["state"], "confirm", "{shown:?}");
    let token = invited(&server, DORA, &["manager"]).await;
    let invitation = json!({ "kind": "invitation", "token": token });
    let invitation = server.post_json("/flows", &invitation, &[]).await.json();
    let asked = server.step(&invitation, "password", json!({ "password": PASSWORD })).await;
    assert_eq!(asked.json()["state"], "second_factor", "{asked:?}");
    for session in [server.sign_in(ANA).await, dora(&server).await] {
        change_password(&server, &session, json!({ "password": NEW })).await;
    }
    for decision in ["allow", "deny"] {
        let refused = device::confirm(*server, &flow, decision).await;
        let code = if decision == "allow" { "account_changed" } else { "flow_over" };
        refused.problem(409, code);
    }
    let waits = device::poll(*server, "tv", &codes.device).await;
    assert_eq!(waits.json()["error"], "authorization_pending", "another may enter it: {waits:?}");
    server.clock.advance(Duration::from_mins(1));
    let totp = json!({ "code": totp_code(server.clock.now()) });
    let refused = server.step(&invitation, "totp", totp).await;
    came_to_nothing(&server, &invitation, refused).await;
    // It was not spent: the person accepts it by the password that they have.
    let body = json!({ "kind": "invitation", "token": token });
    let own = server.post_json("/flows", &body, &[]).await.json();
    server.step(&own, "password", json!({ "password": NEW })).await;
    server.clock.advance(Duration::from_mins(1));
    let totp = json!({ "code": totp_code(server.clock.now()) });
    let done = server.step(&own, "totp", totp).await.json();
    assert_eq!(done["state"], "done", "{done}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_parked_flows_of_one_account_all_end_with_one_change() {
    const FLOWS: usize = 1_000;
    let options = TestOptions { rates: None, mailbox: true, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    let mut racers = JoinSet::new();
    for lane in 0..8 {
        let outside = *server;
        racers.spawn(async move {
            let mut flows = Vec::new();
            for _ in (lane..FLOWS).step_by(8) {
                flows.push(parked(&outside, ANA).await);
            }
            flows
        });
    }
    let flows: Vec<Value> = racers.join_all().await.into_iter().flatten().collect();
    assert_eq!(flows.len(), FLOWS);
    let session = server.sign_in(ANA).await;
    // Each is in the log and in the person's own history, and a page of it is a page.
    let history = get_in(&server, &session, "/me/history?limit=100").await.json();
    let proofs = |row: &&Value| row["event"] == "credential.proved";
    let shown = history["items"].as_array().unwrap().iter().filter(proofs).count();
    assert!(shown >= 99 && history.get("next_cursor").is_some(), "{shown}");
    change_password(&server, &session, json!({ "password": NEW })).await;
    let mut racers = JoinSet::new();
    for lane in 0..8 {
        let outside = *server;
        let part: Vec<Value> = flows.iter().skip(lane).step_by(8).cloned().collect();
        racers.spawn(async move {
            for flow in part {
                allow(&outside, &flow).await.problem(409, "account_changed");
            }
        });
    }
    racers.join_all().await;
    assert_eq!(sessions(&server, ANA).await, 1, "the person's own");
    let done = sign_in_with(&server, ANA, NEW).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_comes_between_the_last_look_and_the_commit_is_not_missed() {
    let server = open().await;
    let beside = server.beside(TestOptions::default()).await;
    let passwords = [NEW, "a third sentence that is long enough"];
    let mut known = PASSWORD.to_owned();
    for round in 0..24 {
        let flow = server.authorize("app", &[("prompt", "consent")]).await.json();
        server.step(&flow, "identifier", json!({ "identifier": ANA })).await;
        let asked = server.step(&flow, "password", json!({ "password": known })).await.json();
        assert_eq!(asked["state"], "consent", "{asked}");
        let own = sign_in_with(&server, ANA, &known).await.json();
        let session = text(&own["result"]["session_token"]).to_owned();
        let next = passwords[round % 2];
        let body = json!({ "password": next });
        let (ended, _) =
            tokio::join!(allow(&beside, &flow), change_password(&server, &session, body),);
        // Before the change, and then its session has ended with the others; or not at all.
        match ended.status.as_u16() {
            200 => assert_eq!(ended.json()["state"], "done", "{ended:?}"),
            _ => ended.problem(409, "account_changed"),
        }
        crate::shared::eventually("the end of the others", async || {
            sessions(&server, ANA).await == 1
        })
        .await;
        known = next.to_owned();
        server.clock.advance(Duration::from_mins(1));
    }
    beside.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn a_proof_that_waits_is_in_the_persons_history_and_costs_no_commit_of_its_own() {
    let server = open().await;
    let commits = async || {
        server.quiet().await;
        server.running().system().store().report().commits
    };
    let flow = server.authorize("app", &[]).await.json();
    server.step(&flow, "identifier", json!({ "identifier": ANA })).await;
    let before = commits().await;
    let wrong = server.step(&flow, "password", json!({ "password": "a wrong one" })).await;
    wrong.problem(401, "invalid_credentials");
    let of_wrong = commits().await - before;
    let asked = server.step(&flow, "password", json!({ "password": PASSWORD })).await.json();
    assert_eq!(asked["state"], "consent", "{asked}");
    let of_right = commits().await - before - of_wrong;
    // A right one also gives its attempt back.
    assert_eq!(of_right, of_wrong + 1);
    let session = server.sign_in(ANA).await;
    let history = get_in(&server, &session, "/me/history").await.json();
    let rows = history["items"].as_array().unwrap();
    let row = rows.iter().find(|row| row["event"] == "credential.proved").unwrap();
    assert_eq!(
        (text(&row["detail"]["step"]), text(&row["detail"]["flow"])),
        ("password", "sign_in")
    );
    assert!(row["address"].is_string(), "{row}");
    let once = rows.iter().filter(|row| row["event"] == "credential.proved").count();
    assert_eq!(once, 1, "a sign-in that is over at once has a record of its own: {history}");
    assert!(mails(&server).await.is_empty());
    server.stop().await;
}
