//! What directories did and were refused is found in the trail, whatever else is in it (adr/0147).

use crate::{
    api_caller::{Api, DIRECTORY, EVERYTHING},
    person::text,
    scim_caller::{GROUP, provisioned, refused},
};
use porteiro::domain::{Context, organization};
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test]
async fn what_directories_did_is_found_whatever_else_was_done_since() {
    let (server, scim) = provisioned().await;
    server.apply(DIRECTORY).await;
    // Each at a time of its own: the trail is in the order of time.
    let moment = Duration::from_millis(10);
    let user = scim.user("eva@far.test").await;
    server.clock.advance(moment);
    let body = json!({ "schemas": [GROUP], "displayName": "" });
    refused(&scim.post("/Groups", &body).await, 400, Some("invalidValue"));
    server.clock.advance(moment);
    scim.group("g", &[]).await;
    server.clock.advance(moment);
    assert_eq!(scim.delete(&user).await.status, 204);
    let mut commit = server.running().system().multi_commit(&Context::node());
    for number in 0..400 {
        // Words of others that look like it.
        let name = Some(format!("\"cause\":\"scim\" {number}"));
        let draft =
            organization::Draft { slug: "acme".to_owned(), name, ..organization::Draft::default() };
        let command = organization::Command::Provision(draft);
        commit.decide::<organization::Organization>("acme", &command).await.unwrap().unwrap();
    }
    commit.commit().await.unwrap();
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let path = "/api/organizations/acme/audit?cause=scim&limit=3";
    let first = api.get(path).await.json();
    let events = |page: &Value| {
        let items = page["items"].as_array().unwrap().iter();
        items.map(|one| text(&one["event"]).to_owned()).collect::<Vec<_>>()
    };
    let rest = format!("{path}&cursor={}", text(&first["next_cursor"]));
    let rest = api.get(&rest).await.json();
    let mut all = events(&first);
    all.extend(events(&rest));
    let expected =
        ["membership.removed", "organization.changed", "api.refused", "membership.proposed"];
    assert_eq!(all, expected);
    let one = api.get(&format!("{path}&event=api.refused")).await.json();
    assert_eq!(one["items"][0]["detail"]["operation"], "scimCreateGroup", "{one}");
    assert_eq!(one["items"].as_array().unwrap().len(), 1);
    let wrong = api.get("/api/organizations/acme/audit?cause=other").await;
    assert_eq!(wrong.status, 400, "{wrong:?}");
    // Of another organization there is nothing.
    let other = Api::of(&server, "otto@other.test", EVERYTHING).await;
    let theirs = other.get("/api/organizations/other/audit?cause=scim").await.json();
    assert_eq!(theirs["items"], json!([]));
    server.stop().await;
}
