//! What one request of SCIM costs is bounded, whatever the organization has: the table of `docs/runtime-semantics.md`, executed.

use crate::{
    bounds::{Cost, done, table},
    http::Answer,
    person::text,
    scim_caller::{Scim, USER, id},
    support::{TestOptions, TestServer},
};
use serde_json::{Value, json};
use std::time::Duration;

const USERS: usize = 1_000;

/// Opens a provider with as many Users, all of them in one Group.
async fn open() -> (TestServer, Scim, Vec<String>) {
    // Keys are read as well, and would be counted.
    let keys_every = Duration::from_hours(1);
    let options = TestOptions { keys_every, mailbox: true, rates: None, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    let scim = Scim::of(&server, "acme").await;
    let mut users = Vec::new();
    for part in 0..USERS / 100 {
        let user = |n: usize| {
            let name = format!("u{part}-{n}");
            let data =
                json!({ "schemas": [USER], "userName": name, "externalId": name, "title": "x" });
            json!({ "method": "POST", "path": "/Users", "bulkId": name, "data": data })
        };
        let operations: Vec<Value> = (0..100).map(user).collect();
        let schema = "urn:ietf:params:scim:api:messages:2.0:BulkRequest";
        let body = json!({ "schemas": [schema], "Operations": operations });
        let made = scim.post("/Bulk", &body).await.json();
        let made = made["Operations"].as_array().unwrap().iter();
        users.extend(made.map(|one| format!("/Users/{}", id(text(&one["location"])))));
    }
    let all: Vec<Value> = users.iter().map(|user| json!({ "value": id(user) })).collect();
    let add = json!([{ "op": "add", "path": "members", "value": all }]);
    assert_eq!(scim.patch("/Groups/manager", &add).await.status, 204);
    (server, scim, users)
}

/// Makes one request of the table.
async fn make(scim: &Scim, users: &[String], request: &str) -> Answer {
    let all: Vec<Value> = users.iter().map(|user| json!({ "value": id(user) })).collect();
    match request {
        "GET /Users/{id}" => scim.get(&users[1]).await,
        "GET /Users?filter=userName eq" => scim.get("/Users?filter=userName+eq+%22u3-7%22").await,
        "GET /Users?filter=externalId eq" => {
            scim.get("/Users?filter=externalId+eq+%22u3-7%22").await
        }
        "GET /Users" => scim.get("/Users?startIndex=500").await,
        "POST /Users" => {
            let body = json!({ "schemas": [USER], "userName": "new@far.test" });
            scim.post("/Users", &body).await
        }
        "PATCH /Users/{id}" => {
            let operation = json!([{ "op": "replace", "path": "title", "value": "y" }]);
            scim.patch(&users[2], &operation).await
        }
        "DELETE /Users/{id}" => scim.delete(&scim.user("gone").await).await,
        "PATCH /Groups/{id} (1,000 members)" => {
            let operation = json!([{ "op": "add", "path": "members", "value": all }]);
            scim.patch("/Groups/clerk", &operation).await
        }
        "GET /Groups/{id} (1,000 members)" => scim.get("/Groups/manager").await,
        "GET /Users?filter=title pr" => scim.get("/Users?filter=title+pr").await,
        other => panic!("say here how {other} is made"),
    }
}

#[tokio::test]
async fn no_request_of_scim_costs_more_than_the_table_says() {
    let (server, scim, users) = open().await;
    let table = table("What one request of SCIM may cost");
    assert_eq!(table.len(), 10, "{table:?}");
    for (request, Cost { reads, commits, kilobytes }) in &table {
        server.clock.expire_views();
        let before = done(&server).await;
        let answer = make(&scim, &users, request).await;
        assert!(answer.status.is_success(), "{request}: {answer:?}");
        let after = done(&server).await;
        let (read, committed) = (after.0 - before.0, after.1 - before.1);
        let answered = answer.body.len().div_ceil(1_024) as u64;
        println!("{request}: {read} reads, {answered} KB, {committed} commits");
        assert!(read <= *reads, "{request}: {read} reads");
        assert!(committed <= *commits, "{request}: {committed} commits");
        assert!(answered <= *kilobytes, "{request}: {answered} KB");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_filters_that_look_at_all_users_one_runs_at_a_time() {
    let (server, scim, _users) = open().await;
    let scans = (0..8).map(|_| {
        let scim = scim.clone();
        tokio::spawn(async move { scim.get("/Users?filter=title+co+%22nothing%22").await })
    });
    let (mut done, mut refused) = (0, 0);
    for scan in scans.collect::<Vec<_>>() {
        let answer = scan.await.unwrap();
        match answer.status.as_u16() {
            200 => done += 1,
            429 => {
                refused += 1;
                assert!(answer.header("retry-after").is_some(), "{answer:?}");
            }
            _ => panic!("{answer:?}"),
        }
    }
    assert!(done >= 1 && refused >= 1, "{done} were answered and {refused} refused");
    // What is found by a name waits for none, and the next scan is let in.
    assert_eq!(scim.get("/Users?filter=userName+eq+%22u1-1%22").await.status, 200);
    assert_eq!(scim.get("/Users?filter=title+co+%22nothing%22").await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn members_are_read_once_however_often_a_request_names_them() {
    let options =
        TestOptions { keys_every: Duration::from_hours(1), rates: None, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    let scim = Scim::of(&server, "acme").await;
    let mut users = Vec::new();
    for number in 0..20 {
        users.push(scim.user(&format!("u{number}")).await);
    }
    let users: Vec<&str> = users.iter().map(String::as_str).collect();
    for number in 0..20 {
        scim.group(&format!("g{number}"), &users[..2]).await;
    }
    let group = scim.group("all", &users).await;
    let reads = async |before: u64| done(&server).await.0 - before;
    // All of them go and come back, three hundred times in one patch.
    let all: Vec<Value> = users[..3].iter().map(|user| json!({ "value": id(user) })).collect();
    let again = [
        json!({ "op": "remove", "path": "members" }),
        json!({ "op": "add", "path": "members", "value": all }),
    ];
    let operations: Vec<&Value> = again.iter().cycle().take(600).collect();
    let before = done(&server).await.0;
    assert_eq!(scim.patch(&group, &json!(operations)).await.status, 204);
    let read = reads(before).await;
    assert!(read < 100, "{read} reads");
    assert_eq!(scim.get(&group).await.json()["members"].as_array().unwrap().len(), 3);
    // Whether any of twenty is in any of twenty Groups.
    let named: Vec<String> =
        users.iter().map(|user| format!("members eq \"{}\"", id(user))).collect();
    let before = done(&server).await.0;
    let found = scim.found("Groups", &named.join(" or ")).await;
    let read = reads(before).await;
    assert_eq!(found["totalResults"], 21);
    assert!(read < 100, "{read} reads");
    server.stop().await;
}
