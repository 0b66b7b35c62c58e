//! The security log of a whole server: what is kept, for how long, and what is said of it at the end.

use crate::support::{TestServer, metric};
use serde_json::json;

/// Tries a wrong password for an identifier, as often as asked, each time in a flow of its own.
async fn fail(server: &TestServer, identifier: &str, times: usize) {
    for _ in 0..times {
        let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
        server.step(&flow, "identifier", json!({ "identifier": identifier })).await;
        let answer = server.step(&flow, "password", json!({ "password": "wrong" })).await;
        assert_eq!(answer.status, 401, "{answer:?}");
    }
}

/// Returns the detail of every row that records `event`.
async fn records(server: &TestServer, event: &str) -> Vec<String> {
    let store = server.running.system().store();
    let mut found = Vec::new();
    for lane in store.log_lanes().await.unwrap() {
        let rows = store.log_page(&lane, 0).await.unwrap();
        found.extend(rows.into_iter().filter(|row| row.event == event).map(|row| row.detail));
    }
    found
}

#[tokio::test]
async fn a_wrong_password_is_recorded_for_an_account_and_only_counted_for_none() {
    let server = TestServer::open().await;
    fail(&server, "ana@acme.test", 3).await;
    let of_ana = records(&server, "sign_in.failed").await;
    assert_eq!(of_ana.len(), 3);
    assert!(of_ana.iter().all(|detail| detail.starts_with("{\"account\":")), "{of_ana:?}");
    for identifier in ["eva@acme.test", "no address at all"] {
        fail(&server, identifier, 4).await;
    }
    assert_eq!(records(&server, "sign_in.failed").await, of_ana, "no row for identifiers of no one");
    assert_eq!(metric(&server, "porteiro_attempts_without_account_total").await, 8.0);
    let proof = server.running.system().store().verify_log(&[]).await.unwrap();
    assert!(proof.findings.is_empty(), "{proof:?}");
    server.stop().await;
}
