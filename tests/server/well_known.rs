//! Addresses at which password managers and finders of weaknesses look: there where there is something to say, and a path
//! that never existed otherwise.

use crate::{
    links::node,
    support::{TestOptions, TestServer},
};
use hyper::Method;
use porteiro::{
    domain::{Clock as _, Timestamp},
    http::{Links, SecurityTxt},
};
use serde_json::json;
use std::time::Duration;

const ENDPOINTS: &str = "/.well-known/passkey-endpoints";
const PASSWORD: &str = "/.well-known/change-password";
const SECURITY: &str = "/.well-known/security.txt";

/// Asserts that a path is answered as one that never existed, whichever method is used.
async fn is_nowhere(server: &TestServer, path: &str) {
    for method in [Method::GET, Method::POST, Method::OPTIONS] {
        let ask = async |path: &str| {
            let request = server.request(method.clone(), path).header("origin", "https://a.test");
            let answer = server.send(request.body("".into()).unwrap()).await;
            let names = answer.headers.keys().map(ToString::to_string).collect::<Vec<_>>();
            (answer.status, names, answer.body)
        };
        assert_eq!(ask(path).await, ask("/.well-known/never-existed").await, "{method} {path}");
    }
}

#[tokio::test]
async fn password_managers_find_the_pages_of_ours_where_there_are_any() {
    let server = TestServer::open_in(TestOptions { screens: true, ..node() }).await;
    let found = server.get(ENDPOINTS).await;
    let page = "http://localhost:8080/account/security";
    assert_eq!(found.json(), json!({ "enroll": page, "manage": page }));
    assert_eq!(found.header("content-type"), Some("application/json"));
    let password = server.get(PASSWORD).await;
    assert_eq!(password.status, 303, "{password:?}");
    let leads_to = "http://localhost:8080/account/security?do=set_password";
    assert_eq!(password.header("location"), Some(leads_to));
    is_nowhere(&server, SECURITY).await;
    // The page is there, and asks a stranger to sign in first.
    let page = server.get("/account/security?do=set_password").await;
    assert_eq!(page.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn without_pages_of_ours_a_password_is_changed_where_the_operator_says() {
    let link = "https://app.example.com/password?from=manager";
    let links = Links { change_password: Some(link.parse().unwrap()), ..Links::default() };
    let server = TestServer::open_in(TestOptions { screens: false, links, ..node() }).await;
    let password = server.get(PASSWORD).await;
    assert_eq!((password.status.as_u16(), password.header("location")), (303, Some(link)));
    // It is a page of ours then, as every link is: its passkeys are accepted.
    let related = server.get("/.well-known/webauthn").await.json();
    assert!(related["origins"].as_array().unwrap().contains(&json!("https://app.example.com")));
    is_nowhere(&server, ENDPOINTS).await;
    let bare = server.beside(TestOptions { screens: false, ..node() }).await;
    for path in [ENDPOINTS, PASSWORD, SECURITY] {
        is_nowhere(&bare, path).await;
    }
    bare.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn who_finds_a_weakness_is_told_where_to_report_it() {
    let said = SecurityTxt {
        contact: "mailto:security@example.com".to_owned(),
        policy: Some("https://example.com/security".parse().unwrap()),
    };
    let options = TestOptions { security_txt: Some(said), ..node() };
    let server = TestServer::open_in(options).await;
    let answer = server.get(SECURITY).await;
    assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
    let text = answer.text();
    let field = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let first = lines.next().unwrap_or_else(|| panic!("{name}: {text}"));
        assert_eq!(lines.next(), None, "{name} is there once: {text}");
        first.to_owned()
    };
    assert_eq!(field("Contact"), "mailto:security@example.com");
    assert_eq!(field("Canonical"), format!("http://localhost:8080{SECURITY}"));
    assert_eq!(field("Policy"), "https://example.com/security");
    assert_eq!(field("Preferred-Languages"), "en, pt");
    let expires = Timestamp::from_rfc3339(&field("Expires")).unwrap();
    let year = server.clock.now() + Duration::from_hours(365 * 24);
    assert_eq!(expires.seconds(), year.seconds());
    // What never changes would be stale one day.
    server.clock.advance(Duration::from_hours(24));
    assert!(!server.get(SECURITY).await.text().contains(&field("Expires")));
    server.stop().await;
}
