//! What a person changes of their account: profile, addresses, password; and their sessions at once.

use crate::{
    http::Answer,
    mails::{code, mails},
    me::{ask, delete_in, get_in, records},
    person::{PASSWORD, text},
    step_up::{add_passkey, dora},
    support::{TestOptions, TestServer},
};
use hyper::Method;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::task::JoinSet;

pub const ANA: &str = "ana@acme.test";
const NEW: &str = "another long and quiet sentence";

pub async fn open() -> TestServer {
    TestServer::open_in(TestOptions { mailbox: true, ..TestOptions::default() }).await
}

/// Sends JSON in a session.
pub async fn send(
    server: &TestServer,
    method: Method,
    (session, path): (&str, &str),
    body: &Value,
) -> Answer {
    let request = server
        .request(method, path)
        .header("content-type", "application/json")
        .header("x-session-token", session);
    server.send(request.body(body.to_string().into()).unwrap()).await
}

pub async fn post_in(server: &TestServer, session: &str, path: &str, body: Value) -> Answer {
    send(server, Method::POST, (session, path), &body).await
}

/// Waits for a message to this address whose text has these words, and returns it.
pub async fn message_to(server: &TestServer, to: &str, words: &str) -> Value {
    let mut found = None;
    crate::shared::eventually("the message", async || {
        let all = mails(server).await;
        found = all
            .into_iter()
            .find(|one| text(&one["to"]) == to && text(&one["text"]).contains(words));
        found.is_some()
    })
    .await;
    found.unwrap()
}

#[tokio::test]
async fn a_person_describes_themselves_in_standard_claims() {
    let server = TestServer::open().await;
    let session = server.sign_in(ANA).await;
    let patch = json!({
        "given_name": "Ἀννα", "family_name": "दासगुप्ता", "name": "安娜", "nickname": null,
        "birthdate": "1990-02-28", "zoneinfo": "Europe/Lisbon", "locale": "pt-PT",
        "picture": "https://acme.test/ana.png", "website": "https://ana.example/",
        "address": { "locality": "Porto", "country": "PT" }, "name#pt": "Ana",
    });
    let answer = send(&server, Method::PATCH, (&session, "/me"), &patch).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let me = get_in(&server, &session, "/me").await.json();
    assert_eq!(answer.json(), me);
    assert_eq!((text(&me["name"]), text(&me["address"]["locality"])), ("安娜", "Porto"));
    // What is taken away is gone, and what is not named stays.
    let patch = json!({ "family_name": "", "address": null });
    let answer = send(&server, Method::PATCH, (&session, "/me"), &patch).await.json();
    assert!(answer.get("family_name").is_none() && answer.get("address").is_none(), "{answer}");
    assert_eq!(text(&answer["name"]), "安娜");
    let written = records(&server, "account.changed").await;
    assert_eq!(written.len(), 2, "{written:?}");
    assert!(!written[0].to_string().contains("安娜"), "{written:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_profile_that_cannot_stand_is_refused_by_the_name_of_the_member() {
    let server = TestServer::open().await;
    let session = server.sign_in(ANA).await;
    let before = get_in(&server, &session, "/me").await.json();
    for (member, value) in [
        ("email", json!("eva@acme.test")),
        ("email_verified", json!(true)),
        ("phone_number", json!("+351920000000")),
        ("phone_number_verified", json!(true)),
        ("sub", json!("x")),
        ("roles", json!(["administrator"])),
        ("given_name", json!("Ana\u{202e}lif")),
        ("given_name", json!("An\u{200b}a")),
        ("given_name", json!("a".repeat(300))),
        ("given_name", json!(7)),
        ("given_name", json!({ "a": 1 })),
        ("birthdate", json!("1990-13-01")),
        ("zoneinfo", json!("/etc/passwd")),
        ("locale", json!("pt_PT")),
        ("picture", json!("http://acme.test/a.png")),
        ("picture", json!("data:image/png;base64,AA")),
        ("address", json!({ "planet": "Mars" })),
        ("address", json!("Porto")),
    ] {
        let body = json!({ member: value, "nickname": "An" });
        let refused = send(&server, Method::PATCH, (&session, "/me"), &body).await;
        refused.problem(400, "invalid_request");
        let pointer = format!("#/{member}");
        assert_eq!(refused.json()["errors"][0]["pointer"], pointer, "{refused:?}");
    }
    assert_eq!(get_in(&server, &session, "/me").await.json(), before, "nothing is half taken");
    server.stop().await;
}

#[tokio::test]
async fn another_email_address_is_used_once_it_is_proved_and_the_old_one_is_told() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    let new = json!({ "email": " Ana.Nova@Acme.test " });
    let asked = post_in(&server, &session, "/me/email", new).await;
    assert_eq!(asked.status, 202, "{asked:?}");
    assert_eq!(text(&asked.json()["email"]), "Ana.Nova@Acme.test");
    let alert = message_to(&server, ANA, "was asked for").await;
    assert!(!text(&alert["text"]).contains("Nova"), "{alert}");
    let mail = message_to(&server, "Ana.Nova@Acme.test", "use this address").await;
    let me = get_in(&server, &session, "/me").await.json();
    assert_eq!((text(&me["email"]), text(&me["proposed_email"])), (ANA, "Ana.Nova@Acme.test"));
    let wrong = json!({ "code": if code(&mail) == "000000" { "000001" } else { "000000" } });
    let refused = post_in(&server, &session, "/me/email/confirm", wrong).await;
    refused.problem(422, "wrong_code");
    // A code of one account or channel is worth nothing in another.
    let right = json!({ "code": code(&mail) });
    let bruno = server.sign_in("bruno@acme.test").await;
    let other = post_in(&server, &bruno, "/me/email/confirm", right.clone()).await;
    other.problem(422, "wrong_code");
    post_in(&server, &session, "/me/phone/confirm", right.clone()).await.problem(422, "wrong_code");
    let confirmed = post_in(&server, &session, "/me/email/confirm", right.clone()).await;
    assert_eq!(confirmed.status, 204, "{confirmed:?}");
    message_to(&server, ANA, "uses another e-mail address").await;
    let me = get_in(&server, &session, "/me").await.json();
    assert_eq!((text(&me["email"]), &me["email_verified"]), ("Ana.Nova@Acme.test", &json!(true)));
    assert!(me.get("proposed_email").is_none());
    post_in(&server, &session, "/me/email/confirm", right).await.problem(422, "wrong_code");
    server.sign_in("ana.nova@acme.test").await;
    let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
    server.prove(&flow, ANA).await.problem(401, "invalid_credentials");
    for event in ["account.email_proposed", "account.email_changed"] {
        let written = records(&server, event).await;
        assert_eq!(written.len(), 1, "{event}");
        assert!(!written[0].to_string().to_lowercase().contains("acme.test"), "{written:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn an_address_of_another_account_is_neither_told_nor_taken() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    let mut answers = Vec::new();
    for email in ["bruno@acme.test", "bruna@acme.test"] {
        let asked = post_in(&server, &session, "/me/email", json!({ "email": email })).await;
        answers.push((asked.status, asked.text().replace(email, "E")));
    }
    assert_eq!(answers[0], answers[1], "taken or free");
    let told = message_to(&server, "bruno@acme.test", "already").await;
    let digits = |line: &str| line.len() == 6 && line.bytes().all(|one| one.is_ascii_digit());
    assert!(!text(&told["text"]).lines().any(digits), "{told}");
    // The other one was free when it was asked for, and is taken when it is proved.
    let mail = message_to(&server, "bruna@acme.test", "use this address").await;
    server.apply("[[account]]\nemail = \"bruna@acme.test\"\n").await;
    let right = json!({ "code": code(&mail) });
    let late = post_in(&server, &session, "/me/email/confirm", right).await;
    late.problem(409, "email_taken");
    assert_eq!(text(&get_in(&server, &session, "/me").await.json()["email"]), ANA);
    for bad in ["", "ana", "a@b@c", "a b@acme.test", &format!("{}@acme.test", "a".repeat(300))] {
        let refused = post_in(&server, &session, "/me/email", json!({ "email": bad })).await;
        refused.problem(400, "invalid_request");
        assert_eq!(refused.json()["errors"][0]["pointer"], "#/email");
    }
    server.stop().await;
}

#[tokio::test]
async fn guessed_codes_are_counted_and_messages_are_paced() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    let new = json!({ "email": "nova@acme.test" });
    post_in(&server, &session, "/me/email", new.clone()).await;
    let mail = message_to(&server, "nova@acme.test", "use this address").await;
    let wrong = if code(&mail) == "000000" { "000001" } else { "000000" };
    let mut tries = JoinSet::new();
    for _ in 0..5 {
        let request = server
            .request(Method::POST, "/me/email/confirm")
            .header("content-type", "application/json")
            .header("x-session-token", &session);
        let body = json!({ "code": wrong }).to_string();
        let (outside, request) = (*server, request.body(body.into()).unwrap());
        tries.spawn(async move { outside.send(request).await.status.as_u16() });
    }
    while let Some(status) = tries.join_next().await {
        assert_eq!(status.unwrap(), 422);
    }
    let right = json!({ "code": code(&mail) });
    post_in(&server, &session, "/me/email/confirm", right).await.problem(422, "wrong_code");
    let mut refused = 0;
    for number in 0..40 {
        let new = json!({ "email": format!("nova{number}@acme.test") });
        let status = post_in(&server, &session, "/me/email", new).await.status.as_u16();
        refused += usize::from(status == 429);
    }
    assert!(refused > 0, "one person cannot have any number of others written to");
    server.stop().await;
}

#[tokio::test]
async fn a_code_for_an_address_expires() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    post_in(&server, &session, "/me/email", json!({ "email": "nova@acme.test" })).await;
    let mail = message_to(&server, "nova@acme.test", "use this address").await;
    server.clock.advance(Duration::from_mins(10));
    let right = json!({ "code": code(&mail) });
    post_in(&server, &session, "/me/email/confirm", right).await.problem(422, "wrong_code");
    server.stop().await;
}

#[tokio::test]
async fn a_phone_number_is_proved_by_sms_and_removed() {
    let server = open().await;
    let session = server.sign_in("bruno@acme.test").await;
    for bad in ["", "910000000", "+0351", "+35191000000012345", "+351 910 000 000", "+٣٥١٩١٠"]
    {
        let refused = post_in(&server, &session, "/me/phone", json!({ "phone_number": bad })).await;
        refused.problem(400, "invalid_request");
        assert_eq!(refused.json()["errors"][0]["pointer"], "#/phone_number");
    }
    let number = "+351920000000";
    let asked = post_in(&server, &session, "/me/phone", json!({ "phone_number": number })).await;
    assert_eq!(asked.status, 202, "{asked:?}");
    assert!(get_in(&server, &session, "/me").await.json().get("phone_number").is_none());
    let sms = message_to(&server, number, "confirm this number").await;
    let digits: String = text(&sms["text"]).chars().filter(char::is_ascii_digit).take(6).collect();
    let confirm = json!({ "code": digits });
    let confirmed = post_in(&server, &session, "/me/phone/confirm", confirm).await;
    assert_eq!(confirmed.status, 204, "{confirmed:?} {sms}");
    let me = get_in(&server, &session, "/me").await.json();
    assert_eq!((text(&me["phone_number"]), &me["phone_number_verified"]), (number, &json!(true)));
    message_to(&server, "bruno@acme.test", "another phone number").await;
    assert_eq!(delete_in(&server, &session, "/me/phone").await.status, 204);
    assert!(get_in(&server, &session, "/me").await.json().get("phone_number").is_none());
    delete_in(&server, &session, "/me/phone").await.problem(404, "not_found");
    server.stop().await;
}

/// The token that a change has renewed a session to.
#[track_caller]
pub fn renewed(answer: &Answer) -> String {
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"), "{answer:?}");
    text(&answer.json()["session_token"]).to_owned()
}

#[tokio::test]
async fn a_changed_password_renews_the_session_and_the_former_token_is_dead_at_once() {
    let server = open().await;
    let beside = server.beside(TestOptions::default()).await;
    let former = server.sign_in(ANA).await;
    assert_eq!(get_in(&beside, &former, "/me").await.status, 200);
    let set = json!({ "password": NEW });
    let new = renewed(&send(&server, Method::PUT, (&former, "/me/password"), &set).await);
    assert_ne!(new, former);
    for node in [&server, &beside] {
        get_in(node, &former, "/me").await.problem(401, "session_required");
        assert_eq!(get_in(node, &new, "/me").await.status, 200);
        let asked = node.authorize_in(&former, "web", &[]).await.json();
        assert_eq!(asked["state"], "identify", "{asked}");
    }
    let again = send(&server, Method::PUT, (&former, "/me/password"), &set).await;
    again.problem(401, "session_required");
    // It is the same session, and what was proved in it counts: the person goes on.
    let sessions = get_in(&server, &new, "/me/sessions").await.json();
    assert_eq!(sessions["items"].as_array().unwrap().len(), 1, "{sessions}");
    let enrol = server.begin_in(&new, "enroll_totp").await.json();
    assert!(enrol["steps"].to_string().contains("totp/options"), "{enrol}");
    server.clock.advance(Duration::from_mins(16));
    let stale = send(&server, Method::PUT, (&new, "/me/password"), &set).await;
    stale.problem(403, "step_up_required");
    beside.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn a_browser_that_changes_a_password_gets_its_cookie_anew_and_stays_known() {
    let server = open().await;
    let mut browser = crate::browser::Browser { server: &server, cookies: Vec::new() };
    assert_eq!(browser.password(ANA, PASSWORD).await.json()["state"], "done");
    let copied = browser.cookies.join("; ");
    let put = async |cookies: &str, password: &str| {
        let request = server
            .request(Method::PUT, "/me/password")
            .header("content-type", "application/json")
            .header("sec-fetch-site", "same-origin")
            .header("cookie", cookies);
        server.send(request.body(json!({ "password": password }).to_string().into()).unwrap()).await
    };
    let changed = put(&copied, NEW).await;
    assert_eq!((changed.status.as_u16(), changed.text()), (204, String::new()), "{changed:?}");
    browser.keep(&changed);
    let session =
        async |cookies: &str| ask(&server, Method::GET, "/me", &[("cookie", cookies)]).await;
    session(&copied).await.problem(401, "session_required");
    assert_eq!(session(&browser.cookies.join("; ")).await.status, 200);
    // Others guess the password, and this browser is known all the same.
    browser.forget_session();
    for _ in 0..10 {
        let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
        server.step(&flow, "identifier", json!({ "identifier": ANA })).await;
        server.step(&flow, "password", json!({ "password": "wrong" })).await;
    }
    let done = browser.password(ANA, NEW).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    server.stop().await;
}

#[tokio::test]
async fn of_two_who_change_the_password_by_one_token_one_is_late() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    let (one, other) = (json!({ "password": NEW }), json!({ "password": PASSWORD }));
    let (first, second) = tokio::join!(
        send(&server, Method::PUT, (&session, "/me/password"), &one),
        send(&server, Method::PUT, (&session, "/me/password"), &other),
    );
    let done = [&first, &second].iter().filter(|answer| answer.status == 200).count();
    assert_eq!(done, 1, "{first:?} {second:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_new_password_ends_the_other_sessions_unless_they_are_to_be_kept() {
    let server = open().await;
    let (mine, other) = (server.sign_in(ANA).await, server.sign_in(ANA).await);
    let set = json!({ "password": "short" });
    let refused = send(&server, Method::PUT, (&mine, "/me/password"), &set).await;
    assert_eq!(refused.json()["errors"][0]["pointer"], "#/password", "{refused:?}");
    let keep = json!({ "password": NEW, "keep_sessions": true });
    let kept = send(&server, Method::PUT, (&mine, "/me/password"), &keep).await;
    let mine = renewed(&kept);
    assert_eq!(get_in(&server, &other, "/me").await.status, 200);
    // What was proved by the former password is no fresh proof in the other session.
    let set = json!({ "password": PASSWORD });
    let stale = send(&server, Method::PUT, (&other, "/me/password"), &set).await;
    stale.problem(403, "step_up_required");
    let mine = renewed(&send(&server, Method::PUT, (&mine, "/me/password"), &set).await);
    get_in(&server, &other, "/me").await.problem(401, "session_required");
    assert_eq!(get_in(&server, &mine, "/me").await.status, 200);
    message_to(&server, ANA, "was changed").await;
    // Mail is a way in: the password may go.
    assert_eq!(delete_in(&server, &mine, "/me/password").await.status, 204);
    delete_in(&server, &mine, "/me/password").await.problem(404, "not_found");
    message_to(&server, ANA, "was removed").await;
    assert_eq!(get_in(&server, &mine, "/me").await.json()["credentials"]["password"], false);
    server.stop().await;
}

#[tokio::test]
async fn the_last_way_in_cannot_be_removed() {
    // No mail is sent here.
    let server = TestServer::open().await;
    let session = server.sign_in(ANA).await;
    delete_in(&server, &session, "/me/password").await.problem(409, "last_way_in");
    let dora = dora(&server).await;
    assert_eq!(delete_in(&server, &dora, "/me/totp").await.status, 204, "it is no way in");
    server.stop().await;
}

#[tokio::test]
async fn of_two_who_race_for_the_last_two_ways_in_one_loses() {
    let server = TestServer::open().await;
    add_passkey(&server, "dora@acme.test", "cGFzc2tleQ").await;
    let session = dora(&server).await;
    let mut race = JoinSet::new();
    for path in ["/me/password", "/me/passkeys/cGFzc2tleQ"] {
        let request = server.request(Method::DELETE, path).header("x-session-token", &session);
        let outside = *server;
        let request = request.body(http_body_util::Full::default()).unwrap();
        race.spawn(async move { outside.send(request).await.status.as_u16() });
    }
    let mut seen = race.join_all().await;
    seen.sort_unstable();
    // A removal of the passkey that is judged after the password has gone wants a proof by the passkey.
    assert!(matches!(seen[..], [204, 403 | 409]), "{seen:?}");
    let held = get_in(&server, &session, "/me").await.json()["credentials"].clone();
    let left = (held["password"].as_bool().unwrap(), held["passkeys"].as_u64().unwrap());
    assert!(matches!(left, (true, 0) | (false, 1)), "one way in is left: {held}");
    server.stop().await;
}

#[tokio::test]
async fn ending_all_sessions_ends_grants_that_would_outlive_a_sign_out_too() {
    let server = TestServer::open().await;
    let (mine, other) = (server.sign_in(ANA).await, server.sign_in(ANA).await);
    let code = server.code(&mine, "web", "openid offline_access").await;
    let tokens = server.redeem("web", &code).await.json();
    let bruno = server.sign_in("bruno@acme.test").await;
    let cookie = format!("porteiro={mine}");
    let browser = [("cookie", cookie.as_str()), ("sec-fetch-site", "same-origin")];
    let ended = ask(&server, Method::DELETE, "/me/sessions", &browser).await;
    assert_eq!(ended.status, 204, "{ended:?}");
    assert!(ended.header("set-cookie").unwrap().starts_with("porteiro=;"), "{ended:?}");
    for session in [&mine, &other] {
        get_in(&server, session, "/me").await.problem(401, "session_required");
    }
    server.userinfo(text(&tokens["access_token"])).await.refused(401, "invalid_token");
    let refresh = text(&tokens["refresh_token"]);
    server.refresh("web", refresh).await.refused(400, "invalid_grant");
    assert_eq!(get_in(&server, &bruno, "/me").await.status, 200, "and of no other person");
    assert_eq!(records(&server, "account.sessions_ended").await.len(), 1);
    server.sign_in(ANA).await;
    server.stop().await;
}

/// What a thief of a session gets: to look. Everything that would keep the person out, or take the
/// account with it, wants a proof of the last minutes.
#[tokio::test]
async fn a_stolen_session_changes_no_credential_and_no_address_and_deletes_nothing() {
    let server = open().await;
    let stolen = server.sign_in(ANA).await;
    server.clock.advance(Duration::from_mins(16));
    let none = Value::Null;
    for (method, path, body) in [
        (Method::DELETE, "/me", &none),
        (Method::DELETE, "/me/password", &none),
        (Method::DELETE, "/me/phone", &none),
        (Method::GET, "/me/export", &none),
        (Method::PUT, "/me/password", &json!({ "password": NEW })),
        (Method::POST, "/me/email", &json!({ "email": "eva@evil.test" })),
        (Method::POST, "/me/phone", &json!({ "phone_number": "+351930000000" })),
    ] {
        let answer = if body.is_null() {
            ask(&server, method.clone(), path, &[("x-session-token", &stolen)]).await
        } else {
            send(&server, method.clone(), (&stolen, path), body).await
        };
        answer.problem(403, "step_up_required");
        assert_eq!(answer.json()["flow"]["kind"], "step_up", "{method} {path}");
    }
    server.quiet().await;
    assert!(mails(&server).await.is_empty(), "and nothing is sent");
    let cookie = format!("porteiro={stolen}");
    let foreign = [("cookie", cookie.as_str()), ("origin", "https://evil.test")];
    for path in ["/me", "/me/sessions", "/me/phone", "/me/organizations/acme"] {
        let answer = ask(&server, Method::DELETE, path, &foreign).await;
        assert_eq!(answer.status, 403, "{path}: {answer:?}");
    }
    server.stop().await;
}
