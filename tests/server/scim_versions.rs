//! Versions follow what is shown: what changes nothing leaves them, and what is shown of others moves them on.

use crate::{
    mails::code,
    me::records,
    me_account::{message_to, post_in},
    person::text,
    scim_caller::{GROUP, Scim, USER, id, provisioned, refused},
    support::TestServer,
};
use hyper::Method;
use serde_json::{Value, json};

async fn user_of(scim: &Scim, address: &str) -> String {
    let found = scim.found("Users", &format!("userName eq \"{address}\"")).await;
    format!("/Users/{}", text(&found["Resources"][0]["id"]))
}

async fn tag(scim: &Scim, path: &str) -> String {
    let shown = scim.get(path).await;
    let tag = shown.header("etag").unwrap().to_owned();
    assert_eq!(shown.json()["meta"]["version"], tag.as_str());
    tag
}

/// Everything that a change would write: rows, and what is in the log.
async fn written(server: &TestServer, users: &[&String]) -> Vec<i64> {
    let reads = server.running().system().fresh_reads();
    let mut written = vec![reads.version("organization", "acme").await.unwrap()];
    for user in users {
        written.push(reads.version("membership", id(user)).await.unwrap());
    }
    for event in ["membership.changed", "membership.proposed", "organization.changed"] {
        written.push(i64::try_from(records(server, event).await.len()).unwrap());
    }
    written
}

#[tokio::test]
async fn a_change_that_changes_nothing_leaves_the_version_and_writes_nothing() {
    let (server, scim) = provisioned().await;
    let bruno = user_of(&scim, "bruno@acme.test").await;
    let body = json!({
        "schemas": [USER], "userName": "eva@far.test", "externalId": "e", "title": "Clerk", "active": true,
        "emails": [{ "value": "eva@far.test", "type": "work", "primary": true }],
    });
    let eva = scim.made("/Users", &body).await;
    let away = scim.user("away@far.test").await;
    scim.activate(&away, false).await;
    let group = scim.group("Some Group", &[&bruno, &eva]).await;
    let users = [&bruno, &eva, &away];
    let paths = [&bruno, &eva, &away, &group];
    let mut shown = Vec::new();
    for path in paths {
        shown.push((tag(&scim, path).await, scim.get(path).await.json()));
    }
    let before = written(&server, &users).await;
    for (path, (tag, body)) in users.into_iter().zip(&shown) {
        let put = scim.put(path, body).await;
        assert_eq!((put.status.as_u16(), put.header("etag")), (200, Some(tag.as_str())), "{put:?}");
        let same = json!([
            { "op": "replace", "value": { "active": body["active"], "userName": body["userName"] } },
            { "op": "add", "path": "title", "value": body["title"] },
            { "op": "add", "path": "nickName", "value": "N" },
            { "op": "remove", "path": "nickName" },
            { "op": "remove", "path": "profileUrl" },
        ]);
        let patched = scim.patch(path, &same).await;
        assert_eq!((patched.status.as_u16(), patched.header("etag")), (200, Some(tag.as_str())));
    }
    let put = scim.put(&group, &shown[3].1).await;
    assert_eq!((put.status.as_u16(), put.header("etag")), (200, Some(&*shown[3].0)), "{put:?}");
    let members = shown[3].1["members"].clone();
    for operation in [
        json!({ "op": "replace", "path": "members", "value": members }),
        json!({ "op": "add", "path": "members", "value": [{ "value": id(&eva) }] }),
        json!({ "op": "remove", "path": "members", "value": [{ "value": id(&away) }] }),
        json!({ "op": "replace", "path": "displayName", "value": "Some Group" }),
        json!({ "op": "remove", "path": "externalId" }),
    ] {
        assert_eq!(scim.patch(&group, &json!([operation])).await.status, 204);
    }
    assert_eq!(written(&server, &users).await, before, "nothing was written");
    for (path, (tag_before, body)) in paths.into_iter().zip(&shown) {
        assert_eq!((&tag(&scim, path).await, &scim.get(path).await.json()), (tag_before, body));
    }
    // And a change is one.
    let change = json!([{ "op": "replace", "path": "title", "value": "Other" }]);
    assert_ne!(scim.patch(&eva, &change).await.header("etag"), Some(&*shown[1].0));
    assert_ne!(written(&server, &users).await, before);
    server.stop().await;
}

#[tokio::test]
async fn the_version_of_a_user_follows_the_account_and_the_groups_that_it_shows() {
    let (server, scim) = provisioned().await;
    let ana = user_of(&scim, "ana@acme.test").await;
    let before = tag(&scim, &ana).await;
    let session = server.sign_in("ana@acme.test").await;
    let new = "nova@acme.test";
    assert_eq!(post_in(&server, &session, "/me/email", json!({ "email": new })).await.status, 202);
    let mail = message_to(&server, new, "use this address").await;
    let confirm = json!({ "code": code(&mail) });
    assert_eq!(post_in(&server, &session, "/me/email/confirm", confirm).await.status, 204);
    let seen = scim.call(Method::GET, &ana, None, &[("if-none-match", &before)]).await;
    assert_eq!((seen.status.as_u16(), &seen.json()["userName"]), (200, &json!(new)));
    let after = tag(&scim, &ana).await;
    assert_ne!(before, after);
    let put = async |tag: &str, title: &str| {
        let body = json!({ "schemas": [USER], "userName": "ana", "title": title }).to_string();
        scim.call(Method::PUT, &ana, Some(body), &[("if-match", tag)]).await
    };
    refused(&put(&before, "A").await, 412, None);
    let stale = scim.call(Method::DELETE, &ana, None, &[("if-match", &before)]).await;
    refused(&stale, 412, None);
    assert_eq!(put(&after, "A").await.status, 200);
    // The names of Groups are shown as well.
    let group = scim.group("First", &[&ana]).await;
    let in_first = tag(&scim, &ana).await;
    let rename = json!([{ "op": "replace", "path": "displayName", "value": "Second" }]);
    assert_eq!(scim.patch(&group, &rename).await.status, 204);
    assert_ne!(tag(&scim, &ana).await, in_first);
    refused(&put(&in_first, "B").await, 412, None);
    let listed = scim.found("Users", "title eq \"A\"").await;
    assert_eq!(listed["Resources"][0]["meta"]["version"], tag(&scim, &ana).await.as_str());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_changes_that_expect_one_version_of_a_group_one_is_made() {
    let (server, scim) = provisioned().await;
    let mut users = Vec::new();
    for number in 0..3 {
        users.push(scim.user(&format!("u{number}@far.test")).await);
    }
    let add = |user: &str| {
        let operation = json!({ "op": "add", "path": "members", "value": [{ "value": id(user) }] });
        let schema = "urn:ietf:params:scim:api:messages:2.0:PatchOp";
        json!({ "schemas": [schema], "Operations": [operation] }).to_string()
    };
    for round in 0..4 {
        let group = scim.group(&format!("g{round}"), &[]).await;
        let seen = tag(&scim, &group).await;
        let changes = users[..2].iter().map(|user| {
            let (scim, group, seen, body) = (scim.clone(), group.clone(), seen.clone(), add(user));
            tokio::spawn(async move {
                scim.call(Method::PATCH, &group, Some(body), &[("if-match", &seen)]).await
            })
        });
        let mut statuses = Vec::new();
        for change in changes.collect::<Vec<_>>() {
            statuses.push(change.await.unwrap().status.as_u16());
        }
        statuses.sort_unstable();
        assert_eq!(
            statuses,
            [204, 412],
            "members are in the version: they change no row in common"
        );
        let members = scim.get(&group).await.json()["members"].as_array().unwrap().len();
        assert_eq!(members, 1);
        // What is stale changes neither members nor names, and deletes nothing.
        let stale = [("if-match", seen.as_str())];
        let answer = scim.call(Method::PATCH, &group, Some(add(&users[2])), &stale).await;
        refused(&answer, 412, None);
        let body = json!({ "schemas": [GROUP], "displayName": "Other", "members": [] }).to_string();
        refused(&scim.call(Method::PUT, &group, Some(body), &stale).await, 412, None);
        refused(&scim.call(Method::DELETE, &group, None, &stale).await, 412, None);
        let shown = scim.get(&group).await.json();
        assert_eq!(shown["members"].as_array().unwrap().len(), 1);
        assert_eq!(shown["displayName"], Value::from(format!("g{round}")));
    }
    server.stop().await;
}
