//! The trail of an organization as lines of JSON.

use crate::{
    api_caller::{Api, EVERYTHING, directory},
    person::text,
};
use serde_json::Value;

const EXPORT: &str = "/api/organizations/acme/audit/export";

async fn exported(api: &Api<'_>, query: &str) -> Vec<Value> {
    let answer = api.get(&format!("{EXPORT}{query}")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/jsonl"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let text = answer.text();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn the_customer_exports_the_whole_trail_and_each_line_is_an_entry_of_the_list() {
    let server = directory().await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    // More than is read at a time: each refusal is an entry.
    for _ in 0..205 {
        api.get("/api/organizations/other").await.problem(403, "other_organization");
    }
    let mut listed = Vec::new();
    let mut path = "/api/organizations/acme/audit?limit=100".to_owned();
    loop {
        let page = api.get(&path).await.json();
        listed.extend(page["items"].as_array().unwrap().iter().cloned());
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("/api/organizations/acme/audit?limit=100&cursor={cursor}");
    }
    let lines = exported(&api, "").await;
    assert!(lines.len() > 205, "{}", lines.len());
    assert!(lines == listed, "{} lines, {} entries", lines.len(), listed.len());
    server.stop().await;
}

#[tokio::test]
async fn an_export_takes_the_filters_of_the_list_and_has_nothing_of_another_organization() {
    let server = directory().await;
    let api = Api::of(&server, "rita@acme.test", "audit:read").await;
    let lines = exported(&api, "?event=organization.created").await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(text(&lines[0]["event"]), "organization.created");
    assert_eq!(exported(&api, "?until=2001-01-01T00:00:00Z").await, Vec::<Value>::new());
    assert!(exported(&api, "").await.iter().all(|line| !line.to_string().contains("otto")));
    for wrong in ["?since=yesterday", "?limit=5", "?cursor=x", "?event=a&event=b"] {
        api.get(&format!("{EXPORT}{wrong}")).await.problem(400, "invalid_request");
    }
    server.stop().await;
}
