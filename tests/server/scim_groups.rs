//! A Group is a role: what a directory may do with one, and what its members hold.

use crate::{
    api_caller::{Api, DIRECTORY, EVERYTHING},
    person::{claims, parameter, redirect, text},
    scim_caller::{GROUP, Scim, id, provisioned, refused},
    support::TestServer,
};
use hyper::Method;
use serde_json::{Value, json};

const BRUNO: &str = "bruno@acme.test";

async fn user_of(scim: &Scim, address: &str) -> String {
    let found = scim.found("Users", &format!("userName eq \"{address}\"")).await;
    format!("/Users/{}", text(&found["Resources"][0]["id"]))
}

fn adding(user: &str) -> Value {
    json!([{ "op": "add", "path": "members", "value": [{ "value": id(user) }] }])
}

fn removing(user: &str) -> Value {
    json!([{ "op": "remove", "path": format!("members[value eq \"{}\"]", id(user)) }])
}

async fn members(scim: &Scim, group: &str) -> Vec<String> {
    let shown = scim.get(group).await.json();
    let members = shown["members"].as_array().cloned().unwrap_or_default();
    members.iter().map(|one| text(&one["value"]).to_owned()).collect()
}

/// Asks for a scope in acme, and returns the roles that the token names.
async fn roles(server: &TestServer, email: &str, scope: &str) -> Option<String> {
    // What a person may not is seen for a second as it was.
    server.clock.expire_views();
    let session = server.sign_in(email).await;
    let fields = [("scope", scope), ("organization", "acme")];
    let answer = server.authorize_in(&session, "web", &fields).await;
    let code = parameter(&redirect(&answer), "code")?;
    let tokens = server.redeem("web", &code).await.json();
    Some(claims(&tokens["access_token"])["role"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn every_role_is_a_group_and_scim_fills_it_but_changes_only_its_own() {
    let (server, scim) = provisioned().await;
    let listed = scim.get("/Groups?sortBy=displayName").await.json();
    let names: Vec<&str> = listed["Resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| text(&one["displayName"]))
        .collect();
    assert_eq!(names, ["clerk", "manager"]);
    let bruno = user_of(&scim, BRUNO).await;
    assert!(roles(&server, BRUNO, "invoices:approve").await.is_none());
    assert_eq!(scim.patch("/Groups/manager", &adding(&bruno)).await.status, 204);
    let held = roles(&server, BRUNO, "invoices:approve").await.unwrap();
    assert_eq!(held, "clerk manager");
    assert_eq!(scim.patch("/Groups/manager", &removing(&bruno)).await.status, 204);
    assert!(roles(&server, BRUNO, "invoices:approve").await.is_none());

    let rename = json!([{ "op": "replace", "path": "displayName", "value": "Boss" }]);
    refused(&scim.patch("/Groups/manager", &rename).await, 403, None);
    let body = json!({ "schemas": [GROUP], "displayName": "Boss", "members": [] });
    refused(&scim.put("/Groups/manager", &body).await, 403, None);
    refused(&scim.delete("/Groups/manager").await, 403, None);
    assert_eq!(members(&scim, "/Groups/manager").await.len(), 1, "nothing happened");
    // The same name is no change, and a label of the directory's own may be set on any.
    let body = json!({
        "schemas": [GROUP], "displayName": "manager", "externalId": "m-1",
        "members": [{ "value": id(&bruno) }],
    });
    assert_eq!(scim.put("/Groups/manager", &body).await.status, 200);
    assert_eq!(scim.found("Groups", "externalId eq \"m-1\"").await["totalResults"], 1);
    let body = json!({ "schemas": [GROUP], "displayName": "x", "externalId": "m-1" });
    refused(&scim.post("/Groups", &body).await, 409, Some("uniqueness"));
    server.stop().await;
}

#[tokio::test]
async fn a_group_that_scim_makes_confers_nothing_until_an_administrator_says_what() {
    let (server, scim) = provisioned().await;
    server.apply(DIRECTORY).await;
    let clara = scim.user("clara@nowhere.test").await;
    let rita = user_of(&scim, "rita@acme.test").await;
    let group = scim.group("auditors", &[&rita, &clara]).await;
    assert_eq!(group, "/Groups/auditors", "its name is the displayName");
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let path = "/api/organizations/acme/roles/auditors";
    assert_eq!(api.get(path).await.json()["permissions"], json!([]));
    let body = json!({ "permissions": ["audit:read"] });
    let given = api.change(Method::PUT, path, Some(&body)).await;
    assert_eq!(given.status, 200, "{given:?}");
    let bruno = user_of(&scim, BRUNO).await;
    assert!(roles(&server, BRUNO, "audit:read").await.is_none());
    assert_eq!(scim.patch(&group, &adding(&bruno)).await.status, 204);
    assert_eq!(roles(&server, BRUNO, "audit:read").await.unwrap(), "clerk auditors");
    // A file that names other roles leaves what SCIM made, with its members and what it confers.
    let file = "[[organization]]\nslug = \"acme\"\n[[organization.role]]\nname = \"clerk\"\n\
                permissions = [\"invoices:read\"]\n";
    server.apply(file).await;
    assert_eq!(members(&scim, &group).await.len(), 3);
    assert_eq!(roles(&server, BRUNO, "audit:read").await.unwrap(), "clerk auditors");
    assert_eq!(scim.delete(&group).await.status, 204, "it is still the directory's");
    assert!(roles(&server, BRUNO, "audit:read").await.is_none());
    server.stop().await;
}

#[tokio::test]
async fn the_name_of_a_role_is_the_display_name_or_made_of_it_once() {
    let (server, scim) = provisioned().await;
    let plain = scim.group("finance", &[]).await;
    assert_eq!(plain, "/Groups/finance");
    let mut seen = vec![id(&plain).to_owned()];
    for name in
        ["finance", "clerk", "Sales & Marketing", "Vendas São Paulo", "日本", "../x", "a\"b"]
    {
        let group = scim.group(name, &[]).await;
        let shown = scim.get(&group).await.json();
        assert_eq!((text(&shown["displayName"]), text(&shown["id"])), (name, id(&group)));
        assert!(porteiro::domain::organization::is_role_name(id(&group)), "{group}");
        assert!(!seen.contains(&id(&group).to_owned()));
        seen.push(id(&group).to_owned());
    }
    // Another displayName leaves the name, also one that is another role's name.
    let rename = json!([{ "op": "replace", "path": "displayName", "value": "manager" }]);
    assert_eq!(scim.patch(&plain, &rename).await.status, 204);
    let shown = scim.get(&plain).await.json();
    assert_eq!((&shown["id"], &shown["displayName"]), (&json!("finance"), &json!("manager")));
    server.stop().await;
}

#[tokio::test]
async fn members_of_a_deleted_group_are_not_in_another_of_the_same_name() {
    let (server, scim) = provisioned().await;
    let bruno = user_of(&scim, BRUNO).await;
    let waiting = scim.user("eva@far.test").await;
    let first = scim.group("finance", &[&bruno, &waiting]).await;
    assert_eq!(scim.delete(&first).await.status, 204);
    let second = scim.group("finance", &[]).await;
    assert_ne!(first, second, "the name is still in use");
    assert!(members(&scim, &second).await.is_empty());
    for user in [&bruno, &waiting] {
        let groups = scim.get(user).await.json()["groups"].to_string();
        assert!(!groups.contains("finance"), "{groups}");
    }
    // Also one who was away meanwhile.
    let third = scim.group("travel", &[&bruno]).await;
    scim.activate(&bruno, false).await;
    assert_eq!(scim.delete(&third).await.status, 204);
    let fourth = scim.group("travel", &[]).await;
    scim.activate(&bruno, true).await;
    assert!(members(&scim, &fourth).await.is_empty());
    assert_eq!(roles(&server, BRUNO, "invoices:read").await.unwrap(), "clerk");
    server.stop().await;
}

#[tokio::test]
async fn what_a_group_lists_is_what_its_users_say_also_of_those_who_are_away() {
    let (server, scim) = provisioned().await;
    server.apply(DIRECTORY).await;
    let bruno = user_of(&scim, BRUNO).await;
    // An administrator ends the membership, of which no directory has said anything.
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let path = format!("/api/organizations/acme/members/{}", id(&bruno));
    let ended = api.change(Method::PATCH, &path, Some(&json!({ "enabled": false }))).await;
    assert_eq!(ended.status, 200, "{ended:?}");
    let in_clerk = async || {
        let listed = members(&scim, "/Groups/clerk").await.contains(&id(&bruno).to_owned());
        let said = scim.get(&bruno).await.json()["groups"].to_string().contains("\"clerk\"");
        assert_eq!(listed, said);
        listed
    };
    in_clerk().await;
    let group = scim.group("away", &[&bruno]).await;
    assert_eq!(members(&scim, &group).await, [id(&bruno)]);
    in_clerk().await;
    scim.activate(&bruno, true).await;
    in_clerk().await;
    assert!(roles(&server, BRUNO, "invoices:read").await.unwrap().contains("away"));
    server.stop().await;
}

#[tokio::test]
async fn changes_at_once_of_one_group_and_of_one_user_lose_nothing() {
    let (server, scim) = provisioned().await;
    let mut users = Vec::new();
    for number in 0..8 {
        users.push(scim.user(&format!("u{number}@far.test")).await);
    }
    let group = scim.group("all", &[&users[0]]).await;
    let changes = users[1..].iter().map(|user| {
        let (scim, group, add) = (scim.clone(), group.clone(), adding(user));
        tokio::spawn(async move { scim.patch(&group, &add).await.status.as_u16() })
    });
    for change in changes.collect::<Vec<_>>() {
        assert_eq!(change.await.unwrap(), 204);
    }
    assert_eq!(members(&scim, &group).await.len(), 8);
    // One user, another attribute each.
    let names = ["title", "nickName", "displayName", "userType"];
    let changes = names.map(|name| {
        let (scim, user) = (scim.clone(), users[0].clone());
        let operation = json!([{ "op": "replace", "path": name, "value": name }]);
        tokio::spawn(async move { scim.patch(&user, &operation).await.status.as_u16() })
    });
    for change in changes {
        assert_eq!(change.await.unwrap(), 200);
    }
    let shown = scim.get(&users[0]).await.json();
    assert!(names.iter().all(|name| shown[*name] == *name), "{shown}");
    server.stop().await;
}
