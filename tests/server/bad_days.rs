//! Introspection, the read that resource servers wait for, on a bad day of the database.

use crate::{database::Database, support::TestServer};
use serde_json::json;

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
