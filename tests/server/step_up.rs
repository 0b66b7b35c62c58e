//! Proving more, or again, in a session: flows of kind `step_up`, and what demands them.

use crate::{
    authenticator::Authenticator,
    http::Answer,
    me::get_in,
    person::{PASSWORD, claims, parameter, redirect, text},
    support::{TestOptions, TestServer},
};
use porteiro::{
    domain::{
        Clock as _, Context, Timestamp,
        account::{Account, Command, EMAIL_ADDRESSES, Passkey},
        assurance::Worth,
        flow::{AccountProof, ProofStep, Role},
    },
    http::flows::steps::{Step, StepRequest, Steps, Taking},
    server::Flows,
};
use serde_json::{Value, json};
use std::time::Duration;

/// The code of Dora's authenticator application.
pub fn code(now: Timestamp) -> String {
    Authenticator::of_dora().code(now)
}

fn names(document: &Value) -> Vec<&str> {
    document["steps"].as_array().unwrap().iter().map(|step| text(&step["name"])).collect()
}

/// Dora signs in with password and code.
pub async fn dora(server: &TestServer) -> String {
    // A code works once.
    server.clock.advance(Duration::from_mins(1));
    let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
    server.prove(&flow, "dora@acme.test").await;
    let done = server.step(&flow, "totp", json!({ "code": code(server.clock.now()) })).await;
    token(&done)
}

#[track_caller]
pub fn token(done: &Answer) -> String {
    let document = done.json();
    assert_eq!(document["state"], "done", "{document}");
    text(&document["result"]["session_token"]).to_owned()
}

async fn begin(server: &TestServer, session: &str, body: Value) -> Answer {
    server.post_json("/flows", &body, &[("x-session-token", session)]).await
}

/// What the session is worth now.
pub async fn reached(server: &TestServer, session: &str) -> String {
    let me = get_in(server, session, "/me").await;
    assert_eq!(me.status, 200, "{me:?}");
    text(&me.json()["assurance"]["reached"]).to_owned()
}

/// Gives an account a passkey that no device holds: it can be listed, named and removed.
pub async fn add_passkey(server: &TestServer, email: &str, id: &str) {
    let system = server.running().system();
    let (_, account) = system.store().find(EMAIL_ADDRESSES, email).await.unwrap().unwrap();
    let passkey = Passkey {
        id: id.to_owned(),
        name: "Phone".to_owned(),
        verifier: json!({}),
        backup_eligible: true,
        backed_up: true,
        attested: false,
        last_used_at: None,
    };
    let mut commit = system.multi_commit(&Context::operator());
    let added = commit.decide::<Account>(&account, &Command::AddPasskey(Box::new(passkey))).await;
    added.unwrap().unwrap();
    commit.commit().await.unwrap();
}

#[tokio::test]
async fn a_step_up_begins_in_a_session_and_ends_in_it_under_a_new_token() {
    let server = TestServer::open().await;
    let kind = json!({ "kind": "step_up" });
    server.post_json("/flows", &kind, &[]).await.problem(401, "session_required");
    let session = dora(&server).await;
    server.clock.advance(Duration::from_mins(61));
    assert_eq!(reached(&server, &session).await, "aal1", "an hour without use");
    let begun = begin(&server, &session, kind).await;
    assert_eq!(begun.status, 201, "{begun:?}");
    let flow = begun.json();
    assert_eq!((text(&flow["kind"]), text(&flow["state"])), ("step_up", "second_factor"));
    assert_eq!((names(&flow)[0], text(&flow["assurance"]["required"])), ("totp", "aal2"));
    let wrong = server.step_in(&session, &flow, "totp", json!({ "code": "000000" })).await;
    wrong.problem(401, "invalid_credentials");
    // The flow is the channel's: it ends in the session that it began in, be it named again or not.
    let done = server.step(&flow, "totp", json!({ "code": code(server.clock.now()) })).await;
    assert_eq!(done.json()["assurance"]["reached"], "aal2");
    let renewed = token(&done);
    assert_eq!((&session[..26], reached(&server, &renewed).await), (&renewed[..26], "aal2".into()));
    get_in(&server, &session, "/me").await.problem(401, "session_required");
    server.stop().await;
}

#[tokio::test]
async fn a_step_up_never_ends_below_what_it_is_for() {
    let server = TestServer::open().await;
    // Ana has a password alone: two factors are out of her reach, and she is told at once what to add.
    let session = server.sign_in("ana@acme.test").await;
    for (body, kinds) in [
        (json!({ "kind": "step_up" }), json!(["enroll_passkey", "enroll_totp"])),
        (json!({ "kind": "step_up", "acr": "aal2" }), json!(["enroll_passkey", "enroll_totp"])),
        (json!({ "kind": "step_up", "acr": "phr" }), json!(["enroll_passkey"])),
        (json!({ "kind": "step_up", "acr": "aal3" }), json!(["enroll_passkey"])),
    ] {
        let refused = begin(&server, &session, body).await;
        refused.problem(403, "assurance_out_of_reach");
        assert_eq!(refused.json()["enroll"], kinds, "{refused:?}");
    }
    assert_eq!(get_in(&server, &session, "/me").await.status, 200, "the session is as it was");
    // Two proofs of one factor are one; Dora has two.
    let dora = dora(&server).await;
    server.clock.advance(Duration::from_hours(25));
    let flow = begin(&server, &dora, json!({ "kind": "step_up", "acr": "aal2" })).await.json();
    assert_eq!(flow["state"], "credential", "{flow}");
    assert!(names(&flow).contains(&"password") && !names(&flow).contains(&"identifier"), "{flow}");
    let again = server.step_in(&dora, &flow, "password", json!({ "password": PASSWORD })).await;
    assert_eq!(again.json()["state"], "second_factor", "{again:?}");
    assert!(again.json().get("result").is_none(), "{again:?}");
    let session = server.sign_in("ana@acme.test").await;
    // A fresh proof of one factor she has.
    server.clock.advance(Duration::from_mins(20));
    let body = json!({ "kind": "step_up", "acr": "aal1", "max_age": 0 });
    let flow = begin(&server, &session, body).await.json();
    assert_eq!(flow["assurance"]["required"], "aal1");
    let done = server.step_in(&session, &flow, "password", json!({ "password": PASSWORD })).await;
    let renewed = token(&done);
    let auth_time = get_in(&server, &renewed, "/me").await.json()["assurance"]["auth_time"].clone();
    assert_eq!(auth_time, server.clock.now().seconds());
    for bad in [json!("aal9"), json!(7), json!("")] {
        let body = json!({ "kind": "step_up", "acr": bad });
        begin(&server, &renewed, body).await.problem(400, "invalid_request");
    }
    let body = json!({ "kind": "step_up", "max_age": -1 });
    begin(&server, &renewed, body).await.problem(400, "invalid_request");
    server.stop().await;
}

#[tokio::test]
async fn what_is_wanted_fresh_is_not_met_by_what_was_proved_before() {
    let server = TestServer::open().await;
    let session = dora(&server).await;
    server.clock.advance(Duration::from_mins(16));
    assert_eq!(reached(&server, &session).await, "aal2", "still");
    let body = json!({ "kind": "step_up", "max_age": 900 });
    let flow = begin(&server, &session, body).await.json();
    let one = json!({ "code": code(server.clock.now()) });
    let after_code = match text(&flow["state"]) {
        "credential" => server.step_in(&session, &flow, "totp", one).await,
        other => panic!("{other}: nothing that counts was proved"),
    };
    assert_eq!(after_code.json()["state"], "credential", "one fresh factor: {after_code:?}");
    let done = server.step_in(&session, &flow, "password", json!({ "password": PASSWORD })).await;
    assert_eq!(reached(&server, &token(&done)).await, "aal2");
    server.stop().await;
}

#[tokio::test]
async fn another_persons_proof_steps_nothing_up() {
    let server = TestServer::open().await;
    add_passkey(&server, "ana@acme.test", "key").await;
    let (ana, dora) = (server.sign_in("ana@acme.test").await, dora(&server).await);
    let flow = begin(&server, &ana, json!({ "kind": "step_up" })).await.json();
    // Ana's flow asks for what Ana has, and names no other person.
    server
        .step_in(&ana, &flow, "totp", json!({ "code": code(server.clock.now()) }))
        .await
        .problem(409, "step_not_available");
    server
        .step_in(&ana, &flow, "identifier", json!({ "identifier": "dora@acme.test" }))
        .await
        .problem(409, "step_not_available");
    // Nor does a session of Dora's turn Ana's flow into one of hers.
    let done = server.step_in(&dora, &flow, "password", json!({ "password": PASSWORD })).await;
    assert_ne!(done.json()["state"], "done", "{done:?}");
    server.stop().await;
}

#[tokio::test]
async fn two_factors_lapse_after_a_day_and_both_are_asked_for_again() {
    let server = TestServer::open().await;
    let session = dora(&server).await;
    let tokens = {
        let code = server.code(&session, "web", "openid offline_access").await;
        server.redeem("web", &code).await.json()
    };
    for _ in 0..48 {
        server.clock.advance(Duration::from_mins(30));
        get_in(&server, &session, "/me").await;
    }
    assert_eq!(reached(&server, &session).await, "aal1", "used or not");
    // What a token says is what was proved; introspection says what is left of it (adr/0056).
    let refreshed = server.refresh("web", text(&tokens["refresh_token"])).await.json();
    let token_of = text(&refreshed["access_token"]);
    assert_eq!(claims(&refreshed["access_token"])["acr"], "aal2", "RFC 9068 §2.2.1");
    assert_eq!(server.introspect("web", token_of).await["acr"], "aal1");
    assert_eq!(server.userinfo(token_of).await.status, 200);
    let flow = begin(&server, &session, json!({ "kind": "step_up" })).await.json();
    assert_eq!(flow["state"], "credential", "the password is a day old as well: {flow}");
    let asked = server.step_in(&session, &flow, "password", json!({ "password": PASSWORD })).await;
    assert_eq!(asked.json()["state"], "second_factor", "{asked:?}");
    let right = json!({ "code": code(server.clock.now()) });
    let done = server.step_in(&session, &flow, "totp", right).await;
    let renewed = token(&done);
    assert_eq!(reached(&server, &renewed).await, "aal2");
    let fresh = server.code(&renewed, "web", "openid").await;
    let fresh = server.redeem("web", &fresh).await.json();
    assert_eq!(server.introspect("web", text(&fresh["access_token"])).await["acr"], "aal2");
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_wants_more_by_request_or_by_registration_steps_the_session_up() {
    let server = TestServer::open().await;
    let session = dora(&server).await;
    server.clock.advance(Duration::from_mins(61));
    server
        .apply(
            "[[client]]\nclient_id = \"web\"\nclient_name = \"Web\"\n\
             redirect_uris = [\"https://web.example.com/cb\"]\ntrusted = true\n\
             default_acr_values = [\"aal2\"]\n",
        )
        .await;
    server.clock.expire_views();
    for otherwise in [&[][..], &[("acr_values", "aal2")], &[("acr_values", "phrh aal2")]] {
        let asked = server.authorize_in(&session, "web", otherwise).await.json();
        assert_eq!(
            (text(&asked["kind"]), text(&asked["state"])),
            ("step_up", "second_factor"),
            "{otherwise:?}: {asked}"
        );
    }
    let plain = server.authorize_in(&session, "web", &[("acr_values", "aal1")]).await;
    assert_eq!(plain.json()["state"], "done", "the request goes before the registration");
    let silent = server.authorize_in(&session, "web", &[("prompt", "none")]).await;
    assert_eq!(parameter(&redirect(&silent), "error").as_deref(), Some("login_required"));
    let flow = server.authorize_in(&session, "web", &[]).await.json();
    let right = json!({ "code": code(server.clock.now()) });
    let done = server.step_in(&session, &flow, "totp", right).await;
    let code = parameter(&redirect(&done), "code").unwrap();
    let tokens = server.redeem("web", &code).await.json();
    assert_eq!(claims(&tokens["id_token"])["acr"], "aal2");
    server.stop().await;
}

/// Stands for a passkey, which a word proves.
struct ToyPasskey;

#[derive(serde::Deserialize)]
struct Word {
    word: String,
}

impl Step for ToyPasskey {
    fn path(&self) -> &'static str {
        "toy_passkey"
    }

    fn proof(&self) -> Option<ProofStep> {
        let (worth, roles) = (Worth::PASSKEY, &[Role::Second][..]);
        Some(ProofStep { name: self.path(), preparing: &[], worth, roles })
    }

    fn take<'a>(&'a self, mut request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(async move {
            let Word { word } = request.body()?;
            let named = request.named(self).await?;
            // An account may have several: a proof names its passkey.
            let by = named.account().and_then(|known| known.passkey_authenticator("AAAA"));
            let proved = named.proved(self).map(|proved| AccountProof { by, ..proved });
            match proved.filter(|_| word == "open sesame") {
                Some(proved) => request.prove(proved, named.attempt).await,
                None => request.disprove(self, named).await,
            }
        })
    }
}

#[tokio::test]
async fn a_wish_for_a_passkey_is_put_to_accounts_that_have_one_alone() {
    let flows = Flows { steps: Steps::default().with(&ToyPasskey), goals: Vec::new() };
    let server = TestServer::open_in(TestOptions { flows, ..TestOptions::default() }).await;
    let session = server.sign_in("ana@acme.test").await;
    for wish in ["phr", "phrh"] {
        let answer = server.authorize_in(&session, "web", &[("acr_values", wish)]).await;
        assert_eq!(answer.json()["state"], "done", "it is a wish: {answer:?}");
    }
    add_passkey(&server, "ana@acme.test", "AAAA").await;
    server.clock.expire_views();
    for wish in ["phr", "phrh", "phr aal1"] {
        let asked = server.authorize_in(&session, "web", &[("acr_values", wish)]).await.json();
        assert_eq!((text(&asked["kind"]), text(&asked["state"])), ("step_up", "credential"));
        assert_eq!(asked["assurance"]["required"], "aal2");
        let again =
            server.step_in(&session, &asked, "password", json!({ "password": PASSWORD })).await;
        assert_ne!(again.json()["state"], "done", "a password does not resist phishing");
    }
    let asked = server.authorize_in(&session, "web", &[("acr_values", "phr")]).await.json();
    let word = json!({ "word": "open sesame" });
    let done = server.step_in(&session, &asked, "toy_passkey", word).await;
    let code = parameter(&redirect(&done), "code").unwrap_or_else(|| panic!("{done:?}"));
    let id = claims(&server.redeem("web", &code).await.json()["id_token"]);
    assert_eq!((text(&id["acr"]), &id["amr"]), ("aal2", &json!(["pwd", "swk", "mfa"])));
    let again = server.authorize_in(&token(&done), "web", &[("acr_values", "phr")]).await;
    assert_eq!(again.json()["state"], "done", "what was proved is not asked for again");
    let supported = server.get("/.well-known/openid-configuration").await.json();
    assert_eq!(supported["acr_values_supported"], json!(["aal1", "aal2", "phr", "phrh"]));
    server.stop().await;
}
