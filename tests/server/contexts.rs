//! What the security log says of who acted, and from where.

use crate::{
    database::Database,
    person::PASSWORD,
    support::{TestOptions, TestServer},
};
use hyper::{Method, header::HeaderValue};
use porteiro::domain::LONGEST_USER_AGENT;
use serde_json::{Value, json};

/// Behind a trusted proxy on loopback, that says who the client is.
async fn behind_a_proxy() -> TestServer {
    let proxies = vec!["127.0.0.0/8".parse().unwrap()];
    TestServer::open_in(TestOptions { proxies, ..TestOptions::default() }).await
}

/// The details of the records of an event.
async fn records(server: &TestServer, event: &str) -> Vec<Value> {
    const SQL: &str = "SELECT event, detail FROM security_log ORDER BY at, lane, seq";
    let rows: Vec<[String; 2]> = Database::at(&server.url).await.texts(SQL).await;
    let ours = rows.into_iter().filter(|[name, _]| name == event);
    ours.map(|[_, detail]| serde_json::from_str(&detail).unwrap()).collect()
}

/// The context of the one record of an event.
async fn context(server: &TestServer, event: &str) -> Value {
    let records = records(server, event).await;
    assert_eq!(records.len(), 1, "{event}: {records:?}");
    records[0]["context"].clone()
}

const FROM: [(&str, &str); 2] =
    [("x-forwarded-for", "203.0.113.9"), ("user-agent", "Mozilla/5.0 (X11)")];

#[tokio::test]
async fn a_sign_in_says_from_where_and_who_it_was_once_that_is_proved() {
    let server = behind_a_proxy().await;
    let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &FROM).await.json();
    let step = |name: &str| format!("/flows/{}/{name}", flow["id"].as_str().unwrap());
    let identifier = json!({ "identifier": "ana@acme.test" });
    assert_eq!(server.post_json(&step("identifier"), &identifier, &FROM).await.status, 200);
    let wrong = server.post_json(&step("password"), &json!({ "password": "wrong" }), &FROM).await;
    assert_eq!(wrong.status, 401);
    let failed = context(&server, "sign_in.failed").await;
    let request_id = wrong.header("x-request-id").unwrap();
    let from = json!({ "address": "203.0.113.9", "request_id": request_id,
                       "user_agent": "Mozilla/5.0 (X11)" });
    assert_eq!(failed, from, "nobody has proved anything");
    let right = server.post_json(&step("password"), &json!({ "password": PASSWORD }), &FROM).await;
    assert_eq!(right.json()["state"], "done", "{right:?}");
    let succeeded = &records(&server, "sign_in.succeeded").await[0];
    let context = &succeeded["context"];
    assert_eq!(context["actor"], json!({ "type": "person", "id": succeeded["account"] }));
    assert_eq!(context["request_id"], right.header("x-request-id").unwrap());
    assert_eq!(context["address"], "203.0.113.9");
    server.stop().await;
}

#[tokio::test]
async fn a_reused_token_and_a_revocation_name_the_client_that_presented_it() {
    let server = behind_a_proxy().await;
    let tokens = server.tokens("ana@acme.test", "web", "openid offline_access").await;
    let granted = &records(&server, "authorization.granted").await[0];
    let person = json!({ "type": "person", "id": granted["account"] });
    assert_eq!(granted["context"]["actor"], person, "by a session");
    let spent = tokens["refresh_token"].as_str().unwrap();
    assert_eq!(server.refresh("web", spent).await.status, 200);
    let reused = server.refresh("web", spent).await;
    reused.refused(400, "invalid_grant");
    let said = context(&server, "refresh_token.reused").await;
    assert_eq!(said["actor"], json!({ "type": "client", "id": "web" }));
    assert_eq!(said["address"], "127.0.0.1", "the proxy names nobody");
    assert_eq!(said["request_id"], reused.header("x-request-id").unwrap());
    assert!(said.get("user_agent").is_none());

    let token = server.token("billing", "invoices:read").await;
    server.post_as("billing", "/connect/revoke", &[("token", &token)]).await;
    let revoked = context(&server, "access_token.revoked").await;
    assert_eq!(revoked["actor"], json!({ "type": "client", "id": "billing" }));
    server.stop().await;
}

#[tokio::test]
async fn a_registration_has_no_actor_and_a_hostile_user_agent_is_bounded_and_printable() {
    let server = behind_a_proxy().await;
    let mut hostile = b"\xff\t\x1b[31mana@acme.test \xc3\xa9".to_vec();
    hostile.retain(|byte| *byte != 0x1b);
    hostile.resize(10_000, b'x');
    let body = json!({ "redirect_uris": ["https://client.example/cb"] });
    let mut request = server
        .request(Method::POST, "/connect/register")
        .header("content-type", "application/json")
        .header("x-forwarded-for", "2001:db8::1")
        .body(body.to_string().into())
        .unwrap();
    request.headers_mut().insert("user-agent", HeaderValue::from_bytes(&hostile).unwrap());
    let registered = server.send(request).await;
    assert_eq!(registered.status, 201, "{registered:?}");
    let said = context(&server, "client.registered").await;
    assert!(said.get("actor").is_none(), "{said}");
    assert_eq!(said["address"], "2001:db8::1");
    assert_eq!(said["request_id"], registered.header("x-request-id").unwrap());
    let kept = said["user_agent"].as_str().unwrap();
    assert_eq!(kept.len(), LONGEST_USER_AGENT);
    assert!(kept.starts_with("??[31mana*acme.test ??xxx"), "{kept}");
    server.stop().await;
}

#[tokio::test]
async fn what_a_command_applies_the_operator_did_and_keys_the_node_moves() {
    let server = TestServer::open().await;
    let operator = json!({ "actor": { "type": "operator" } });
    for event in ["client.created", "account.created", "organization.created"] {
        let records = records(&server, event).await;
        assert!(!records.is_empty());
        assert!(records.iter().all(|record| record["context"] == operator), "{records:?}");
    }
    let node = json!({ "actor": { "type": "node" } });
    let published = records(&server, "signing_key.published").await;
    assert!(published.iter().all(|record| record["context"] == node), "{published:?}");
    server.stop().await;
}
