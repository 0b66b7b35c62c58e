//! What a person finds in their mails.

use crate::{http::Answer, person::text, shared::eventually, support::TestServer};
use serde_json::{Value, json};
use url::Url;

/// Every mail and SMS so far, the newest first.
pub async fn mails(server: &TestServer) -> Vec<Value> {
    server.get("/mailbox").await.json()["items"].as_array().unwrap().clone()
}

/// Waits until there are so many, and returns them.
pub async fn wait_for(server: &TestServer, count: usize) -> Vec<Value> {
    let mut items = Vec::new();
    eventually("the mails", async || {
        items = mails(server).await;
        items.len() >= count
    })
    .await;
    items
}

/// Takes a step that sends a mail, and returns the mail.
pub async fn sent(server: &TestServer, flow: &Value, step: &str) -> Value {
    // What was told before is in the mailbox by then, and is not taken for the answer.
    server.quiet().await;
    let before = mails(server).await.len();
    let answer = server.step(flow, step, json!({})).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    wait_for(server, before + 1).await.swap_remove(0)
}

/// The line of a mail that is nothing but a code.
pub fn code(mail: &Value) -> String {
    let digits = |line: &&str| line.len() == 6 && line.bytes().all(|one| one.is_ascii_digit());
    let line = text(&mail["text"]).lines().find(digits);
    line.unwrap_or_else(|| panic!("{mail}")).to_owned()
}

/// The line of a mail that is nothing but a link.
pub fn link(mail: &Value) -> Url {
    let line = text(&mail["text"]).lines().find(|line| line.starts_with("http"));
    line.unwrap_or_else(|| panic!("{mail}")).parse().unwrap()
}

/// Begins a flow of a kind.
pub async fn begin(server: &TestServer, kind: &str) -> Value {
    let begun = server.post_json("/flows", &json!({ "kind": kind }), &[]).await;
    assert_eq!(begun.status, 201, "{begun:?}");
    begun.json()
}

/// Proves by a mailed code that the address is the person's.
pub async fn prove_by_mail(server: &TestServer, flow: &Value) -> Answer {
    let mail = sent(server, flow, "email_code/send").await;
    server.step(flow, "email_code", json!({ "code": code(&mail) })).await
}

pub fn names(document: &Value) -> Vec<&str> {
    document["steps"].as_array().unwrap().iter().map(|step| text(&step["name"])).collect()
}
