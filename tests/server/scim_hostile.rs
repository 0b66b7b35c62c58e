//! Filters, queries and bodies that are made to hurt: refused whole, and at once.

use crate::{
    person::text,
    scim_caller::{ENTERPRISE, GROUP, USER, id, provisioned, refused},
};
use hyper::Method;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const SLOW: Duration = Duration::from_secs(10);

#[tokio::test]
async fn hostile_filters_and_queries_are_refused_at_once() {
    let (server, scim) = provisioned().await;
    for number in 0..20 {
        scim.user(&format!("{}{number}@far.test", "a".repeat(200))).await;
    }
    let deep = format!("{}title pr{}", "(".repeat(2_000), ")".repeat(2_000));
    let nested = format!("{}title pr{}", "not (".repeat(40), ")".repeat(40));
    let wide = vec!["title eq \"x\""; 300].join(" or ");
    let long = format!("title eq \"{}\"", "x".repeat(5_000));
    let quotes = "title eq \"".to_owned() + &"\\\"".repeat(1_000);
    let filters = [
        &*deep,
        &nested,
        &wide,
        &long,
        &quotes,
        "title",
        "title eq",
        "title xx \"a\"",
        "title eq x y",
        "()",
        "emails[type eq \"work\"",
        "emails[emails[value pr]]",
        "title eq \"\\u0000",
        "\u{0} pr",
        "title eq 1e999999999999",
        "members.value.x.y.z eq 1",
        "and and and",
        "not title pr",
        "title eq \"a\" and",
        "]",
        "\"",
        "id eq \"\\u0000\"",
        "userName eq \"a\\u0000b\"",
        "externalId eq \"\\u0000\"",
        "members eq \"\\u0000\"",
        "title eq \"\u{202e}",
    ];
    let since = Instant::now();
    for of in ["Users", "Groups"] {
        for filter in filters {
            let text: String = url::form_urlencoded::byte_serialize(filter.as_bytes()).collect();
            refused(&scim.get(&format!("/{of}?filter={text}")).await, 400, Some("invalidFilter"));
            let body = json!({ "schemas": ["urn:ietf:params:scim:api:messages:2.0:SearchRequest"], "filter": filter });
            let answer = scim.post(&format!("/{of}/.search"), &body).await;
            let kind = if filter.contains('\0') { "invalidSyntax" } else { "invalidFilter" };
            refused(&answer, 400, Some(kind));
        }
    }
    for query in [
        "startIndex=x",
        "count=1.5",
        "startIndex=1&startIndex=2",
        "filter=id+pr&filter=id+pr",
        "cursor=AAAA",
        "cursor=%00",
        "cursor=x&startIndex=1",
        "sortBy=userName&cursor",
        "attributes=id&excludedAttributes=id",
    ] {
        let answer = scim.get(&format!("/Users?{query}")).await;
        assert_eq!(answer.status, 400, "{query}: {answer:?}");
    }
    for query in [
        "startIndex=99999999999999999999",
        "startIndex=-5",
        "count=-1",
        "count=0",
        "count=999999999",
        "x=y",
    ] {
        let answer = scim.get(&format!("/Users?{query}")).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.json()["totalResults"]),
            (200, &json!(22)),
            "{query}"
        );
    }
    // A comparison that walks through every text, of a worst case.
    let worst = format!("userName co \"{}b\"", "a".repeat(190));
    assert_eq!(scim.found("Users", &worst).await["totalResults"], 0);
    assert!(since.elapsed() < SLOW, "{:?}", since.elapsed());
    server.stop().await;
}

#[tokio::test]
async fn hostile_bodies_are_refused_whole() {
    let (server, scim) = provisioned().await;
    let user = scim.user("eva@far.test").await;
    let before = scim.get(&user).await.text();
    let since = Instant::now();
    let raw = async |method: Method, path: &str, body: &str| {
        scim.call(method, path, Some(body.to_owned()), &[]).await
    };
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_member = format!("{{\"schemas\":[\"{USER}\"],\"userName\":\"x\",\"name\":{deep}}}");
    let repeated = format!("{{\"schemas\":[\"{USER}\"],\"userName\":\"x\",\"username\":\"y\"}}");
    for body in [
        "",
        "x",
        "null",
        "[]",
        "{",
        "\u{feff}{}",
        &*deep,
        &deep_member,
        "{\"schemas\":1}",
        "{}",
        &*repeated,
    ] {
        let answer = raw(Method::POST, "/Users", body).await;
        assert_eq!(answer.status, 400, "{}: {answer:?}", &body[..body.len().min(60)]);
        let answer = raw(Method::PATCH, &user, body).await;
        assert_eq!(answer.status, 400, "{}: {answer:?}", &body[..body.len().min(60)]);
    }
    let huge = format!("{{\"schemas\":[\"{USER}\"],\"userName\":\"{}\"}}", "x".repeat(600_000));
    refused(&raw(Method::POST, "/Users", &huge).await, 413, None);
    for value in [
        json!(""),
        json!(" "),
        json!(1),
        json!(null),
        json!(["a"]),
        json!("a\u{0}b"),
        json!("x".repeat(2_000)),
    ] {
        let answer = scim.post("/Users", &json!({ "schemas": [USER], "userName": value })).await;
        assert_eq!(answer.status, 400, "{value}: {answer:?}");
    }
    let many: Vec<Value> = (0..200).map(|n| json!({ "value": format!("{n}@far.test") })).collect();
    let answer =
        scim.post("/Users", &json!({ "schemas": [USER], "userName": "x", "emails": many })).await;
    assert_eq!(answer.status, 400, "{answer:?}");
    for operations in [
        json!({}),
        json!([{ "op": "move", "path": "title", "value": "x" }]),
        json!([{ "op": "remove" }]),
        json!([{ "op": "replace", "path": "emails[", "value": "x" }]),
        json!([{ "op": "replace", "path": "userName", "value": "" }]),
        json!([{ "op": "replace", "path": "id", "value": "x" }]),
        json!([{ "op": "replace", "path": "meta.version", "value": "x" }]),
        json!([{ "op": "remove", "path": "userName" }]),
        json!([{ "op": "replace", "path": "active", "value": "perhaps" }]),
        json!([{ "op": "replace", "path": "a".repeat(10_000), "value": "x" }]),
        json!([{ "op": "add", "path": "title", "value": "kept?" }, { "op": "replace", "path": "active", "value": [] }]),
    ] {
        let answer = scim.patch(&user, &operations).await;
        assert_eq!(
            answer.status,
            400,
            "{}: {answer:?}",
            &operations.to_string()[..60.min(operations.to_string().len())]
        );
    }
    let too_many: Vec<Value> =
        (0..1_500).map(|_| json!({ "op": "add", "path": "title", "value": "x" })).collect();
    refused(&scim.patch(&user, &json!(too_many)).await, 413, None);
    assert_eq!(scim.get(&user).await.text(), before, "nothing happened");
    assert!(since.elapsed() < SLOW, "{:?}", since.elapsed());
    server.stop().await;
}

#[tokio::test]
async fn more_members_operations_or_parts_than_the_documentation_names_are_refused_whole() {
    let (server, scim) = provisioned().await;
    let group = scim.group("g", &[]).await;
    // Ten thousand members: refused whole, and so are a thousand and one.
    for count in [1_001, 10_000] {
        let members: Vec<Value> = (0..count).map(|n| json!({ "value": format!("{n}") })).collect();
        let add = json!([{ "op": "add", "path": "members", "value": members }]);
        let refusal = scim.patch(&group, &add).await;
        refused(&refusal, 413, None);
        assert!(text(&refusal.json()["detail"]).contains("1000"), "{refusal:?}");
    }
    let bulk = |count: usize| {
        let operation = json!({ "method": "DELETE", "path": "/Users/x" });
        json!({ "schemas": ["urn:ietf:params:scim:api:messages:2.0:BulkRequest"], "Operations": vec![operation; count] })
    };
    refused(&scim.post("/Bulk", &bulk(101)).await, 413, None);
    assert_eq!(scim.post("/Bulk", &bulk(100)).await.status, 200);
    for path in [
        "/Users/%00",
        "/Users/..%2f..",
        "/Users/x%20y",
        "/Groups/%F0%9F%98%80",
        "/Users/x/y",
        "/Nothing",
    ] {
        let answer = scim
            .node
            .send(
                scim.node
                    .request(Method::GET, &format!("/scim/v2/acme{path}"))
                    .header("authorization", format!("Bearer {}", scim.key))
                    .body("".into())
                    .unwrap(),
            )
            .await;
        assert_eq!(answer.status, 404, "{path}: {answer:?}");
    }
    assert_eq!(scim.get(&group).await.json()["members"], Value::Null);
    server.stop().await;
}

#[tokio::test]
async fn a_thousand_members_come_and_go_in_one_request_each() {
    let (server, scim) = provisioned().await;
    let mut ids = Vec::new();
    for part in 0..10 {
        let operations: Vec<Value> = (0..100)
            .map(|n| {
                json!({ "method": "POST", "path": "/Users", "bulkId": format!("{n}"),
            "data": { "schemas": [USER], "userName": format!("u{part}-{n}") } })
            })
            .collect();
        let body = json!({ "schemas": ["urn:ietf:params:scim:api:messages:2.0:BulkRequest"], "Operations": operations });
        let done = scim.post("/Bulk", &body).await.json();
        let made = done["Operations"].as_array().unwrap().iter();
        ids.extend(made.map(|one| id(text(&one["location"])).to_owned()));
    }
    assert_eq!(ids.len(), 1_000);
    let group = scim.group("all", &[]).await;
    let members: Vec<Value> = ids.iter().map(|id| json!({ "value": id })).collect();
    let add = json!([{ "op": "add", "path": "members", "value": members }]);
    assert_eq!(scim.patch(&group, &add).await.status, 204);
    assert_eq!(scim.get(&group).await.json()["members"].as_array().unwrap().len(), 1_000);
    let remove = json!([{ "op": "remove", "path": "members" }]);
    assert_eq!(scim.patch(&group, &remove).await.status, 204);
    assert_eq!(scim.get(&group).await.json()["members"], Value::Null);
    server.stop().await;
}

#[tokio::test]
async fn a_text_with_a_zero_is_refused_wherever_it_stands() {
    let (server, scim) = provisioned().await;
    let user = scim.user("eva@far.test").await;
    let group = scim.group("g", &[]).await;
    let before = [scim.get(&user).await.text(), scim.get(&group).await.text()];
    let zero = "a\u{0}b";
    let person = |name: &str, value: Value| {
        let mut body = json!({ "schemas": [USER], "userName": "other@far.test" });
        body[name] = value;
        body
    };
    for body in [
        person("userName", json!(zero)),
        person("externalId", json!(zero)),
        person("title", json!(zero)),
        person("name", json!({ "givenName": zero })),
        person("emails", json!([{ "value": zero }])),
        person("addresses", json!([{ "formatted": zero }])),
        person(ENTERPRISE, json!({ "manager": [{ "value": zero }] })),
    ] {
        refused(&scim.post("/Users", &body).await, 400, Some("invalidSyntax"));
        refused(&scim.put(&user, &body).await, 400, Some("invalidSyntax"));
    }
    for (path, value) in [
        ("userName", json!(zero)),
        ("externalId", json!(zero)),
        ("emails[type eq \"work\"].value", json!(zero)),
        ("manager", json!([{ "value": zero }])),
    ] {
        let replace = json!([{ "op": "replace", "path": path, "value": value }]);
        refused(&scim.patch(&user, &replace).await, 400, Some("invalidSyntax"));
    }
    // One that a filter writes as an escape is no character of the body.
    for (path, why) in [
        ("emails[value eq \"a\\u0000\"].value", "invalidFilter"),
        ("emails[type eq \"\u{0}\"].value", "invalidSyntax"),
        (zero, "invalidSyntax"),
    ] {
        let replace = json!([{ "op": "replace", "path": path, "value": "x" }]);
        refused(&scim.patch(&user, &replace).await, 400, Some(why));
    }
    for operation in [
        json!({ "op": "add", "path": "members", "value": [{ "value": zero }] }),
        json!({ "op": "remove", "path": "members", "value": [zero] }),
        json!({ "op": "replace", "path": "externalId", "value": zero }),
        json!({ "op": "replace", "path": "displayName", "value": zero }),
    ] {
        refused(&scim.patch(&group, &json!([operation])).await, 400, Some("invalidSyntax"));
    }
    let remove = json!([{ "op": "remove", "path": "members[value eq \"a\\u0000\"]" }]);
    refused(&scim.patch(&group, &remove).await, 400, Some("invalidFilter"));
    let body = json!({ "schemas": [GROUP], "displayName": zero });
    refused(&scim.post("/Groups", &body).await, 400, Some("invalidSyntax"));
    let schemas = json!(["urn:ietf:params:scim:api:messages:2.0:BulkRequest"]);
    for operation in [
        json!({ "method": "DELETE", "path": format!("/Users/{zero}") }),
        json!({ "method": "POST", "path": "/Users", "bulkId": zero, "data": person("title", json!("x")) }),
        json!({ "method": "POST", "path": "/Users", "bulkId": "1", "data": person("userName", json!(zero)) }),
    ] {
        let body = json!({ "schemas": schemas, "Operations": [operation] });
        refused(&scim.post("/Bulk", &body).await, 400, Some("invalidSyntax"));
    }
    for list in ["sortBy=%00", "filter=%00", "cursor=%00", "cursor=YWNtZQAAAAA"] {
        let answer = scim.get(&format!("/Users?{list}")).await;
        assert_eq!(answer.status, 400, "{list}: {answer:?}");
    }
    // A name that no attribute has asks for nothing.
    assert_eq!(scim.get("/Users?attributes=%00").await.status, 200);
    assert_eq!([scim.get(&user).await.text(), scim.get(&group).await.text()], before);
    server.stop().await;
}

#[tokio::test]
async fn names_that_differ_by_case_alone_are_one_in_every_script() {
    let (server, scim) = provisioned().await;
    for (one, other) in [
        ("Éva Ångström", "éVA åNGSTRÖM"),
        ("ΣΟΦΙΑ", "σοφια"),
        ("ДМИТРИЙ", "дмитрий"),
        // The sign of kelvin is a K, and the capital of Istanbul an i with its dot.
        ("\u{212a}elvin", "kelvin"),
        ("\u{130}stanbul", "i\u{307}stanbul"),
    ] {
        let user = scim.user(one).await;
        let body = json!({ "schemas": [USER], "userName": other });
        refused(&scim.post("/Users", &body).await, 409, Some("uniqueness"));
        for name in [one, other] {
            let found = scim.found("Users", &format!("userName eq \"{name}\"")).await;
            assert_eq!(found["Resources"][0]["id"], id(&user), "{name}");
        }
        // Its own name in another case is a change of the name, and stays its own.
        assert_eq!(scim.put(&user, &body).await.json()["userName"], other);
        refused(
            &scim.post("/Users", &json!({ "schemas": [USER], "userName": one })).await,
            409,
            Some("uniqueness"),
        );
    }
    // What tells upper from lower case does.
    for external_id in ["Abc", "abc"] {
        let body = json!({ "schemas": [USER], "userName": external_id.repeat(2) + external_id, "externalId": external_id });
        let made = scim.post("/Users", &body).await;
        let expected = if external_id == "Abc" { 201 } else { 409 };
        assert_eq!(made.status, expected, "{made:?}");
    }
    let body = json!({ "schemas": [USER], "userName": "another", "externalId": "abc" });
    assert_eq!(scim.post("/Users", &body).await.status, 201);
    server.stop().await;
}
