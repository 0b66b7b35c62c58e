//! Introspection, the read that resource servers wait for, on a bad day of the database.

use crate::{database::Database, person::text, support::TestServer};
use serde_json::json;
use tokio::task::JoinSet;

#[tokio::test]
async fn while_another_process_holds_the_lock_reads_are_answered_and_no_change_is_shown_early() {
    let server = TestServer::open().await;
    let token = server.token("billing", "invoices:read").await;
    assert_eq!(server.introspect("invoices-api", &token).await["active"], true);
    let mut other = Database::at(&server.url).await;
    if server.url.starts_with("postgres") {
        other.run("BEGIN").await.unwrap();
        other.run("LOCK TABLE entities IN EXCLUSIVE MODE").await.unwrap();
    } else {
        other.run("BEGIN IMMEDIATE").await.unwrap();
    }
    let fields = [("token", token.as_str())];
    let revoked = server.post_as("billing", "/connect/revoke", &fields);
    let (revoked, ()) = tokio::join!(revoked, async {
        for _ in 0..20 {
            assert_eq!(server.introspect("invoices-api", &token).await["active"], true);
        }
        other.run("ROLLBACK").await.unwrap();
    });
    assert_eq!(revoked.status, 200);
    assert_eq!(server.introspect("invoices-api", &token).await, json!({ "active": false }));
    server.stop().await;
}

#[tokio::test]
async fn a_refresh_while_another_process_holds_the_lock_spends_nothing_and_is_told_to_come_back() {
    let server = TestServer::open().await;
    if server.url.starts_with("postgres") {
        println!("left out: PostgreSQL has no lock of the whole database");
        return server.stop().await;
    }
    let session = server.sign_in("ana@acme.test").await;
    let mut tokens = Vec::new();
    for _ in 0..5 {
        let code = server.code(&session, "web", "openid offline_access").await;
        let granted = server.redeem("web", &code).await.json();
        tokens.push(text(&granted["refresh_token"]).to_owned());
    }
    let mut other = Database::at(&server.url).await;
    other.run("BEGIN IMMEDIATE").await.unwrap();
    // For as long as the lock is held, each caller comes back as it is told, with the same token.
    for _ in 0..3 {
        let mut callers = JoinSet::new();
        for token in tokens.clone() {
            let outside = *server;
            callers.spawn(async move { outside.refresh("web", &token).await });
        }
        for answer in callers.join_all().await {
            assert_eq!(answer.status, 503, "{answer:?}");
            assert!(answer.header("retry-after").is_some(), "{answer:?}");
        }
    }
    other.run("ROLLBACK").await.unwrap();
    for token in &tokens {
        let refreshed = server.refresh("web", token).await;
        assert_eq!(refreshed.status, 200, "{refreshed:?}");
    }
    server.stop().await;
}
