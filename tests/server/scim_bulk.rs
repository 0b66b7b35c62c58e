//! The parts of a Bulk: each says where its resource is, and what was refused of it is in the trail.

use crate::{
    me::records,
    person::text,
    scim_caller::{Scim, USER, id, provisioned},
};
use serde_json::{Value, json};

const BULK: &str = "urn:ietf:params:scim:api:messages:2.0:BulkRequest";
const PATCH: &str = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

async fn bulk(scim: &Scim, operations: Value) -> Vec<Value> {
    let done = scim.post("/Bulk", &json!({ "schemas": [BULK], "Operations": operations })).await;
    assert_eq!(done.status, 200, "{done:?}");
    done.json()["Operations"].as_array().unwrap().clone()
}

fn part(method: &str, path: &str, data: &Value) -> Value {
    json!({ "method": method, "path": path, "data": data })
}

/// A PATCH of one operation.
fn patch(operation: &Value) -> Value {
    json!({ "schemas": [PATCH], "Operations": [operation] })
}

#[tokio::test]
async fn each_part_says_where_its_resource_is_and_refusals_are_in_the_trail() {
    let (server, scim) = provisioned().await;
    let (one, other) = (scim.user("one@far.test").await, scim.user("other@far.test").await);
    let group = scim.group("g", &[]).await;
    let named = |name: &str| json!({ "schemas": [USER], "userName": name });
    let add = json!({ "op": "add", "path": "members", "value": [{ "value": id(&one) }] });
    let new = json!({ "method": "POST", "path": "/Users", "bulkId": "n", "data": named("new") });
    let again = json!({ "method": "POST", "path": "/Users", "bulkId": "m", "data": named("NEW") });
    let parts = bulk(
        &scim,
        json!([
            new,
            again,
            part("PATCH", &one, &patch(&json!({ "op": "add", "path": "title", "value": "x" }))),
            part("PUT", &one, &json!({ "schemas": [USER] })),
            part("PATCH", &group, &patch(&add)),
            part("DELETE", &other, &Value::Null),
            part("DELETE", &other, &Value::Null),
            part("DELETE", "/Groups/clerk", &Value::Null),
            part(
                "PATCH",
                "/Users/bulkId:n",
                &patch(&json!({ "op": "remove", "path": "userName" }))
            ),
            part("PUT", &group, &Value::Null),
            part("GET", &group, &Value::Null),
        ]),
    )
    .await;
    let base = format!("{}/scim/v2/acme", server.issuer());
    let new = text(&parts[0]["location"]).strip_prefix(&*base).unwrap().to_owned();
    let expected = [
        ("201", Some(&*new)),
        ("409", None),
        ("200", Some(&*one)),
        ("400", Some(&*one)),
        ("204", Some(&*group)),
        ("204", Some(&*other)),
        ("404", Some(&*other)),
        ("403", Some("/Groups/clerk")),
        ("400", Some(&*new)),
        ("400", Some(&*group)),
        ("400", Some(&*group)),
    ];
    assert_eq!(parts.len(), expected.len());
    for (part, (status, path)) in parts.iter().zip(expected) {
        let location = path.map(|path| format!("{base}{path}"));
        assert_eq!(
            (text(&part["status"]), part["location"].as_str()),
            (status, location.as_deref())
        );
    }
    assert!(scim.get(&new).await.json()["userName"] == "new");
    let mut noted: Vec<String> = records(&server, "api.refused")
        .await
        .iter()
        .map(|one| format!("{} {}", text(&one["operation"]), text(&one["code"])))
        .collect();
    noted.sort();
    let expected = [
        "scimBulk invalidSyntax",
        "scimCreateUser uniqueness",
        "scimDeleteGroup refused",
        "scimPatchUser mutability",
        "scimReplaceGroup invalidSyntax",
        "scimReplaceUser invalidValue",
    ];
    assert_eq!(noted, expected);
    server.stop().await;
}

#[tokio::test]
async fn a_part_that_expects_a_version_is_done_at_that_one_alone() {
    let (server, scim) = provisioned().await;
    let user = scim.user("one@far.test").await;
    let group = scim.group("g", &[]).await;
    let stale = [scim.get(&user).await, scim.get(&group).await];
    let stale = stale.map(|shown| shown.header("etag").unwrap().to_owned());
    let title = |text: &str| patch(&json!({ "op": "replace", "path": "title", "value": text }));
    let add = patch(&json!({ "op": "add", "path": "members", "value": [{ "value": id(&user) }] }));
    let expecting = |path: &str, version: &str, data: &Value| json!({ "method": "PATCH", "path": path, "version": version, "data": data });
    let done = bulk(
        &scim,
        json!([
            expecting(&user, &stale[0], &title("A")),
            expecting(&user, &stale[0], &title("B")),
            expecting(&user, "W/\"1\"\n", &title("C")),
            expecting(&user, "", &title("D")),
            expecting(&group, &stale[1], &add),
            expecting(&group, &stale[1], &patch(&json!({ "op": "remove", "path": "members" }))),
        ]),
    )
    .await;
    let statuses: Vec<&str> = done.iter().map(|part| text(&part["status"])).collect();
    assert_eq!(statuses, ["200", "412", "400", "412", "204", "412"], "{done:?}");
    assert_eq!(scim.get(&user).await.json()["title"], "A");
    assert_eq!(scim.get(&group).await.json()["members"][0]["value"], id(&user));
    server.stop().await;
}
