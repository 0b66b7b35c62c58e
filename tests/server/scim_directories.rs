//! What Entra ID and Okta send, in the order in which they send it: sequences of our own, after the vendors' documents.

use crate::{
    person::text,
    scim_caller::{ENTERPRISE, GROUP, Scim, USER, id, provisioned, refused, sent},
};
use hyper::Method;
use serde_json::{Value, json};

/// What Entra ID sends of a new person.
fn of_entra(name: &str, external_id: &str) -> Value {
    json!({
        "schemas": [USER, ENTERPRISE],
        "externalId": external_id,
        "userName": format!("{name}@contoso.test"),
        "active": true,
        "displayName": "Eva Lima",
        "emails": [{ "primary": true, "type": "work", "value": format!("{name}@contoso.test") }],
        "name": { "formatted": "Eva Lima", "familyName": "Lima", "givenName": "Eva" },
        "title": "Engineer",
        "phoneNumbers": [{ "type": "work", "value": "+351 21 000 000" }],
        ENTERPRISE: { "employeeNumber": "701984", "department": "Engines", "costCenter": "4130" },
    })
}

#[tokio::test]
async fn entra_provisions_a_person_from_the_probe_to_the_deletion() {
    let (server, scim) = provisioned().await;
    // "Test connection": a person who is not there is an empty list, never an error.
    let probe = scim.found("Users", "userName eq \"58d9b0f1-8a60-4cd4-b0bc-0e5e0d2b5f2e\"").await;
    assert_eq!((&probe["totalResults"], &probe["startIndex"]), (&json!(0), &json!(1)), "{probe}");
    assert_eq!(probe["Resources"].as_array().map_or(0, Vec::len), 0);

    let body = of_entra("eva", "eva-nickname");
    let made = scim.post("/Users", &body).await;
    assert_eq!(made.status, 201, "{made:?}");
    assert_eq!(sent(&made.json()), body, "it reads back as it was sent");
    let path = format!("/Users/{}", text(&made.json()["id"]));
    let found = scim.found("Users", "externalId eq \"eva-nickname\"").await;
    assert_eq!(found["Resources"][0]["id"], made.json()["id"]);
    let found = scim.found("Users", "userName eq \"EVA@contoso.test\"").await;
    assert_eq!(found["Resources"][0]["id"], made.json()["id"], "without regard to case");
    refused(&scim.post("/Users", &body).await, 409, Some("uniqueness"));

    // Verbs with a capital, paths with a filter, one operation for each attribute.
    let changed = scim
        .patch(
            &path,
            &json!([
                { "op": "Replace", "path": "emails[type eq \"work\"].value", "value": "lima@contoso.test" },
                { "op": "Replace", "path": "name.familyName", "value": "Lima Santos" },
                { "op": "Add", "path": "nickName", "value": "Evita" },
                { "op": "Add", "path": "addresses[type eq \"work\"].locality", "value": "Porto" },
                { "op": "Replace", "path": format!("{ENTERPRISE}:department"), "value": "Trains" },
                { "op": "Add", "path": format!("{ENTERPRISE}:manager"), "value": "9d2b" },
                { "op": "Remove", "path": "title" },
            ]),
        )
        .await;
    assert_eq!(changed.status, 200, "{changed:?}");
    let shown = scim.get(&path).await.json();
    assert_eq!(shown["emails"][0]["value"], "lima@contoso.test");
    assert_eq!(shown["emails"][0]["primary"], true);
    assert_eq!(shown["name"]["familyName"], "Lima Santos");
    assert_eq!((&shown["nickName"], &shown["title"]), (&json!("Evita"), &Value::Null));
    assert_eq!(shown["addresses"][0]["locality"], "Porto");
    assert_eq!(shown["addresses"][0]["type"], "work");
    assert_eq!(shown[ENTERPRISE]["department"], "Trains");
    assert_eq!(shown[ENTERPRISE]["manager"]["value"], "9d2b");
    assert_eq!(shown[ENTERPRISE]["employeeNumber"], "701984");

    // The manager as Entra's own documents write it: the one value in an array, or the text alone.
    for (value, manager) in [
        (json!([{ "$ref": "../Users/77ab", "value": "77ab" }]), "77ab"),
        (json!([{ "$ref": null, "value": "88ab" }]), "88ab"),
        (json!("99ab"), "99ab"),
    ] {
        let attribute = format!("{ENTERPRISE}:manager");
        let operation = json!([{ "op": "Replace", "path": attribute, "value": value }]);
        let changed = scim.patch(&path, &operation).await;
        assert_eq!(changed.status, 200, "{changed:?}");
        assert_eq!(changed.json()[ENTERPRISE]["manager"]["value"], manager);
    }

    // A person who is disabled: the truth is a text with a capital.
    for (told, active) in [("False", false), ("True", true), ("False", false)] {
        let operation = json!([{ "op": "Replace", "path": "active", "value": told }]);
        let disabled = scim.patch(&path, &operation).await;
        assert_eq!((disabled.status.as_u16(), &disabled.json()["active"]), (200, &json!(active)));
    }
    // Later versions of the same send no path, and the names of paths in the value.
    let operation = json!([{ "op": "replace", "value": {
        "active": true,
        "name.givenName": "Eva Maria",
        format!("{ENTERPRISE}:department"): "Ships",
    } }]);
    let enabled = scim.patch(&path, &operation).await.json();
    assert_eq!(
        (&enabled["active"], &enabled["name"]["givenName"]),
        (&json!(true), &json!("Eva Maria"))
    );
    assert_eq!(enabled[ENTERPRISE]["department"], "Ships");

    assert_eq!(scim.delete(&path).await.status, 204);
    refused(&scim.get(&path).await, 404, None);
    refused(&scim.delete(&path).await, 404, None);
    let gone = scim.found("Users", "externalId eq \"eva-nickname\"").await;
    assert_eq!(gone["totalResults"], 0);
    // What was deleted is made again, as another User.
    let again = scim.post("/Users", &body).await;
    assert_eq!(again.status, 201, "{again:?}");
    assert_ne!(again.json()["id"], made.json()["id"]);
    server.stop().await;
}

#[tokio::test]
async fn entra_provisions_a_group_and_its_members() {
    let (server, scim) = provisioned().await;
    let one = scim.made("/Users", &of_entra("eva", "1")).await;
    let other = scim.made("/Users", &of_entra("ida", "2")).await;
    let probe =
        scim.get("/Groups?excludedAttributes=members&filter=displayName+eq+%22Engineers%22");
    assert_eq!(probe.await.json()["totalResults"], 0);
    let body = json!({
        "schemas": [GROUP, "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group"],
        "externalId": "8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159",
        "displayName": "Engineers",
        "meta": { "resourceType": "Group" },
    });
    let path = scim.made("/Groups", &body).await;
    let found =
        scim.get("/Groups?excludedAttributes=members&filter=displayName+eq+%22engineers%22");
    assert_eq!(found.await.json()["Resources"][0]["id"], id(&path));

    let add = json!([{ "op": "Add", "path": "members", "value": [{ "value": id(&one) }, { "value": id(&other) }] }]);
    assert_eq!(scim.patch(&path, &add).await.status, 204);
    let members = scim.get(&path).await.json()["members"].as_array().unwrap().len();
    assert_eq!(members, 2);
    let without = scim.get(&format!("{path}?excludedAttributes=members")).await.json();
    assert_eq!(without["members"], Value::Null);
    // "Is this one a member?"
    let asked = format!("id eq \"{}\" and members eq \"{}\"", id(&path), id(&one));
    assert_eq!(scim.found("Groups", &asked).await["totalResults"], 1);
    let remove = json!([{ "op": "Remove", "path": "members", "value": [{ "value": id(&one) }] }]);
    assert_eq!(scim.patch(&path, &remove).await.status, 204);
    assert_eq!(scim.found("Groups", &asked).await["totalResults"], 0);
    let shown = scim.get(&path).await.json();
    assert_eq!(shown["members"][0]["value"], id(&other));
    let groups = scim.get(&other).await.json()["groups"].clone();
    assert_eq!(
        (&groups[0]["value"], &groups[0]["display"]),
        (&json!(id(&path)), &json!("Engineers"))
    );

    let rename = json!([{ "op": "Replace", "path": "displayName", "value": "Builders" }]);
    assert_eq!(scim.patch(&path, &rename).await.status, 204);
    let shown = scim.get(&path).await.json();
    assert_eq!((&shown["displayName"], &shown["id"]), (&json!("Builders"), &json!(id(&path))));
    assert_eq!(scim.delete(&path).await.status, 204);
    refused(&scim.get(&path).await, 404, None);
    assert_eq!(scim.get(&other).await.json()["groups"], Value::Null);
    server.stop().await;
}

/// What Okta sends of a new person.
fn of_okta(name: &str) -> Value {
    json!({
        "schemas": [USER],
        "userName": format!("{name}@okta.test"),
        "name": { "givenName": "Test", "familyName": "User" },
        "emails": [{ "primary": true, "value": format!("{name}@okta.test"), "type": "work" }],
        "displayName": "Test User",
        "locale": "en-US",
        "externalId": format!("00ujl29u0le5T6Aj10h7-{name}"),
        "groups": [],
        "password": "1mz050nq",
        "active": true,
    })
}

#[tokio::test]
async fn okta_provisions_a_person_and_takes_them_away_again() {
    let (server, scim) = provisioned().await;
    let probe = scim
        .get("/Users?filter=userName%20eq%20%22test.user%40okta.test%22&startIndex=1&count=100")
        .await
        .json();
    assert_eq!(probe["totalResults"], 0, "{probe}");
    let made = scim.post("/Users", &of_okta("test.user")).await;
    assert_eq!(made.status, 201, "{made:?}");
    assert!(!made.text().contains("1mz050nq"), "a password is not kept: {made:?}");
    let path = format!("/Users/{}", text(&made.json()["id"]));
    // It reads, changes and sends the whole.
    let mut whole = scim.get(&path).await.json();
    whole["name"]["familyName"] = json!("Changed");
    whole["nickName"] = json!("T");
    let put = scim.put(&path, &whole).await;
    assert_eq!(put.status, 200, "{put:?}");
    assert_eq!(sent(&put.json()), sent(&whole));
    whole.as_object_mut().unwrap().remove("nickName");
    assert_eq!(scim.put(&path, &whole).await.json()["nickName"], Value::Null, "not sent is gone");

    scim.activate(&path, false).await;
    assert_eq!(scim.get(&path).await.json()["active"], false);
    scim.activate(&path, true).await;
    // A put deactivates too.
    whole["active"] = json!(false);
    assert_eq!(scim.put(&path, &whole).await.json()["active"], false);
    server.stop().await;
}

#[tokio::test]
async fn okta_pushes_groups_and_imports_page_by_page() {
    let (server, scim) = provisioned().await;
    let mut users = Vec::new();
    for number in 0..7 {
        users.push(scim.made("/Users", &of_okta(&format!("u{number}"))).await);
    }
    let group = scim.group("Okta Push", &[&users[0], &users[1]]).await;
    let rename =
        json!([{ "op": "replace", "value": { "id": id(&group), "displayName": "Pushed" } }]);
    assert_eq!(scim.patch(&group, &rename).await.status, 204);
    let operations = json!([
        { "op": "remove", "path": format!("members[value eq \"{}\"]", id(&users[0])) },
        { "op": "add", "path": "members", "value": [{ "value": id(&users[2]), "display": "u2" }] },
    ]);
    assert_eq!(scim.patch(&group, &operations).await.status, 204);
    let members = async || {
        let shown = scim.get(&group).await.json();
        assert_eq!(shown["displayName"], "Pushed");
        let members = shown["members"].as_array().cloned().unwrap_or_default();
        members.iter().map(|one| text(&one["value"]).to_owned()).collect::<Vec<_>>()
    };
    let ids = |places: &[usize]| {
        let mut ids: Vec<String> = places.iter().map(|&at| id(&users[at]).to_owned()).collect();
        ids.sort();
        ids
    };
    assert_eq!(members().await, ids(&[1, 2]));
    // "Push now" replaces all of them.
    let values: Vec<Value> = users[3..6].iter().map(|user| json!({ "value": id(user) })).collect();
    let replace = json!([{ "op": "replace", "path": "members", "value": values }]);
    assert_eq!(scim.patch(&group, &replace).await.status, 204);
    assert_eq!(members().await, ids(&[3, 4, 5]));
    let body = json!({ "schemas": [GROUP], "id": id(&group), "displayName": "Pushed", "members": values[..1] });
    assert_eq!(scim.put(&group, &body).await.status, 200);
    assert_eq!(members().await, ids(&[3]));

    // The import: pages by index, each User once.
    let (mut start, mut seen) = (1, Vec::new());
    loop {
        let page = scim.get(&format!("/Users?startIndex={start}&count=3")).await.json();
        let resources = page["Resources"].as_array().cloned().unwrap_or_default();
        assert_eq!((&page["totalResults"], &page["startIndex"]), (&json!(9), &json!(start)));
        if resources.is_empty() {
            break;
        }
        assert_eq!(page["itemsPerPage"], resources.len());
        start += resources.len();
        seen.extend(resources.iter().map(|one| text(&one["id"]).to_owned()));
    }
    let total = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!((total, seen.len()), (9, 9), "two members were there before");
    let (mut cursor, mut by_cursor) = (String::new(), Vec::new());
    loop {
        let page = scim.get(&format!("/Users?cursor={cursor}&count=4")).await.json();
        let resources = page["Resources"].as_array().unwrap();
        by_cursor.extend(resources.iter().map(|one| text(&one["id"]).to_owned()));
        let Some(next) = page["nextCursor"].as_str() else { break };
        next.clone_into(&mut cursor);
    }
    by_cursor.sort();
    assert_eq!(by_cursor, seen, "by cursor the same");
    server.stop().await;
}

#[tokio::test]
async fn lists_are_filtered_sorted_searched_and_projected() {
    let (server, scim) = provisioned().await;
    for (name, title) in [("c", "Clerk"), ("a", "Chief"), ("b", "Clerk")] {
        let body =
            json!({ "schemas": [USER], "userName": format!("{name}@sort.test"), "title": title });
        scim.made("/Users", &body).await;
    }
    let names = |listed: &Value| {
        let listed = listed["Resources"].as_array().unwrap();
        listed.iter().map(|one| text(&one["userName"]).to_owned()).collect::<Vec<_>>()
    };
    let path = "/Users?filter=title+pr&sortBy=userName&sortOrder=descending&attributes=userName";
    let sorted = scim.get(path).await.json();
    assert_eq!(names(&sorted), ["c@sort.test", "b@sort.test", "a@sort.test"]);
    assert_eq!(sorted["Resources"][0]["title"], Value::Null, "it was not asked for");
    let filter = "title eq \"clerk\" and (userName sw \"b\" or not (userName co \"sort\"))";
    assert_eq!(names(&scim.found("Users", filter).await), ["b@sort.test"]);
    let search = json!({
        "schemas": ["urn:ietf:params:scim:api:messages:2.0:SearchRequest"],
        "filter": "title eq \"Clerk\"", "sortBy": "userName", "count": 1, "startIndex": 2,
        "excludedAttributes": ["meta"],
    });
    let found = scim.post("/Users/.search", &search).await.json();
    assert_eq!(
        (names(&found), &found["totalResults"]),
        (vec!["c@sort.test".to_owned()], &json!(2))
    );
    assert_eq!(found["Resources"][0]["meta"], Value::Null);
    let search = json!({ "schemas": search["schemas"], "filter": "id pr" });
    let everything = scim.post("/.search", &search).await.json();
    assert_eq!(everything["totalResults"], 5 + 2, "Users and Groups: {everything}");
    server.stop().await;
}

#[tokio::test]
async fn a_bulk_makes_a_group_of_users_that_it_makes() {
    let (server, scim) = provisioned().await;
    let body = json!({
        "schemas": ["urn:ietf:params:scim:api:messages:2.0:BulkRequest"],
        "Operations": [
            { "method": "POST", "path": "/Groups", "bulkId": "g", "data": {
                "schemas": [GROUP], "displayName": "Made", "members": [{ "value": "bulkId:u" }],
            } },
            { "method": "POST", "path": "/Users", "bulkId": "u", "data": { "schemas": [USER], "userName": "u@bulk.test" } },
            { "method": "POST", "path": "/Users", "bulkId": "v", "data": { "schemas": [USER], "userName": "U@bulk.test" } },
        ],
    });
    let done = scim.post("/Bulk", &body).await;
    assert_eq!(done.status, 200, "{done:?}");
    let done = done.json();
    let statuses: Vec<&str> =
        done["Operations"].as_array().unwrap().iter().map(|one| text(&one["status"])).collect();
    assert_eq!(statuses, ["201", "201", "409"], "{done}");
    let found = scim.found("Groups", "displayName eq \"Made\"").await;
    let members = found["Resources"][0]["members"].as_array().unwrap();
    let location = text(&done["Operations"][1]["location"]);
    assert_eq!((members.len(), text(&members[0]["value"])), (1, id(location)));
    server.stop().await;
}

#[tokio::test]
async fn a_version_that_was_seen_guards_a_change_and_saves_an_answer() {
    let (server, scim) = provisioned().await;
    let user = scim.user("eva@acme.test").await;
    let group = scim.group("Versions", &[&user]).await;
    for (path, body) in [
        (&user, json!({ "schemas": [USER], "userName": "eva@acme.test", "title": "A" })),
        (&group, json!({ "schemas": [GROUP], "displayName": "Other", "members": [] })),
    ] {
        let seen = scim.get(path).await.header("etag").unwrap().to_owned();
        assert_eq!(scim.get(path).await.json()["meta"]["version"], seen.as_str());
        let same = scim.call(Method::GET, path, None, &[("if-none-match", &seen)]).await;
        assert_eq!((same.status.as_u16(), same.body.len()), (304, 0));
        let put = async |tag: &str| {
            let body = Some(body.to_string());
            scim.call(Method::PUT, path, body, &[("if-match", tag)]).await
        };
        refused(&put("W/\"1\"").await, 412, None);
        assert_eq!(put(&seen).await.status, 200);
        refused(&put(&seen).await, 412, None);
        let stale = scim.call(Method::DELETE, path, None, &[("if-match", &seen)]).await;
        refused(&stale, 412, None);
        assert_eq!(put("*").await.status, 200);
        let answer = scim.call(Method::GET, path, None, &[("if-none-match", &seen)]).await;
        assert_eq!(answer.status, 200);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_client_learns_what_is_supported_before_it_begins() {
    let (server, scim) = provisioned().await;
    let config = scim.get("/ServiceProviderConfig").await.json();
    for part in ["patch", "bulk", "filter", "sort", "etag"] {
        assert_eq!(config[part]["supported"], true, "{part}: {config}");
    }
    assert_eq!(
        (&config["bulk"]["maxOperations"], &config["bulk"]["maxPayloadSize"]),
        (&json!(100), &json!(524_288))
    );
    assert_eq!(
        (&config["filter"]["maxResults"], &config["pagination"]["cursor"]),
        (&json!(200), &json!(true))
    );
    for list in ["Schemas", "ResourceTypes"] {
        let all = scim.get(&format!("/{list}")).await.json();
        for one in all["Resources"].as_array().unwrap() {
            let one_alone = scim.get(&format!("/{list}/{}", text(&one["id"]))).await.json();
            assert_eq!(&one_alone, one);
        }
        refused(&scim.get(&format!("/{list}?filter=id+pr")).await, 403, None);
        refused(&scim.get(&format!("/{list}/other")).await, 404, None);
    }
    let stranger = Scim { key: "wrong".to_owned(), ..scim.clone() };
    refused(&stranger.get("/ServiceProviderConfig").await, 401, None);
    server.stop().await;
}
