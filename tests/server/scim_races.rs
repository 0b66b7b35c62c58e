//! SCIM beside itself, beside sign-ins and beside just-in-time accounts: whatever comes first, nothing is twice, and what is
//! deleted stays deleted.

use crate::{
    person::{parameter, text},
    races::Pair,
    scim_caller::{Scim, USER, id, provisioned, refused},
    sso_scene::{Scene, account_of},
};
use serde_json::{Value, json};
use url::Url;

async fn user_of(scim: &Scim, address: &str) -> String {
    let found = scim.found("Users", &format!("userName eq \"{address}\"")).await;
    assert_eq!(found["totalResults"], 1, "{found}");
    format!("/Users/{}", text(&found["Resources"][0]["id"]))
}

/// Deletes until no other change comes between.
async fn deleted(scim: &Scim, user: &str) {
    loop {
        let answer = scim.delete(user).await;
        match answer.status.as_u16() {
            204 => return,
            409 => {}
            _ => panic!("{answer:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_users_of_one_name_that_two_nodes_make_at_once_one_is_there() {
    let pair = Pair::start().await;
    let key = pair.key("acme", "scim:*");
    let scims = pair.nodes.map(|node| Scim::by(node, "acme", &key));
    for round in 0..6 {
        let names = [format!("u{round}@far.test"), format!("U{round}@FAR.test")];
        let making = [0, 1].map(|place: usize| {
            let body = json!({ "schemas": [USER], "userName": names[place] });
            let scim = scims[place].clone();
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
        assert_eq!(statuses, [201, 409]);
        user_of(&scims[0], &names[0]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_deleted_while_it_is_changed_stays_deleted_and_its_names_are_free() {
    let (server, scim) = provisioned().await;
    for round in 0..6 {
        let name = format!("u{round}@far.test");
        let user = scim.user(&name).await;
        let group = scim.group(&format!("g{round}"), &[&user]).await;
        let patch = |operation: Value| {
            let (scim, user) = (scim.clone(), user.clone());
            tokio::spawn(async move { scim.patch(&user, &json!([operation])).await })
        };
        let add =
            json!([{ "op": "replace", "path": "members", "value": [{ "value": id(&user) }] }]);
        let filling = {
            let (scim, group) = (scim.clone(), group.clone());
            tokio::spawn(async move { scim.patch(&group, &add).await })
        };
        let changing = [
            patch(json!({ "op": "replace", "path": "active", "value": false })),
            patch(json!({ "op": "replace", "path": "title", "value": "x" })),
        ];
        deleted(&scim, &user).await;
        for change in changing {
            let answer = change.await.unwrap();
            assert!([200, 404, 409].contains(&answer.status.as_u16()), "{answer:?}");
        }
        let filled = filling.await.unwrap();
        assert!([204, 400, 409].contains(&filled.status.as_u16()), "{filled:?}");
        refused(&scim.get(&user).await, 404, None);
        assert_eq!(scim.get(&group).await.json()["members"], Value::Null);
        let found = scim.found("Users", &format!("userName eq \"{name}\"")).await;
        assert_eq!(found["totalResults"], 0);
        assert_ne!(scim.user(&name).await, user);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_granted_beside_a_deactivation_or_a_deletion_is_worth_nothing_after_it() {
    let (server, scim) = provisioned().await;
    let user = user_of(&scim, "bruno@acme.test").await;
    for round in 0..6 {
        let node = scim.node;
        let session = server.sign_in("bruno@acme.test").await;
        let granting = tokio::spawn(async move {
            let scope = "openid invoices:read offline_access";
            let fields = [("scope", scope), ("organization", "acme")];
            let answer = node.authorize_in(&session, "web", &fields).await;
            // It may have been refused in any way.
            let to = Url::parse(answer.json()["result"]["redirect_to"].as_str()?).ok()?;
            let code = parameter(&to, "code")?;
            let tokens = node.redeem("web", &code).await;
            (tokens.status == 200).then(|| tokens.json())
        });
        if round == 5 {
            deleted(&scim, &user).await;
        } else {
            scim.activate(&user, false).await;
        }
        if let Some(tokens) = granting.await.unwrap() {
            let access = text(&tokens["access_token"]);
            assert_eq!(server.introspect("web", access).await, json!({ "active": false }));
            server.userinfo(access).await.refused(401, "invalid_token");
            let refresh = text(&tokens["refresh_token"]);
            server.refresh("web", refresh).await.refused(400, "invalid_grant");
        }
        if round < 5 {
            scim.activate(&user, true).await;
            server.clock.expire_views();
        }
    }
    refused(&scim.get(&user).await, 404, None);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_whom_the_directory_and_a_sign_in_make_at_once_is_one_account_and_one_user() {
    let scene = Scene::proved().await;
    let scim = Scim::of(&scene.server, "acme").await;
    for round in 0..4 {
        let address = format!("nova{round}@acme.test");
        scene.provider.claim("sub", json!(format!("subject-{round}")));
        scene.provider.claim("email", json!(address));
        let flow = scene.begin().await;
        let query = scene.answer_to(&flow).await;
        let body = json!({ "schemas": [USER], "userName": address });
        let (made, signed_in) = if round % 2 == 0 {
            tokio::join!(scim.post("/Users", &body), scene.bring(&flow, &query))
        } else {
            let (signed_in, made) =
                tokio::join!(scene.bring(&flow, &query), scim.post("/Users", &body));
            (made, signed_in)
        };
        let came = (made.status.as_u16(), signed_in.status.as_u16());
        match came {
            (201, 403 | 409) | (409, 200) => {}
            _ => panic!("{made:?} {signed_in:?}"),
        }
        if made.status == 409 {
            refused(&made, 409, Some("uniqueness"));
        }
        assert!(account_of(&scene.server, &address).await.is_some());
        let user = user_of(&scim, &address).await;
        assert_eq!(scim.get(&user).await.json()["userName"], address.as_str());
        let filter = format!("emails.value eq \"{address}\" or userName eq \"{address}\"");
        let all = scim.found("Users", &filter);
        assert_eq!(all.await["totalResults"], 1);
    }
}
