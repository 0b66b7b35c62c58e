//! Clients that answer their pings in odd ways: the flow completes by a call of theirs, and they are
//! pinged once.

use super::run::Run;
use serde_json::json;
use std::time::Duration;

pub async fn answered(run: &Run) {
    let begun = run.begin(&run.one, &json!({})).await;
    run.say(&run.one, "approve").await;
    run.notified(1).await;
    let answer = run.redeem(&run.one, &begun["auth_req_id"]).await;
    assert_eq!(answer.status, 200, "{run}: {answer:?}");
    once(run).await;
}

/// Nothing else happens that could look like the end of it: the client does not call.
pub async fn not_retried(run: &Run) {
    run.begin(&run.one, &json!({})).await;
    run.say(&run.one, "approve").await;
    run.notified(1).await;
    once(run).await;
}

async fn once(run: &Run) {
    run.server.quiet().await;
    run.server.clock.advance(Duration::from_mins(2));
    run.server.quiet().await;
    assert_eq!(run.endpoint.count(), 1, "{run}: neither followed nor repeated");
}
