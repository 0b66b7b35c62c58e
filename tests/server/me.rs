//! What a person sees and changes of their own.

use crate::{
    http::Answer,
    person::text,
    support::{TestOptions, TestServer, sealed},
};
use hyper::Method;
use porteiro::http::Links;
use serde_json::{Value, json};
use std::time::Duration;

/// A request of a person in a session, with more headers where a test wants them.
pub async fn ask(
    server: &TestServer,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
) -> Answer {
    let mut request = server.request(method, path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    server.send(request.body(http_body_util::Full::default()).unwrap()).await
}

pub async fn get_in(server: &TestServer, session: &str, path: &str) -> Answer {
    ask(server, Method::GET, path, &[("x-session-token", session)]).await
}

pub async fn delete_in(server: &TestServer, session: &str, path: &str) -> Answer {
    ask(server, Method::DELETE, path, &[("x-session-token", session)]).await
}

/// Signs in as a device that says what it is.
async fn sign_in_from(server: &TestServer, email: &str, headers: &[(&str, &str)]) -> String {
    let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), headers).await.json();
    let path = |step: &str| format!("/flows/{}/{step}", text(&flow["id"]));
    server.post_json(&path("identifier"), &json!({ "identifier": email }), headers).await;
    let password = json!({ "password": crate::person::PASSWORD });
    let done = server.post_json(&path("password"), &password, headers).await;
    text(&done.json()["result"]["session_token"]).to_owned()
}

async fn sessions(server: &TestServer, session: &str) -> Vec<Value> {
    let answer = get_in(server, session, "/me/sessions").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["items"].as_array().unwrap().clone()
}

/// The details of the records of an event.
pub async fn records(server: &TestServer, event: &str) -> Vec<Value> {
    let store = server.running().system().store();
    let mut found = Vec::new();
    for lane in store.log_lanes().await.unwrap() {
        let rows = store.log_page(&lane, 0).await.unwrap();
        let ours = rows.into_iter().filter(|row| row.event == event);
        found.extend(ours.map(|row| serde_json::from_str::<Value>(&row.detail).unwrap()));
    }
    found
}

#[tokio::test]
async fn a_person_sees_their_account_and_what_their_session_is_worth() {
    let server = TestServer::open().await;
    let session = server.sign_in("ana@acme.test").await;
    let answer = get_in(&server, &session, "/me").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    sealed(&answer.headers);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let me = answer.json();
    assert_eq!((text(&me["email"]), &me["email_verified"]), ("ana@acme.test", &json!(true)));
    assert_eq!((text(&me["given_name"]), text(&me["phone_number"])), ("Ana", "+351910000000"));
    assert!(text(&me["created_at"]).ends_with('Z'));
    let auth_time = me["assurance"]["auth_time"].clone();
    assert!(auth_time.is_i64(), "{me}");
    let assurance = json!({ "reached": "aal1", "methods": ["pwd"], "auth_time": auth_time });
    assert_eq!(me["assurance"], assurance);
    let credentials =
        json!({ "password": true, "totp": false, "passkeys": 0, "recovery_codes": 0 });
    assert_eq!(me["credentials"], credentials);
    let code = server.code(&session, "web", "openid").await;
    let tokens = server.redeem("web", &code).await.json();
    assert_eq!(crate::person::claims(&tokens["id_token"])["sub"], me["sub"]);
    // The same by a cookie.
    let cookie = format!("porteiro={session}");
    assert_eq!(ask(&server, Method::GET, "/me", &[("cookie", &cookie)]).await.json(), me);
    assert!(!answer.text().contains("argon2"), "nothing of what credentials are");
    server.stop().await;
}

#[tokio::test]
async fn without_a_live_session_nothing_of_a_person_is_shown_or_changed() {
    let server = TestServer::open().await;
    let session = server.sign_in("ana@acme.test").await;
    let id = text(&sessions(&server, &session).await[0]["id"]).to_owned();
    let paths = [
        (Method::GET, "/me".to_owned()),
        (Method::GET, "/me/sessions".to_owned()),
        (Method::GET, "/me/passkeys".to_owned()),
        (Method::DELETE, format!("/me/sessions/{id}")),
        (Method::DELETE, "/me/passkeys/AAAA".to_owned()),
        (Method::DELETE, "/me/totp".to_owned()),
        (Method::POST, "/me/recovery-codes".to_owned()),
    ];
    let other = if session.ends_with('A') { 'B' } else { 'A' };
    let forged = format!("{}{other}", &session[..session.len() - 1]);
    for (method, path) in &paths {
        for headers in
            [vec![], vec![("x-session-token", id.as_str())], vec![("x-session-token", &*forged)]]
        {
            let answer = ask(&server, method.clone(), path, &headers).await;
            answer.problem(401, "session_required");
        }
    }
    let renamed = json!({ "name": "mine" });
    let patch = server.request(Method::PATCH, "/me/passkeys/AAAA");
    let patch = patch.header("content-type", "application/json");
    let answer = server.send(patch.body(renamed.to_string().into()).unwrap()).await;
    answer.problem(401, "session_required");
    // A session that is over shows nothing either.
    server.clock.advance(Duration::from_hours(8 * 24));
    get_in(&server, &session, "/me").await.problem(401, "session_required");
    server.stop().await;
}

#[tokio::test]
async fn sessions_are_listed_newest_first_with_where_they_began_and_without_a_token() {
    let proxies = vec!["127.0.0.0/8".parse().unwrap()];
    let server = TestServer::open_in(TestOptions { proxies, ..TestOptions::default() }).await;
    let phone = [("x-forwarded-for", "2001:db8:1:2:3::9"), ("user-agent", "Phone/1 ana@acme.test")];
    let first = sign_in_from(&server, "ana@acme.test", &phone).await;
    server.clock.advance(Duration::from_mins(10));
    let desk = [("x-forwarded-for", "203.0.113.9"), ("user-agent", "Desk/2")];
    let second = sign_in_from(&server, "ana@acme.test", &desk).await;
    server.sign_in("bruno@acme.test").await;
    let listed = sessions(&server, &second).await;
    assert_eq!(listed.len(), 2, "and none of another account: {listed:?}");
    let [new, old] = &listed[..] else { panic!("{listed:?}") };
    assert_eq!((text(&new["user_agent"]), text(&new["address"])), ("Desk/2", "203.0.113.0/24"));
    assert_eq!((&new["current"], &old["current"]), (&json!(true), &json!(false)));
    assert_eq!(text(&old["address"]), "2001:db8:1::/48");
    assert_eq!(text(&old["user_agent"]), "Phone/1 ana*acme.test");
    assert_eq!(new["methods"], json!(["pwd"]));
    assert!(text(&new["created_at"]) > text(&old["created_at"]));
    for (token, shown) in [(&first, old), (&second, new)] {
        assert!(!shown.to_string().contains(&**token));
        let id = text(&shown["id"]);
        get_in(&server, id, "/me").await.problem(401, "session_required");
        get_in(&server, &format!("pss_{id}"), "/me").await.problem(401, "session_required");
    }
    // Use is seen.
    server.clock.advance(Duration::from_mins(10));
    let used = sessions(&server, &second).await;
    assert!(text(&used[0]["last_seen_at"]) > text(&used[0]["created_at"]), "{used:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_person_ends_a_session_of_theirs_and_everything_that_was_granted_in_it() {
    let server = TestServer::open().await;
    let (lost, kept) =
        (server.sign_in("ana@acme.test").await, server.sign_in("ana@acme.test").await);
    let tokens = async |session: &str| {
        let code = server.code(session, "web", "openid").await;
        server.redeem("web", &code).await.json()
    };
    let (of_lost, of_kept) = (tokens(&lost).await, tokens(&kept).await);
    let id = text(&crate::person::claims(&of_lost["access_token"])["sid"]).to_owned();
    let path = format!("/me/sessions/{id}");
    let ended = delete_in(&server, &kept, &path).await;
    assert_eq!((ended.status.as_u16(), ended.body.len()), (204, 0), "{ended:?}");
    assert!(ended.header("set-cookie").is_none(), "it was not the session of the caller");
    get_in(&server, &lost, "/me").await.problem(401, "session_required");
    assert_eq!(server.userinfo(text(&of_lost["access_token"])).await.status, 401);
    server.refresh("web", text(&of_lost["refresh_token"])).await.refused(400, "invalid_grant");
    assert_eq!(server.userinfo(text(&of_kept["access_token"])).await.status, 200);
    assert_eq!(sessions(&server, &kept).await.len(), 1);
    delete_in(&server, &kept, &path).await.problem(404, "not_found");
    let written = records(&server, "session.ended").await;
    assert_eq!(written.len(), 1, "{written:?}");
    let account = &written[0]["account"];
    assert_eq!(written[0]["context"]["actor"], json!({ "type": "person", "id": account }));
    server.stop().await;
}

#[tokio::test]
async fn a_session_of_another_account_is_none() {
    let server = TestServer::open().await;
    let (ana, bruno) =
        (server.sign_in("ana@acme.test").await, server.sign_in("bruno@acme.test").await);
    let of_bruno = text(&sessions(&server, &bruno).await[0]["id"]).to_owned();
    let unknown = "A".repeat(22);
    let mut answers = Vec::new();
    for id in [of_bruno.as_str(), &unknown, "x", "%00", "%ff", &"A".repeat(5_000), "..%2f"] {
        let answer = delete_in(&server, &ana, &format!("/me/sessions/{id}")).await;
        answer.problem(404, "not_found");
        answers.push(answer.body);
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "they cannot be told apart");
    assert_eq!(get_in(&server, &bruno, "/me").await.status, 200, "it lives on");
    server.stop().await;
}

#[tokio::test]
async fn a_person_who_ends_their_own_session_loses_its_cookie_too() {
    let server = TestServer::open().await;
    let session = server.sign_in("ana@acme.test").await;
    let id = text(&sessions(&server, &session).await[0]["id"]).to_owned();
    let cookie = format!("porteiro={session}");
    let headers = [("cookie", cookie.as_str()), ("sec-fetch-site", "same-origin")];
    let ended = ask(&server, Method::DELETE, &format!("/me/sessions/{id}"), &headers).await;
    assert_eq!(ended.status, 204, "{ended:?}");
    let cleared = ended.header("set-cookie").unwrap();
    assert!(cleared.starts_with("porteiro=;") && cleared.contains("Max-Age=0"), "{cleared}");
    get_in(&server, &session, "/me").await.problem(401, "session_required");
    server.stop().await;
}

#[tokio::test]
async fn pages_of_other_sites_change_nothing_and_ours_may() {
    let sign_in = Some("https://login.example.com/sign-in".parse().unwrap());
    let options =
        TestOptions { links: Links { sign_in, ..Links::default() }, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    let (lost, kept) =
        (server.sign_in("ana@acme.test").await, server.sign_in("ana@acme.test").await);
    let listed = sessions(&server, &kept).await;
    let other = listed.iter().find(|one| one["current"] == false).unwrap();
    let path = format!("/me/sessions/{}", text(&other["id"]));
    let cookie = format!("porteiro={kept}");
    for foreign in [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")] {
        let headers = [("cookie", cookie.as_str()), foreign];
        let answer = ask(&server, Method::DELETE, &path, &headers).await;
        answer.problem(403, "foreign_origin");
        assert!(answer.header("access-control-allow-origin").is_none());
        let patch = server.request(Method::PATCH, "/me/passkeys/AAAA");
        let patch = patch.header("content-type", "application/json");
        let patch = patch.header("cookie", &cookie).header(foreign.0, foreign.1);
        let body = json!({ "name": "x" }).to_string();
        server.send(patch.body(body.into()).unwrap()).await.problem(403, "foreign_origin");
    }
    assert_eq!(get_in(&server, &lost, "/me").await.status, 200);
    let ours = "https://login.example.com";
    let preflight = [("origin", ours), ("access-control-request-method", "DELETE")];
    let asked = ask(&server, Method::OPTIONS, &path, &preflight).await;
    assert_eq!(asked.status, 204, "{asked:?}");
    let methods = asked.header("access-control-allow-methods").unwrap();
    assert!(methods.contains("DELETE") && methods.contains("PATCH"), "{methods}");
    let page = [("cookie", cookie.as_str()), ("origin", ours), ("sec-fetch-site", "cross-site")];
    let ended = ask(&server, Method::DELETE, &path, &page).await;
    assert_eq!(ended.status, 204, "{ended:?}");
    assert_eq!(ended.header("access-control-allow-origin"), Some(ours));
    assert_eq!(ended.header("access-control-allow-credentials"), Some("true"));
    let posted = server.post_json("/me", &json!({}), &[]).await;
    posted.problem(405, "method_not_allowed");
    server.stop().await;
}
