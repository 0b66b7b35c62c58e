//! The first sign-in: flows without a screen, and whom they belong to.

use crate::{
    http::Answer,
    person::{PASSWORD, parameter, redirect, text},
    support::{Door, sealed},
};
use porteiro::{
    crypto::password::{self, Memory, PasswordCost},
    domain::{Clock as _, Timestamp},
};
use serde_json::{Value, json};
use std::time::Duration;

fn names(document: &Value) -> Vec<&str> {
    document["steps"].as_array().unwrap().iter().map(|step| text(&step["name"])).collect()
}

impl Answer {
    #[track_caller]
    pub fn problem(&self, status: u16, code: &str) {
        assert_eq!(
            (self.status.as_u16(), &self.json()["code"]),
            (status, &code.into()),
            "{self:?}"
        );
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
    }
}

#[tokio::test]
async fn a_person_signs_in_for_a_client_and_it_gets_a_code() {
    let door = Door::open().await;
    let begun = door.authorize("web", &[("scope", "openid invoices:read")]).await;
    assert_eq!(begun.status, 200, "{begun:?}");
    sealed(&begun.headers);
    let flow = begun.json();
    assert_eq!((text(&flow["kind"]), text(&flow["state"])), ("sign_in", "identify"));
    assert_eq!(names(&flow), ["identifier"]);
    assert_eq!(flow["client"], json!({ "client_id": "web", "client_name": "Web" }));
    assert_eq!(flow["scopes"], json!(["openid", "invoices:read"]));
    assert!(flow["expires_at"].as_str().unwrap().ends_with('Z') && flow.get("result").is_none());

    let asked = door.step(&flow, "identifier", json!({ "identifier": "ana@acme.test" })).await;
    assert_eq!((&asked.json()["state"], asked.status.as_u16()), (&json!("credential"), 200));
    assert!(names(&asked.json()).contains(&"password"));
    let done = door.step(&flow, "password", json!({ "password": PASSWORD })).await;
    let document = done.json();
    assert_eq!(document["state"], "done", "{document}");
    assert_eq!(document["assurance"]["reached"], "aal1");
    assert_eq!(document["assurance"]["methods"], json!(["pwd"]));
    assert!(text(&document["result"]["session_token"]).starts_with("pss_"));
    let to = redirect(&done);
    assert!(to.as_str().starts_with("https://web.example.com/cb?code=pac_"));
    assert_eq!(parameter(&to, "state").as_deref(), Some("af0ifjsldkj"));
    assert_eq!(parameter(&to, "iss").as_deref(), Some(door.issuer()));

    // What is secret appears once.
    let again = door.get(&format!("/flows/{}", text(&flow["id"]))).await;
    assert_eq!((&again.json()["state"], &again.json()["result"]), (&json!("done"), &Value::Null));
    let more = door.step(&flow, "password", json!({ "password": PASSWORD })).await;
    more.problem(409, "flow_over");
    door.stop().await;
}

#[tokio::test]
async fn a_live_session_needs_no_flow() {
    let door = Door::open().await;
    let session = door.sign_in("ana@acme.test").await;
    let answer = door.authorize_in(&session, "web", &[]).await;
    assert_eq!(answer.json()["state"], "done");
    assert!(parameter(&redirect(&answer), "code").is_some());
    assert!(answer.json()["result"].get("session_token").is_none());
    // The same by a cookie and a redirect, as a browser has it.
    let cookie = format!("porteiro={session}");
    let answer = door.authorize_with("web", &[], &[("cookie", &cookie)]).await;
    assert_eq!(answer.status, 303);
    assert!(answer.header("location").unwrap().starts_with("https://web.example.com/cb?code="));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    door.stop().await;
}

#[tokio::test]
async fn whoever_belongs_to_several_organizations_chooses_one() {
    let door = Door::open().await;
    let flow = door.authorize("web", &[]).await.json();
    let asked = door.prove(&flow, "bruno@acme.test").await.json();
    assert_eq!(asked["state"], "organization", "{asked}");
    let slugs: Vec<&str> =
        asked["organizations"].as_array().unwrap().iter().map(|one| text(&one["slug"])).collect();
    assert_eq!(slugs, ["acme", "other"]);
    door.step(&flow, "organization", json!({ "organization": "evil" }))
        .await
        .problem(400, "invalid_request");
    let done = door.step(&flow, "organization", json!({ "organization": "other" })).await;
    assert_eq!(done.json()["state"], "done");
    // Named by the client, nobody is asked.
    let session = text(&done.json()["result"]["session_token"]).to_owned();
    let named = door.authorize_in(&session, "web", &[("organization", "acme")]).await;
    assert_eq!(named.json()["state"], "done", "{named:?}");
    let unnamed = door.authorize_in(&session, "web", &[]).await;
    assert_eq!(unnamed.json()["state"], "organization", "{unnamed:?}");
    let silent = door.authorize_in(&session, "web", &[("prompt", "none")]).await;
    assert_eq!(parameter(&redirect(&silent), "error").as_deref(), Some("interaction_required"));
    door.stop().await;
}

#[tokio::test]
async fn nobody_gets_a_code_for_an_organization_that_is_not_theirs() {
    let door = Door::open().await;
    let session = door.sign_in("ana@acme.test").await;
    for slug in ["other", "unheard-of"] {
        let answer = door.authorize_in(&session, "web", &[("organization", slug)]).await;
        assert_eq!(answer.json()["state"], "failed");
        let to = redirect(&answer);
        assert_eq!(parameter(&to, "error").as_deref(), Some("access_denied"));
        assert!(parameter(&to, "code").is_none());
    }
    door.apply("[[organization]]\nslug = \"acme\"\nenabled = false\n").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let answer = door.authorize_in(&session, "web", &[]).await;
    assert_eq!(parameter(&redirect(&answer), "error").as_deref(), Some("access_denied"));
    door.stop().await;
}

#[tokio::test]
async fn a_scope_that_is_not_held_is_refused_after_the_sign_in() {
    let door = Door::open().await;
    for (email, scope) in [
        ("ana@acme.test", "openid orders:read"),
        ("clara@nowhere.test", "invoices:read"),
        ("clara@nowhere.test", "openid invoices:read"),
    ] {
        let flow = door.authorize("web", &[("scope", scope)]).await.json();
        let failed = door.prove(&flow, email).await;
        assert_eq!(failed.json()["state"], "failed", "{email} {scope}: {failed:?}");
        let to = redirect(&failed);
        assert_eq!(parameter(&to, "error").as_deref(), Some("invalid_scope"));
        // A flow that failed says so as long as it is there.
        let shown = door.get(&format!("/flows/{}", text(&flow["id"]))).await;
        assert_eq!(redirect(&shown), to);
    }
    door.stop().await;
}

#[tokio::test]
async fn consent_is_asked_remembered_and_asked_again_when_anything_grows() {
    let door = Door::open().await;
    let flow = door.authorize("app", &[]).await.json();
    let asked = door.prove(&flow, "ana@acme.test").await.json();
    assert_eq!((text(&asked["state"]), names(&asked)), ("consent", vec!["consent"]));
    door.step(&flow, "consent", json!({ "decision": "perhaps" }))
        .await
        .problem(400, "invalid_request");
    let done = door.step(&flow, "consent", json!({ "decision": "allow" })).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    let session = text(&done.json()["result"]["session_token"]).to_owned();
    let again = door.authorize_in(&session, "app", &[]).await;
    assert_eq!(again.json()["state"], "done", "it is remembered");
    let grown = door.authorize_in(&session, "app", &[("scope", "openid email")]).await;
    assert_eq!(grown.json()["state"], "consent", "{grown:?}");
    let silent = [("scope", "openid email"), ("prompt", "none")];
    let refused = door.authorize_in(&session, "app", &silent).await;
    assert_eq!(parameter(&redirect(&refused), "error").as_deref(), Some("consent_required"));
    let forced = door.authorize_in(&session, "app", &[("prompt", "consent")]).await;
    assert_eq!(forced.json()["state"], "consent");
    let denied = door.step(&forced.json(), "consent", json!({ "decision": "deny" })).await;
    assert_eq!(denied.json()["state"], "failed");
    assert_eq!(parameter(&redirect(&denied), "error").as_deref(), Some("access_denied"));
    door.stop().await;
}

#[tokio::test]
async fn what_anyone_could_pose_as_is_asked_for_every_time() {
    let door = Door::open().await;
    let session = door.sign_in("ana@acme.test").await;
    for _ in 0..2 {
        // It is trusted, but neither that nor memory counts.
        let asked = door.authorize_in(&session, "native", &[]).await;
        assert_eq!(asked.json()["state"], "consent", "{asked:?}");
        let done = door.step(&asked.json(), "consent", json!({ "decision": "allow" })).await;
        assert_eq!(done.json()["state"], "done", "{done:?}");
        assert!(redirect(&done).as_str().starts_with("http://127.0.0.1:51004/cb?"));
        assert!(done.json()["result"].get("session_token").is_none(), "there was one already");
    }
    door.stop().await;
}

#[tokio::test]
async fn a_wrong_credential_says_nothing_and_ten_of_them_end_the_flow() {
    let door = Door::open().await;
    let begun = async |email: &'static str| {
        let flow = door.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
        door.step(&flow, "identifier", json!({ "identifier": email })).await;
        flow
    };
    let (known, unknown) = (begun("ana@acme.test").await, begun("eve@nowhere.test").await);
    for _ in 0..10 {
        let wrong = json!({ "password": "wrong" });
        let one = door.step(&known, "password", wrong.clone()).await;
        let other = door.step(&unknown, "password", wrong).await;
        one.problem(401, "invalid_credentials");
        assert_eq!(one.body, other.body, "known or not");
    }
    for flow in [&known, &unknown] {
        door.step(flow, "password", json!({ "password": PASSWORD }))
            .await
            .problem(409, "flow_over");
    }
    // Nor does another flow help: attempts are counted by identifier.
    for email in ["ana@acme.test", "ANA@acme.test ", "eve@nowhere.test"] {
        let flow = door.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
        let limited = door.prove(&flow, email).await;
        limited.problem(429, "too_many_requests");
        assert!(limited.header("retry-after").unwrap().parse::<u32>().unwrap() <= 30);
    }
    door.clock.advance(Duration::from_secs(31));
    let flow = door.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
    assert_eq!(door.prove(&flow, "ana@acme.test").await.json()["state"], "done");
    door.stop().await;
}

#[tokio::test]
async fn a_hash_from_elsewhere_is_replaced_by_the_first_sign_in() {
    let door = Door::open().await;
    // At twice the passes that this server takes.
    let cost = PasswordCost { passes: 2, ..PasswordCost::CHEAP };
    let phc = password::hash(PASSWORD.as_bytes(), [7; 16], cost, &mut Memory::default()).unwrap();
    door.apply(&format!("[[account]]\nemail = \"eva@acme.test\"\npassword = '{phc}'\n")).await;
    let store = door.running.system().store();
    let stored = async || {
        let (_, id) = store.find("email_addresses", "eva@acme.test").await.unwrap().unwrap();
        store.load("account", &id).await.unwrap().unwrap().state
    };
    assert!(stored().await.contains("t=2"));
    door.sign_in("eva@acme.test").await;
    assert!(stored().await.contains("t=1"));
    door.sign_in("eva@acme.test").await;
    door.stop().await;
}

#[tokio::test]
async fn an_enrolled_second_factor_is_asked_for_and_its_codes_work_once() {
    let door = Door::open().await;
    let secret = totp_rs::Secret::new_stack(*b"12345678901234567890");
    let application = totp_rs::Builder::new().with_secret(secret).build_noncompliant();
    let code = |now: Timestamp| application.generate(now.seconds().cast_unsigned()).to_string();
    let begin = async || {
        let flow = door.authorize("web", &[]).await.json();
        let asked = door.prove(&flow, "dora@acme.test").await.json();
        assert_eq!((text(&asked["state"]), names(&asked)), ("second_factor", vec!["totp"]));
        assert!(asked.get("result").is_none(), "one proof is worth nothing yet");
        flow
    };
    let (one, other) = (begin().await, begin().await);
    let right = json!({ "code": code(door.clock.now()) });
    door.step(&one, "totp", json!({ "code": "000000" })).await.problem(401, "invalid_credentials");
    door.step(&one, "totp", json!({ "code": 7 })).await.problem(400, "invalid_request");
    door.step(&one, "password", json!({ "password": PASSWORD }))
        .await
        .problem(409, "step_not_available");
    let done = door.step(&one, "totp", right.clone()).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    assert_eq!(done.json()["assurance"]["reached"], "aal2");
    door.step(&other, "totp", right).await.problem(401, "invalid_credentials");
    let code = parameter(&redirect(&done), "code").unwrap();
    let tokens = door.redeem("web", &code).await.json();
    let id = crate::person::claims(&tokens["id_token"]);
    assert_eq!((&id["acr"], &id["amr"]), (&json!("aal2"), &json!(["pwd", "otp"])));
    door.stop().await;
}

#[tokio::test]
async fn the_answer_to_an_identifier_is_the_same_for_everybody() {
    let door = Door::open().await;
    let mut answers = Vec::new();
    for identifier in ["ana@acme.test", "nobody@nowhere.test", "not an address", "+351910000000"] {
        let flow = door.authorize("web", &[]).await.json();
        let answer = door.step(&flow, "identifier", json!({ "identifier": identifier })).await;
        assert_eq!(answer.status, 200);
        answers.push(answer.text().replace(text(&flow["id"]), "ID"));
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    door.stop().await;
}

#[tokio::test]
async fn what_is_no_flow_is_not_found_and_what_is_no_step_is_refused() {
    let door = Door::open().await;
    for id in ["flw_", "flw_x", &"flw_A".repeat(20), "x", "flw_%00", &"A".repeat(13_000)] {
        let answer = door.get(&format!("/flows/{id}")).await;
        assert!([404, 414, 431].contains(&answer.status.as_u16()), "{id}: {answer:?}");
    }
    let flow = door.authorize("web", &[]).await.json();
    door.step(&flow, "password", json!({ "password": PASSWORD }))
        .await
        .problem(409, "step_not_available");
    door.step(&flow, "consent", json!({ "decision": "allow" }))
        .await
        .problem(409, "step_not_available");
    door.step(&flow, "magic", json!({})).await.problem(404, "not_found");
    for bad in [
        json!({}),
        json!({ "identifier": 7 }),
        json!({ "identifier": "" }),
        json!({ "identifier": "a".repeat(300) }),
        json!({ "identifier": "a\u{7}b" }),
    ] {
        door.step(&flow, "identifier", bad).await.problem(400, "invalid_request");
    }
    let path = format!("/flows/{}/identifier", text(&flow["id"]));
    let form_posted = door.post(&path, &[("identifier", "ana@acme.test")]).await;
    form_posted.problem(415, "unsupported_media_type");
    door.post_json("/flows", &json!({ "kind": "unheard-of" }), &[])
        .await
        .problem(400, "invalid_request");
    door.clock.advance(Duration::from_mins(15));
    door.step(&flow, "identifier", json!({ "identifier": "a@b.c" }))
        .await
        .problem(410, "flow_expired");
    door.get(&format!("/flows/{}", text(&flow["id"]))).await.problem(410, "flow_expired");
    door.stop().await;
}

#[tokio::test]
async fn whoever_signs_in_again_keeps_their_session_under_a_new_token() {
    let door = Door::open().await;
    let old = door.sign_in("ana@acme.test").await;
    door.clock.advance(Duration::from_mins(10));
    let flow = door.authorize_in(&old, "web", &[("prompt", "login")]).await.json();
    assert_eq!(flow["state"], "identify");
    let path = |step: &str| format!("/flows/{}/{step}", text(&flow["id"]));
    let session = [("x-session-token", old.as_str())];
    let body = json!({ "identifier": "ana@acme.test" });
    door.post_json(&path("identifier"), &body, &session).await;
    let done = door.post_json(&path("password"), &json!({ "password": PASSWORD }), &session).await;
    let new = text(&done.json()["result"]["session_token"]).to_owned();
    assert_eq!(old[..26], new[..26], "the same session");
    assert_ne!(old, new);
    let stale = door.authorize_in(&old, "web", &[]).await;
    assert_eq!(stale.json()["state"], "identify", "the former token opens nothing");
    assert_eq!(door.authorize_in(&new, "web", &[]).await.json()["state"], "done");
    door.stop().await;
}

#[tokio::test]
async fn a_session_ends_unused_and_at_its_ceiling() {
    const DAY: Duration = Duration::from_hours(24);
    let door = Door::open().await;
    let (idle, used) = (door.sign_in("ana@acme.test").await, door.sign_in("ana@acme.test").await);
    for day in 1..30 {
        door.clock.advance(DAY);
        let answer = door.authorize_in(&used, "web", &[]).await;
        assert_eq!(answer.json()["state"], "done", "day {day}: {answer:?}");
        if day == 7 {
            let answer = door.authorize_in(&idle, "web", &[]).await;
            assert_eq!(answer.json()["state"], "identify", "seven days without use");
        }
    }
    door.clock.advance(DAY);
    let answer = door.authorize_in(&used, "web", &[]).await;
    assert_eq!(answer.json()["state"], "identify", "thirty days whatever happens");
    door.stop().await;
}
