//! Mails say who asked for them, from where and when, and repeat nothing that a caller wrote.

use crate::{
    invitations::invited,
    mails::{begin, code, mails, wait_for},
    person::text,
    shared::eventually,
    support::{TestOptions, TestServer},
};
use serde_json::{Value, json};
use url::Url;

const ANA: &str = "ana@acme.test";
/// A browser that would like to be read.
const AGENT: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Firefox/140.0 <b>123456</b> \
                     https://evil.test/";

async fn open() -> TestServer {
    TestServer::open_in(TestOptions { mailbox: true, ..TestOptions::default() }).await
}

/// Names Ana in a flow, and has something sent to her by a browser.
async fn sent(server: &TestServer, flow: &Value, step: &str) -> Value {
    server.step(flow, "identifier", json!({ "identifier": ANA })).await;
    let before = mails(server).await.len();
    let path = format!("/flows/{}/{step}", text(&flow["id"]));
    let answer = server.post_json(&path, &json!({}), &[("user-agent", AGENT)]).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    wait_for(server, before + 1).await.swap_remove(0)
}

/// The one line of a mail that has this label.
#[track_caller]
fn fact<'a>(mail: &'a Value, label: &str) -> &'a str {
    let mut lines = text(&mail["text"]).lines().filter_map(|line| line.split_once(": "));
    let found = lines.find(|(known, _)| *known == label);
    found.unwrap_or_else(|| panic!("no {label}: {mail}")).1
}

/// Nothing of what the caller wrote is in it, and one line alone is a code or a link.
#[track_caller]
fn is_clean(mail: &Value) {
    let (plain, html) = (text(&mail["text"]), text(&mail["html"]));
    for part in [plain, html] {
        assert!(!part.contains("evil") && !part.contains("Mozilla"), "{mail}");
    }
    let is_code = |line: &str| line.len() == 6 && line.bytes().all(|byte| byte.is_ascii_digit());
    let is_link = |line: &str| Url::parse(line).is_ok_and(|url| url.has_host());
    let alone = plain.lines().filter(|line| is_code(line) || is_link(line)).count();
    assert_eq!(alone, 1, "{mail}");
}

#[tokio::test]
async fn a_code_says_which_application_device_and_network_asked_for_it() {
    let server = open().await;
    let flow = server.authorize("web", &[]).await.json();
    for step in ["email_code/send", "magic_link/send"] {
        let mail = sent(&server, &flow, step).await;
        is_clean(&mail);
        assert_eq!(fact(&mail, "Application"), "Web");
        assert_eq!(fact(&mail, "Device"), "Firefox on Windows");
        assert_eq!(fact(&mail, "Network"), "127.0.0.0/24");
        assert!(fact(&mail, "Time").ends_with(" UTC"), "{mail}");
    }
    let mail = sent(&server, &begin(&server, "sign_in").await, "email_code/send").await;
    is_clean(&mail);
    code(&mail);
    assert!(!text(&mail["text"]).contains("Application"), "no client asked: {mail}");
    server.stop().await;
}

#[tokio::test]
async fn an_application_that_registered_itself_says_nothing_in_mails() {
    let server = open().await;
    let members = json!({
        "client_name": "Your account is locked, see evil.test",
        "redirect_uris": ["https://evil.test/cb"],
        "token_endpoint_auth_method": "none",
    });
    let registered = server.post_json("/connect/register", &members, &[]).await.json();
    let asked = [("redirect_uri", "https://evil.test/cb")];
    let flow = server.authorize(text(&registered["client_id"]), &asked).await.json();
    let mail = sent(&server, &flow, "email_code/send").await;
    is_clean(&mail);
    assert_eq!(fact(&mail, "Application"), "one that registered itself");
    server.stop().await;
}

#[tokio::test]
async fn notices_and_invitations_say_who_has_asked() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    server.enrol_totp(&session, porteiro::domain::Clock::now(&*server.clock)).await;
    let told = &wait_for(&server, 1).await[0];
    assert_eq!(fact(told, "Network"), "127.0.0.0/24", "{told}");
    let before = mails(&server).await.len();
    invited(&server, "eva@acme.test", &["clerk"]).await;
    let mut mail = Value::Null;
    eventually("the invitation", async || {
        let items = wait_for(&server, before + 1).await;
        let found = items.into_iter().find(|item| item["to"] == "eva@acme.test");
        mail = found.unwrap_or_default();
        !mail.is_null()
    })
    .await;
    assert!(fact(&mail, "By").starts_with("an operator of "), "{mail}");
    assert!(fact(&mail, "Time").ends_with(" UTC"), "{mail}");
    server.stop().await;
}
