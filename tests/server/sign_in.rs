//! The first sign-in: flows without a screen, and whom they belong to.

use crate::{
    http::Answer,
    nodes::views_agree,
    person::{PASSWORD, parameter, redirect, text},
    support::{TestServer, sealed},
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
    let server = TestServer::open().await;
    let begun = server.authorize("web", &[("scope", "openid invoices:read")]).await;
    assert_eq!(begun.status, 200, "{begun:?}");
    sealed(&begun.headers);
    let flow = begun.json();
    assert_eq!((text(&flow["kind"]), text(&flow["state"])), ("sign_in", "identify"));
    assert_eq!(names(&flow), ["identifier", "passkey/options", "passkey"]);
    assert_eq!(
        flow["client"],
        json!({ "client_id": "web", "client_name": "Web", "self_registered": false })
    );
    assert_eq!(flow["scopes"], json!(["openid", "invoices:read"]));
    assert!(flow["expires_at"].as_str().unwrap().ends_with('Z') && flow.get("result").is_none());

    let asked = server.step(&flow, "identifier", json!({ "identifier": "ana@acme.test" })).await;
    assert_eq!((&asked.json()["state"], asked.status.as_u16()), (&json!("credential"), 200));
    assert!(names(&asked.json()).contains(&"password"));
    let done = server.step(&flow, "password", json!({ "password": PASSWORD })).await;
    let document = done.json();
    assert_eq!(document["state"], "done", "{document}");
    assert_eq!(document["assurance"]["reached"], "aal1");
    assert_eq!(document["assurance"]["methods"], json!(["pwd"]));
    assert!(text(&document["result"]["session_token"]).starts_with("pss_"));
    let to = redirect(&done);
    assert!(to.as_str().starts_with("https://web.example.com/cb?code=pac_"));
    assert_eq!(parameter(&to, "state").as_deref(), Some("af0ifjsldkj"));
    assert_eq!(parameter(&to, "iss").as_deref(), Some(server.issuer()));

    // What is secret appears once.
    let again = server.get(&format!("/flows/{}", text(&flow["id"]))).await;
    assert_eq!((&again.json()["state"], &again.json()["result"]), (&json!("done"), &Value::Null));
    let more = server.step(&flow, "password", json!({ "password": PASSWORD })).await;
    more.problem(409, "flow_over");
    server.stop().await;
}

#[tokio::test]
async fn a_live_session_needs_no_flow() {
    let server = TestServer::open().await;
    let session = server.sign_in("ana@acme.test").await;
    let answer = server.authorize_in(&session, "web", &[]).await;
    assert_eq!(answer.json()["state"], "done");
    assert!(parameter(&redirect(&answer), "code").is_some());
    assert!(answer.json()["result"].get("session_token").is_none());
    // The same by a cookie and a redirect, as a browser has it.
    let cookie = format!("porteiro={session}");
    let answer = server.authorize_with("web", &[], &[("cookie", &cookie)]).await;
    assert_eq!(answer.status, 303);
    assert!(answer.header("location").unwrap().starts_with("https://web.example.com/cb?code="));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    server.stop().await;
}

#[tokio::test]
async fn whoever_belongs_to_several_organizations_chooses_one() {
    let server = TestServer::open().await;
    let flow = server.authorize("web", &[]).await.json();
    let asked = server.prove(&flow, "bruno@acme.test").await.json();
    assert_eq!(asked["state"], "organization", "{asked}");
    let slugs: Vec<&str> =
        asked["organizations"].as_array().unwrap().iter().map(|one| text(&one["slug"])).collect();
    assert_eq!(slugs, ["acme", "other"]);
    server
        .step(&flow, "organization", json!({ "organization": "evil" }))
        .await
        .problem(400, "invalid_request");
    let done = server.step(&flow, "organization", json!({ "organization": "other" })).await;
    assert_eq!(done.json()["state"], "done");
    // Named by the client, nobody is asked.
    let session = text(&done.json()["result"]["session_token"]).to_owned();
    let named = server.authorize_in(&session, "web", &[("organization", "acme")]).await;
    assert_eq!(named.json()["state"], "done", "{named:?}");
    let unnamed = server.authorize_in(&session, "web", &[]).await;
    assert_eq!(unnamed.json()["state"], "organization", "{unnamed:?}");
    let silent = server.authorize_in(&session, "web", &[("prompt", "none")]).await;
    assert_eq!(parameter(&redirect(&silent), "error").as_deref(), Some("interaction_required"));
    server.stop().await;
}

#[tokio::test]
async fn nobody_gets_a_code_for_an_organization_that_is_not_theirs() {
    let server = TestServer::open().await;
    let session = server.sign_in("ana@acme.test").await;
    for slug in ["other", "unheard-of"] {
        let answer = server.authorize_in(&session, "web", &[("organization", slug)]).await;
        assert_eq!(answer.json()["state"], "failed");
        let to = redirect(&answer);
        assert_eq!(parameter(&to, "error").as_deref(), Some("access_denied"));
        assert!(parameter(&to, "code").is_none());
    }
    server.apply("[[organization]]\nslug = \"acme\"\nenabled = false\n").await;
    server.clock.expire_views();
    let answer = server.authorize_in(&session, "web", &[]).await;
    assert_eq!(parameter(&redirect(&answer), "error").as_deref(), Some("access_denied"));
    server.stop().await;
}

#[tokio::test]
async fn a_scope_that_is_not_held_is_refused_after_the_sign_in() {
    let server = TestServer::open().await;
    for (email, scope) in [
        ("ana@acme.test", "openid orders:read"),
        ("clara@nowhere.test", "invoices:read"),
        ("clara@nowhere.test", "openid invoices:read"),
    ] {
        let flow = server.authorize("web", &[("scope", scope)]).await.json();
        let failed = server.prove(&flow, email).await;
        assert_eq!(failed.json()["state"], "failed", "{email} {scope}: {failed:?}");
        let to = redirect(&failed);
        assert_eq!(parameter(&to, "error").as_deref(), Some("invalid_scope"));
        // A flow that failed says so as long as it is there.
        let shown = server.get(&format!("/flows/{}", text(&flow["id"]))).await;
        assert_eq!(redirect(&shown), to);
    }
    server.stop().await;
}

#[tokio::test]
async fn consent_is_asked_remembered_and_asked_again_when_anything_grows() {
    let server = TestServer::open().await;
    let flow = server.authorize("app", &[]).await.json();
    let asked = server.prove(&flow, "ana@acme.test").await.json();
    assert_eq!((text(&asked["state"]), names(&asked)), ("consent", vec!["consent"]));
    server
        .step(&flow, "consent", json!({ "decision": "perhaps" }))
        .await
        .problem(400, "invalid_request");
    let done = server.step(&flow, "consent", json!({ "decision": "allow" })).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    let session = text(&done.json()["result"]["session_token"]).to_owned();
    views_agree().await;
    let again = server.authorize_in(&session, "app", &[]).await;
    assert_eq!(again.json()["state"], "done", "it is remembered");
    let grown = server.authorize_in(&session, "app", &[("scope", "openid email")]).await;
    assert_eq!(grown.json()["state"], "consent", "{grown:?}");
    let silent = [("scope", "openid email"), ("prompt", "none")];
    let refused = server.authorize_in(&session, "app", &silent).await;
    assert_eq!(parameter(&redirect(&refused), "error").as_deref(), Some("consent_required"));
    let forced = server.authorize_in(&session, "app", &[("prompt", "consent")]).await;
    assert_eq!(forced.json()["state"], "consent");
    let denied = server.step(&forced.json(), "consent", json!({ "decision": "deny" })).await;
    assert_eq!(denied.json()["state"], "failed");
    assert_eq!(parameter(&redirect(&denied), "error").as_deref(), Some("access_denied"));
    server.stop().await;
}

#[tokio::test]
async fn what_anyone_could_pose_as_is_asked_for_every_time() {
    let server = TestServer::open().await;
    let session = server.sign_in("ana@acme.test").await;
    for _ in 0..2 {
        // It is trusted, but neither that nor memory counts.
        let asked = server.authorize_in(&session, "native", &[]).await;
        assert_eq!(asked.json()["state"], "consent", "{asked:?}");
        let done = server.step(&asked.json(), "consent", json!({ "decision": "allow" })).await;
        assert_eq!(done.json()["state"], "done", "{done:?}");
        assert!(redirect(&done).as_str().starts_with("http://127.0.0.1:51004/cb?"));
        assert!(done.json()["result"].get("session_token").is_none(), "there was one already");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_wrong_credential_says_nothing_and_ten_of_them_end_the_flow() {
    let server = TestServer::open().await;
    let begun = async |email: &'static str| {
        let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
        server.step(&flow, "identifier", json!({ "identifier": email })).await;
        flow
    };
    let (known, unknown) = (begun("ana@acme.test").await, begun("eve@nowhere.test").await);
    for _ in 0..10 {
        let wrong = json!({ "password": "wrong" });
        let one = server.step(&known, "password", wrong.clone()).await;
        let other = server.step(&unknown, "password", wrong).await;
        one.problem(401, "invalid_credentials");
        assert_eq!(one.body, other.body, "known or not");
    }
    for flow in [&known, &unknown] {
        server
            .step(flow, "password", json!({ "password": PASSWORD }))
            .await
            .problem(409, "flow_over");
    }
    // Nor does another flow help: attempts are counted by identifier.
    for email in ["ana@acme.test", "ANA@acme.test ", "eve@nowhere.test"] {
        let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
        let limited = server.prove(&flow, email).await;
        limited.problem(429, "too_many_requests");
        assert!(limited.header("retry-after").unwrap().parse::<u32>().unwrap() <= 30);
    }
    server.clock.advance(Duration::from_secs(31));
    let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
    assert_eq!(server.prove(&flow, "ana@acme.test").await.json()["state"], "done");
    server.stop().await;
}

#[tokio::test]
async fn a_hash_from_elsewhere_is_replaced_by_the_first_sign_in() {
    let server = TestServer::open().await;
    // At twice the passes that this server takes.
    let cost = PasswordCost { passes: 2, ..PasswordCost::CHEAP };
    let phc = password::hash(PASSWORD.as_bytes(), [7; 16], cost, &mut Memory::default()).unwrap();
    server.apply(&format!("[[account]]\nemail = \"eva@acme.test\"\npassword = '{phc}'\n")).await;
    let store = server.running().system().store();
    let stored = async || {
        let (_, id) = store.find("email_addresses", "eva@acme.test").await.unwrap().unwrap();
        store.load("account", &id).await.unwrap().unwrap().state
    };
    assert!(stored().await.contains("t=2"));
    server.sign_in("eva@acme.test").await;
    assert!(stored().await.contains("t=1"));
    server.sign_in("eva@acme.test").await;
    server.stop().await;
}

#[tokio::test]
async fn an_enrolled_second_factor_is_asked_for_and_its_codes_work_once() {
    let server = TestServer::open().await;
    let secret = totp_rs::Secret::new_stack(*b"12345678901234567890");
    let application = totp_rs::Builder::new().with_secret(secret).build_noncompliant();
    let code = |now: Timestamp| application.generate(now.seconds().cast_unsigned()).to_string();
    let begin = async || {
        let flow = server.authorize("web", &[]).await.json();
        let asked = server.prove(&flow, "dora@acme.test").await.json();
        assert_eq!((text(&asked["state"]), names(&asked)), ("second_factor", vec!["totp"]));
        assert!(asked.get("result").is_none(), "one proof is worth nothing yet");
        flow
    };
    let (one, other) = (begin().await, begin().await);
    let right = json!({ "code": code(server.clock.now()) });
    server
        .step(&one, "totp", json!({ "code": "000000" }))
        .await
        .problem(401, "invalid_credentials");
    server.step(&one, "totp", json!({ "code": 7 })).await.problem(400, "invalid_request");
    server
        .step(&one, "password", json!({ "password": PASSWORD }))
        .await
        .problem(409, "step_not_available");
    let done = server.step(&one, "totp", right.clone()).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    assert_eq!(done.json()["assurance"]["reached"], "aal2");
    server.step(&other, "totp", right).await.problem(401, "invalid_credentials");
    let code = parameter(&redirect(&done), "code").unwrap();
    let tokens = server.redeem("web", &code).await.json();
    let id = crate::person::claims(&tokens["id_token"]);
    assert_eq!((&id["acr"], &id["amr"]), (&json!("aal2"), &json!(["pwd", "otp"])));
    server.stop().await;
}

#[tokio::test]
async fn the_answer_to_an_identifier_is_the_same_for_everybody() {
    let server = TestServer::open().await;
    let mut answers = Vec::new();
    for identifier in ["ana@acme.test", "nobody@nowhere.test", "not an address", "+351910000000"] {
        let flow = server.authorize("web", &[]).await.json();
        let answer = server.step(&flow, "identifier", json!({ "identifier": identifier })).await;
        assert_eq!(answer.status, 200);
        answers.push(answer.text().replace(text(&flow["id"]), "ID"));
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    server.stop().await;
}

#[tokio::test]
async fn what_is_no_flow_is_not_found_and_what_is_no_step_is_refused() {
    let server = TestServer::open().await;
    for id in ["flw_", "flw_x", &"flw_A".repeat(20), "x", "flw_%00", &"A".repeat(13_000)] {
        let answer = server.get(&format!("/flows/{id}")).await;
        assert!([404, 414, 431].contains(&answer.status.as_u16()), "{id}: {answer:?}");
    }
    let flow = server.authorize("web", &[]).await.json();
    server
        .step(&flow, "password", json!({ "password": PASSWORD }))
        .await
        .problem(409, "step_not_available");
    server
        .step(&flow, "consent", json!({ "decision": "allow" }))
        .await
        .problem(409, "step_not_available");
    server.step(&flow, "magic", json!({})).await.problem(404, "not_found");
    for bad in [
        json!({}),
        json!({ "identifier": 7 }),
        json!({ "identifier": "" }),
        json!({ "identifier": "a".repeat(300) }),
        json!({ "identifier": "a\u{7}b" }),
    ] {
        server.step(&flow, "identifier", bad).await.problem(400, "invalid_request");
    }
    let path = format!("/flows/{}/identifier", text(&flow["id"]));
    let form_posted = server.post(&path, &[("identifier", "ana@acme.test")]).await;
    form_posted.problem(415, "unsupported_media_type");
    server
        .post_json("/flows", &json!({ "kind": "unheard-of" }), &[])
        .await
        .problem(400, "invalid_request");
    server.clock.advance(Duration::from_mins(15));
    server
        .step(&flow, "identifier", json!({ "identifier": "a@b.c" }))
        .await
        .problem(410, "flow_expired");
    server.get(&format!("/flows/{}", text(&flow["id"]))).await.problem(410, "flow_expired");
    server.stop().await;
}

#[tokio::test]
async fn whoever_signs_in_again_keeps_their_session_under_a_new_token() {
    let server = TestServer::open().await;
    let old = server.sign_in("ana@acme.test").await;
    server.clock.advance(Duration::from_mins(10));
    let flow = server.authorize_in(&old, "web", &[("prompt", "login")]).await.json();
    assert_eq!(flow["state"], "identify");
    let path = |step: &str| format!("/flows/{}/{step}", text(&flow["id"]));
    let session = [("x-session-token", old.as_str())];
    let body = json!({ "identifier": "ana@acme.test" });
    server.post_json(&path("identifier"), &body, &session).await;
    let done =
        server.post_json(&path("password"), &json!({ "password": PASSWORD }), &session).await;
    let new = text(&done.json()["result"]["session_token"]).to_owned();
    assert_eq!(old[..26], new[..26], "the same session");
    assert_ne!(old, new);
    let stale = server.authorize_in(&old, "web", &[]).await;
    assert_eq!(stale.json()["state"], "identify", "the former token opens nothing");
    assert_eq!(server.authorize_in(&new, "web", &[]).await.json()["state"], "done");
    server.stop().await;
}

#[tokio::test]
async fn a_session_ends_unused_and_at_its_ceiling() {
    const DAY: Duration = Duration::from_hours(24);
    let server = TestServer::open().await;
    let (idle, used) =
        (server.sign_in("ana@acme.test").await, server.sign_in("ana@acme.test").await);
    for day in 1..30 {
        server.clock.advance(DAY);
        let answer = server.authorize_in(&used, "web", &[]).await;
        assert_eq!(answer.json()["state"], "done", "day {day}: {answer:?}");
        if day == 7 {
            let answer = server.authorize_in(&idle, "web", &[]).await;
            assert_eq!(answer.json()["state"], "identify", "seven days without use");
        }
    }
    server.clock.advance(DAY);
    let answer = server.authorize_in(&used, "web", &[]).await;
    assert_eq!(answer.json()["state"], "identify", "thirty days whatever happens");
    server.stop().await;
}
