//! What a directory must not do: other organizations, other credentials, two at once.

use crate::{
    api_caller::{Api, DIRECTORY},
    http::Answer,
    me::records,
    person::{claims, parameter, redirect, text},
    races::Pair,
    scim_caller::{GROUP, Scim, USER, id, provisioned, refused},
};
use serde_json::{Value, json};

/// Every operation on a User or a Group of some organization.
async fn everything(scim: &Scim, user: &str) -> Vec<Answer> {
    let body = json!({ "schemas": [USER], "userName": "m@far.test" });
    let patch = json!([{ "op": "replace", "value": { "active": false } }]);
    let bulk = json!({ "schemas": ["urn:ietf:params:scim:api:messages:2.0:BulkRequest"], "Operations": [
        { "method": "POST", "path": "/Users", "bulkId": "u", "data": body },
    ] });
    vec![
        scim.get("/Users").await,
        scim.get("/Groups").await,
        scim.get("/ServiceProviderConfig").await,
        scim.get(user).await,
        scim.post("/Users", &body).await,
        scim.put(user, &body).await,
        scim.patch(user, &patch).await,
        scim.delete(user).await,
        scim.delete("/Groups/clerk").await,
        scim.post("/Bulk", &bulk).await,
        scim.post("/Users/.search", &json!({})).await,
    ]
}

#[tokio::test]
async fn a_key_of_another_organization_is_refused_as_for_one_that_does_not_exist() {
    let (server, scim) = provisioned().await;
    let user = scim.user("eva@far.test").await;
    let other = Scim::of(&server, "other").await;
    let strange = Scim { slug: "acme".to_owned(), ..other.clone() };
    let nowhere = Scim { slug: "nowhere".to_owned(), ..other.clone() };
    let (here, there) = (everything(&strange, &user).await, everything(&nowhere, &user).await);
    for (one, other) in here.iter().zip(&there) {
        refused(one, 403, None);
        assert_eq!(one.text(), other.text());
    }
    assert_eq!(scim.get(&user).await.status, 200, "nothing happened");
    let seen = records(&server, "api.refused").await;
    assert!(!seen.is_empty() && seen.iter().all(|one| one["operation"].is_string()), "{seen:?}");
    server.stop().await;
}

#[tokio::test]
async fn users_of_another_organization_are_not_there_and_get_into_no_group() {
    let (server, scim) = provisioned().await;
    let other = Scim::of(&server, "other").await;
    let foreign = other.user("eva@far.test").await;
    for answer in [
        scim.get(&foreign).await,
        scim.delete(&foreign).await,
        scim.put(&foreign, &json!({ "schemas": [USER], "userName": "x" })).await,
        scim.patch(&foreign, &json!([{ "op": "replace", "path": "title", "value": "x" }])).await,
    ] {
        refused(&answer, 404, None);
    }
    let filter = format!("id eq \"{}\"", id(&foreign));
    assert_eq!(scim.found("Users", &filter).await["totalResults"], 0);
    let add = json!([{ "op": "add", "path": "members", "value": [{ "value": id(&foreign) }] }]);
    refused(&scim.patch("/Groups/clerk", &add).await, 400, Some("invalidValue"));
    let body =
        json!({ "schemas": [GROUP], "displayName": "g", "members": [{ "value": id(&foreign) }] });
    refused(&scim.post("/Groups", &body).await, 400, Some("invalidValue"));
    assert_eq!(scim.found("Groups", "displayName eq \"g\"").await["totalResults"], 0);
    assert_eq!(other.get(&foreign).await.json()["groups"], Value::Null);
    // Names are an organization's own.
    assert_eq!(
        scim.post("/Users", &json!({ "schemas": [USER], "userName": "eva@far.test" })).await.status,
        201
    );
    let cursor = other.get("/Users?cursor&count=1").await.json()["nextCursor"].clone();
    let stolen = scim.get(&format!("/Users?cursor={}", text(&cursor))).await;
    refused(&stolen, 400, Some("invalidCursor"));
    server.stop().await;
}

#[tokio::test]
async fn what_has_no_right_to_provision_is_refused() {
    let (server, scim) = provisioned().await;
    server.apply(DIRECTORY).await;
    let user = scim.user("eva@far.test").await;
    let mut wrong = Vec::new();
    for permission in ["memberships:*", "scim:read", "scim:write", "invoices:read"] {
        let key = Scim::with(&server, "acme", permission).await;
        wrong.push((key, 403));
    }
    let of_api = Api::of(&server, "rita@acme.test", "memberships:write").await.token;
    let of_person =
        text(&server.tokens("rita@acme.test", "web", "openid").await["access_token"]).to_owned();
    let of_invoices = server.token("billing", "invoices:read").await;
    let forged = format!("{}A", &scim.key[..scim.key.len() - 1]);
    for token in [of_api.as_str(), &of_person, &of_invoices, &forged, "x", ""] {
        wrong.push((Scim { key: token.to_owned(), ..scim.clone() }, 401));
    }
    for (caller, status) in &wrong {
        for answer in everything(caller, &user).await {
            refused(&answer, *status, None);
            let challenge = answer.header("www-authenticate").unwrap_or_default();
            assert!(
                challenge.contains("/.well-known/oauth-protected-resource/scim/v2/acme"),
                "{answer:?}"
            );
        }
    }
    assert_eq!(scim.get(&user).await.status, 200);
    // A suspended organization takes nothing.
    server.apply("[[organization]]\nslug = \"acme\"\nenabled = false\n").await;
    server.clock.expire_views();
    for answer in everything(&scim, &user).await {
        refused(&answer, 403, None);
    }
    server.apply("[[organization]]\nslug = \"acme\"\nenabled = true\n").await;
    server.clock.expire_views();
    refused(&scim.get(&user).await, 401, None);
    assert_eq!(Scim::of(&server, "acme").await.get(&user).await.status, 200, "by a new key");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_users_with_one_name_that_are_made_at_once_one_is_there() {
    let (server, scim) = provisioned().await;
    for round in 0..6 {
        let bodies = [
            json!({ "schemas": [USER], "userName": format!("u{round}@far.test") }),
            json!({ "schemas": [USER], "userName": format!("U{round}@FAR.test") }),
            json!({ "schemas": [USER], "userName": format!("x{round}"), "emails": [{ "value": format!("u{round}@far.test") }] }),
        ];
        let making = bodies.map(|body| {
            let scim = scim.clone();
            tokio::spawn(async move { scim.post("/Users", &body).await })
        });
        let mut statuses = Vec::new();
        for made in making {
            let made = made.await.unwrap();
            if made.status == 409 {
                refused(&made, 409, Some("uniqueness"));
            }
            statuses.push(made.status.as_u16());
        }
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 409, 409]);
    }
    // One externalId, and two Groups of one name, which have a name each.
    let making = ["a", "b"].map(|name| {
        let (scim, body) =
            (scim.clone(), json!({ "schemas": [USER], "userName": name, "externalId": "same" }));
        tokio::spawn(async move { scim.post("/Users", &body).await.status.as_u16() })
    });
    let mut statuses = Vec::new();
    for made in making {
        statuses.push(made.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409]);
    let making = [(); 2].map(|()| {
        let scim = scim.clone();
        tokio::spawn(async move { scim.group("twins", &[]).await })
    });
    let [one, other] = making;
    assert_ne!(one.await.unwrap(), other.await.unwrap());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_node_deletes_the_other_refuses_at_the_next_request() {
    let pair = Pair::start().await;
    let [one, other] = pair.nodes;
    let scim = Scim::by(one, "acme", &pair.key("acme", "scim:*"));
    let beside = Scim { node: other, ..scim.clone() };
    let found = scim.found("Users", "userName eq \"bruno@acme.test\"").await;
    let user = format!("/Users/{}", text(&found["Resources"][0]["id"]));
    for ends in [false, true] {
        let session = other.sign_in("bruno@acme.test").await;
        let fields = [("scope", "openid invoices:read offline_access"), ("organization", "acme")];
        let answer = other.authorize_in(&session, "web", &fields).await;
        let code = parameter(&redirect(&answer), "code").unwrap();
        let tokens = other.redeem("web", &code).await.json();
        let access = text(&tokens["access_token"]);
        assert_eq!(claims(&tokens["access_token"])["membership"], id(&user));
        // It is in every cache of the other node.
        assert_eq!(other.introspect("web", access).await["active"], true);
        assert_eq!(other.userinfo(access).await.status, 200);
        if ends {
            assert_eq!(scim.delete(&user).await.status, 204);
        } else {
            scim.activate(&user, false).await;
        }
        assert_eq!(other.introspect("web", access).await["active"], false, "at the next request");
        other.userinfo(access).await.refused(401, "invalid_token");
        other.refresh("web", text(&tokens["refresh_token"])).await.refused(400, "invalid_grant");
        if ends {
            refused(&beside.get(&user).await, 404, None);
        } else {
            assert_eq!(beside.get(&user).await.json()["active"], false);
            beside.activate(&user, true).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bulk_is_done_whole_though_the_use_of_its_key_is_noted_meanwhile() {
    let (server, scim) = provisioned().await;
    let bulk = |round: usize| {
        let user = |n: usize| {
            let data = json!({ "schemas": [USER], "userName": format!("u{round}-{n}") });
            json!({ "method": "POST", "path": "/Users", "bulkId": n.to_string(), "data": data })
        };
        let operations: Vec<Value> = (0..100).map(user).collect();
        json!({ "schemas": ["urn:ietf:params:scim:api:messages:2.0:BulkRequest"], "Operations": operations })
    };
    for round in 0..3 {
        // The first use of a key is noted, and moves its row on.
        let scim = Scim::of(&server, "acme").await;
        let (body, beside) = (bulk(round), scim.clone());
        let doing = tokio::spawn(async move { beside.post("/Bulk", &body).await });
        while !doing.is_finished() {
            assert_eq!(scim.get("/ServiceProviderConfig").await.status, 200);
        }
        let done = doing.await.unwrap().json();
        let operations = done["Operations"].as_array().unwrap();
        let failed: Vec<&Value> = operations.iter().filter(|one| one["status"] != "201").collect();
        assert!(
            operations.len() == 100 && failed.is_empty(),
            "{} failed: {:?}",
            failed.len(),
            failed.first()
        );
    }
    drop(scim);
    server.stop().await;
}
