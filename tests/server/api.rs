//! The management API: what an administrator may see and change.

use crate::{
    api_caller::{Api, EVERYTHING, directory},
    person::{claims, text},
    shared::eventually,
    support::form,
};
use hyper::Method;
use serde_json::{Value, json};
use std::time::Duration;

const ACME: &str = "/api/organizations/acme";

/// The ids of the members of acme by their e-mail addresses.
async fn member(api: &Api<'_>, email: &str) -> String {
    let found = api.get(&format!("{ACME}/members?email={email}")).await.json();
    text(&found["items"][0]["id"]).to_owned()
}

#[tokio::test]
async fn a_token_for_our_own_api_says_so_and_speaks_for_one_organization() {
    let server = directory().await;
    let api = Api::of(&server, "rita@acme.test", "organizations:read").await;
    let claims = claims(&Value::from(api.token.as_str()));
    assert_eq!(claims["aud"], format!("{}/api", server.issuer()));
    assert_eq!((&claims["org"], &claims["role"]), (&"acme".into(), &"administrator clerk".into()));
    let shown = api.get(ACME).await;
    assert_eq!(shown.status, 200, "{shown:?}");
    assert_eq!(shown.json()["name"], "Acme Lda");
    assert_eq!(shown.header("etag").unwrap().chars().next(), Some('"'));
    let listed = api.get("/api/organizations").await.json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "only its own");
    // What is for another API is not for ours.
    let foreign = Api::of(&server, "ana@acme.test", "invoices:read").await;
    foreign.get(ACME).await.problem(401, "invalid_token");
    server.stop().await;
}

#[tokio::test]
async fn a_change_needs_the_version_that_was_seen() {
    let server = directory().await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let body = json!({ "name": "Acme SA" });
    api.call(Method::PATCH, ACME, Some(&body), &[]).await.problem(428, "precondition_required");
    let stale = api.get(ACME).await.header("etag").unwrap().to_owned();
    let changed = api.change(Method::PATCH, ACME, Some(&body)).await;
    assert_eq!((changed.status.as_u16(), &changed.json()["name"]), (200, &"Acme SA".into()));
    let late = api.call(Method::PATCH, ACME, Some(&body), &[("if-match", &stale)]).await;
    late.problem(412, "precondition_failed");
    for bad in [json!({ "name": "" }), json!({ "name": "a\u{202e}b" }), json!({ "nom": 1 })] {
        let refused = api.change(Method::PATCH, ACME, Some(&bad)).await;
        assert_eq!(refused.json()["code"], "invalid_request", "{bad}");
        assert!(refused.json()["errors"][0]["pointer"].is_string());
    }
    let suspend = json!({ "enabled": false });
    let refused = api.change(Method::PATCH, ACME, Some(&suspend)).await;
    refused.problem(403, "permission_required");
    server.stop().await;
}

#[tokio::test]
async fn no_one_puts_into_a_role_or_gives_to_a_member_what_they_do_not_hold() {
    let server = directory().await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let reader = format!("{ACME}/roles/reader");
    let tag = api.get(ACME).await.header("etag").unwrap().to_owned();
    let put = async |permissions: Value, tag: &str| {
        let body = json!({ "permissions": permissions });
        api.call(Method::PUT, &reader, Some(&body), &[("if-match", tag)]).await
    };
    for more in ["invoices:write", "invoices:*", "payments:read"] {
        put(json!(["invoices:read", more]), &tag).await.problem(403, "permission_not_held");
    }
    for malformed in ["*", "*:*", "invoices", ""] {
        put(json!([malformed]), &tag).await.problem(400, "invalid_request");
    }
    put(json!(["organizations:administer"]), &tag).await.problem(403, "permission_not_held");
    let made = put(json!(["invoices:read"]), &tag).await;
    assert_eq!(made.status, 201, "{made:?}");
    put(json!(["invoices:read"]), &tag).await.problem(412, "precondition_failed");
    // Bruno is a clerk: the new role may be given to him, that of a manager may not.
    let bruno = format!("{ACME}/members/{}", member(&api, "bruno@acme.test").await);
    let give = async |roles: Value| {
        api.change(Method::PATCH, &bruno, Some(&json!({ "roles": roles }))).await
    };
    give(json!(["clerk", "manager"])).await.problem(403, "permission_not_held");
    give(json!(["clerk", "owner"])).await.problem(400, "invalid_request");
    let given = give(json!(["clerk", "reader"])).await;
    assert_eq!(given.json()["roles"], json!(["clerk", "reader"]), "{given:?}");
    // Ana holds more than Rita: it can be taken from her, and not be given back.
    let ana = format!("{ACME}/members/{}", member(&api, "ana@acme.test").await);
    let kept = json!({ "roles": ["manager", "clerk"] });
    assert_eq!(api.change(Method::PATCH, &ana, Some(&kept)).await.status, 200);
    let ended = json!({ "enabled": false });
    assert_eq!(api.change(Method::PATCH, &ana, Some(&ended)).await.status, 200);
    let back = json!({ "enabled": true });
    api.change(Method::PATCH, &ana, Some(&back)).await.problem(403, "permission_not_held");
    let gone = api.change(Method::DELETE, &reader, None).await;
    assert_eq!(gone.status, 204, "{gone:?}");
    api.get(&reader).await.problem(404, "not_found");
    server.stop().await;
}

#[tokio::test]
async fn a_member_who_loses_a_role_loses_what_their_token_could_do_at_once() {
    let server = directory().await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let rita = format!("{ACME}/members/{}", member(&api, "rita@acme.test").await);
    let left = json!({ "roles": ["clerk"] });
    assert_eq!(api.change(Method::PATCH, &rita, Some(&left)).await.status, 200);
    api.get(ACME).await.problem(401, "invalid_token");
    server.stop().await;
}

#[tokio::test]
async fn members_and_accounts_are_listed_in_pages_and_filtered() {
    let server = directory().await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let first = api.get(&format!("{ACME}/members?limit=2")).await.json();
    assert_eq!(first["items"].as_array().unwrap().len(), 2);
    let cursor = text(&first["next_cursor"]).to_owned();
    let second = api.get(&format!("{ACME}/members?limit=2&cursor={cursor}")).await.json();
    assert_eq!(second["items"].as_array().unwrap().len(), 1, "Ana, Bruno, Rita: {second}");
    assert!(second["next_cursor"].is_null());
    api.get(&format!("{ACME}/accounts?cursor={cursor}")).await.problem(400, "invalid_request");
    api.get(&format!("{ACME}/members?limit=0")).await.problem(400, "invalid_request");
    api.get(&format!("{ACME}/members?colour=red")).await.problem(400, "invalid_request");
    let clerks = api.get(&format!("{ACME}/members?role=clerk")).await.json();
    assert_eq!(clerks["items"].as_array().unwrap().len(), 2, "{clerks}");
    let accounts = api.get(&format!("{ACME}/accounts?email=RITA@acme.test")).await.json();
    let rita = &accounts["items"][0];
    assert_eq!(
        (&rita["claims"]["given_name"], &rita["email"]),
        (&"Rita".into(), &"rita@acme.test".into())
    );
    let path = format!("{ACME}/accounts/{}", text(&rita["id"]));
    assert_eq!(api.get(&path).await.status, 200);
    // Clara has an account and no membership here.
    let none = api.get(&format!("{ACME}/accounts?email=clara@nowhere.test")).await.json();
    assert_eq!(none["items"], json!([]));
    // Without the permission to read accounts a member is an id, and cannot be found by an address.
    let less = Api::of(&server, "rita@acme.test", "memberships:read").await;
    let shown = less.get(&format!("{ACME}/members")).await.json();
    assert!(shown["items"][0]["email"].is_null());
    less.get(&format!("{ACME}/members?email=rita@acme.test")).await.problem(400, "invalid_request");
    server.stop().await;
}

#[tokio::test]
async fn an_invitation_is_mailed_and_bounded_by_what_the_inviter_holds() {
    let server = directory().await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let path = format!("{ACME}/invitations");
    let invite = async |body: Value| api.post(&path, &body).await;
    invite(json!({ "email": "new@acme.test", "roles": ["manager"] }))
        .await
        .problem(403, "permission_not_held");
    invite(json!({ "email": "nowhere", "roles": [] })).await.problem(400, "invalid_request");
    let made =
        invite(json!({ "email": "new@acme.test", "roles": ["clerk"], "locale": "pt" })).await;
    assert_eq!(made.status, 201, "{made:?}");
    let id = text(&made.json()["id"]).to_owned();
    let listed = api.get(&path).await.json();
    assert_eq!(listed["items"][0]["email"], "new@acme.test");
    let one = format!("{path}/{id}");
    assert_eq!(api.call(Method::DELETE, &one, None, &[]).await.status, 204);
    api.call(Method::DELETE, &one, None, &[]).await.problem(404, "not_found");
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_an_organization_makes_serves_its_members_only() {
    let server = directory().await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let path = format!("{ACME}/clients");
    let body = json!({
        "client_name": "Intranet",
        "redirect_uris": ["https://intranet.example.com/cb"],
        "roles": ["clerk"],
    });
    let made = api.post(&path, &body).await;
    assert_eq!(made.status, 201, "{made:?}");
    let made = made.json();
    let id = text(&made["client_id"]).to_owned();
    assert!(text(&made["client_secret"]).starts_with("pcs_"));
    for more in [
        json!({ "trusted": true }),
        json!({ "organization": "other" }),
        json!({ "introspects": [] }),
    ] {
        api.post(&path, &more).await.problem(400, "invalid_request");
    }
    let wide = json!({ "roles": ["manager"] });
    api.post(&path, &wide).await.problem(403, "permission_not_held");
    let redirect =
        [("redirect_uri", "https://intranet.example.com/cb"), ("client_id", id.as_str())];
    let session = server.sign_in("otto@other.test").await;
    let answer = server.authorize_in(&session, "web", &redirect).await;
    let sent = answer.json()["result"]["redirect_to"].as_str().unwrap().to_owned();
    assert!(sent.contains("error=access_denied"), "{sent}");
    let session = server.sign_in("ana@acme.test").await;
    let answer = server.authorize_in(&session, "web", &redirect).await.json();
    assert_eq!(answer["state"], "consent", "{answer}");
    let one = format!("{path}/{id}");
    assert!(api.get(&one).await.json()["client_secret"].is_null(), "it is shown once");
    let unseen = api.call(Method::POST, &format!("{one}/secret"), None, &[]).await;
    unseen.problem(428, "precondition_required");
    let tag = api.get(&one).await.header("etag").unwrap().to_owned();
    let rotated =
        api.call(Method::POST, &format!("{one}/secret"), None, &[("if-match", &tag)]).await;
    assert_ne!(rotated.json()["client_secret"], made["client_secret"], "{rotated:?}");
    assert_eq!(api.change(Method::DELETE, &one, None).await.status, 204);
    api.get(&one).await.problem(404, "not_found");
    // What the operator has provisioned is shown and not changed.
    let billing = format!("{path}/billing");
    let change = json!({ "redirect_uris": ["https://evil.example.com/cb"] });
    api.change(Method::PATCH, &billing, Some(&change)).await.problem(403, "client_of_operator");
    api.get(&format!("{path}/web")).await.problem(404, "not_found");
    server.stop().await;
}

#[tokio::test]
async fn the_customer_reads_what_happened_in_its_organization_and_in_no_other() {
    let server = directory().await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let role = format!("{ACME}/roles/reader");
    let tag = api.get(ACME).await.header("etag").unwrap().to_owned();
    let body = json!({ "permissions": ["invoices:read"] });
    server.clock.advance(Duration::from_secs(1));
    api.call(Method::PUT, &role, Some(&body), &[("if-match", &tag)]).await;
    server.clock.advance(Duration::from_secs(1));
    api.get("/api/organizations/other").await.problem(403, "other_organization");
    let trail = api.get(&format!("{ACME}/audit?limit=2")).await.json();
    let events = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap().iter();
        items.map(|entry| text(&entry["event"]).to_owned()).collect()
    };
    assert_eq!(
        events(&trail),
        ["api.refused", "organization.changed"],
        "the newest first: {trail}"
    );
    let refused = &trail["items"][0]["detail"];
    assert_eq!(refused["code"], "other_organization");
    assert_eq!(refused["context"]["actor"]["type"], "person");
    assert!(
        refused["context"]["address"].is_string() && refused["context"]["request_id"].is_string()
    );
    let cursor = text(&trail["next_cursor"]).to_owned();
    let rest = api.get(&format!("{ACME}/audit?cursor={cursor}")).await.json();
    assert!(events(&rest).contains(&"organization.created".to_owned()), "{rest}");
    let one = api.get(&format!("{ACME}/audit?event=organization.changed&limit=1")).await.json();
    assert_eq!(events(&one), ["organization.changed"]);
    let before = api.get(&format!("{ACME}/audit?until=2001-01-01T00:00:00Z")).await.json();
    assert_eq!(before["items"], json!([]));
    api.get(&format!("{ACME}/audit?since=yesterday")).await.problem(400, "invalid_request");
    let other = Api::of(&server, "otto@other.test", "audit:read").await;
    let elsewhere = other.get("/api/organizations/other/audit").await.json().to_string();
    assert!(!elsewhere.contains("api.refused") && !elsewhere.contains("acme"), "{elsewhere}");
    server.stop().await;
}

#[tokio::test]
async fn a_service_reads_with_a_token_in_its_own_name() {
    let server = directory().await;
    let token = server.token("robot", "audit:read").await;
    let api = Api { server: &server, token, reason: None };
    assert_eq!(api.get(&format!("{ACME}/audit")).await.status, 200);
    api.get(&format!("{ACME}/members")).await.problem(403, "permission_required");
    server.stop().await;
}

#[tokio::test]
async fn an_administrator_of_all_says_why_and_every_use_is_in_the_customers_trail() {
    let server = directory().await;
    server.administers("olga@operator.test", true).await;
    let scope = "organizations:administer organizations:read audit:read roles:read roles:write";
    let mut api = Api::of_organization(&server, "olga@operator.test", scope, "acme").await;
    let said = claims(&Value::from(api.token.as_str()));
    assert_eq!(said["org"], "acme");
    assert!(said["role"].is_null() && said["membership"].is_null(), "{said}");
    api.get(ACME).await.problem(400, "reason_required");
    api.reason = Some("mail of ana@acme.test");
    api.get(ACME).await.problem(400, "reason_required");
    api.reason = Some("ticket 4711");
    assert_eq!(api.get(ACME).await.status, 200);
    api.get("/api/organizations/other").await.problem(403, "other_organization");
    let all = api.get("/api/organizations").await.json();
    assert_eq!(all["items"].as_array().unwrap().len(), 2, "{all}");
    let tag = api.get(ACME).await.header("etag").unwrap().to_owned();
    let body = json!({ "permissions": ["invoices:read"] });
    let role = format!("{ACME}/roles/reader");
    let put = api.call(Method::PUT, &role, Some(&body), &[("if-match", &tag)]).await;
    put.problem(403, "permission_not_held");
    let rita = Api::of(&server, "rita@acme.test", "audit:read").await;
    let trail = rita.get(&format!("{ACME}/audit?event=organization.administered")).await.json();
    let entry = &trail["items"][0]["detail"];
    assert_eq!(entry["context"]["reason"], "ticket 4711", "{trail}");
    assert_eq!(entry["context"]["actor"]["id"], said["sub"]);
    assert!(entry["operation"].is_string());
    let made = api.post("/api/organizations", &json!({ "slug": "newer", "name": "Newer" })).await;
    assert_eq!(made.status, 201, "{made:?}");
    api.post("/api/organizations", &json!({ "slug": "newer" })).await.problem(409, "exists");
    api.post("/api/organizations", &json!({ "slug": "N" })).await.problem(400, "invalid_request");
    // Taken away, the token is worth nothing at once.
    server.administers("olga@operator.test", false).await;
    api.get(ACME).await.problem(401, "invalid_token");
    server.stop().await;
}

#[tokio::test]
async fn administration_is_granted_to_no_one_by_default_and_asked_for_by_name() {
    let server = directory().await;
    let session = server.sign_in("rita@acme.test").await;
    for organization in [None, Some("acme"), Some("other")] {
        let mut asked = vec![("scope", "organizations:administer")];
        asked.extend(organization.map(|slug| ("organization", slug)));
        let answer = server.authorize_in(&session, "web", &asked).await.json();
        assert_eq!(answer["state"], "failed", "{organization:?}: {answer}");
    }
    server.administers("olga@operator.test", true).await;
    let session = server.sign_in("olga@operator.test").await;
    let unnamed = [("scope", "organizations:administer")];
    let answer = server.authorize_in(&session, "web", &unnamed).await.json();
    assert_eq!(answer["state"], "failed", "one named organization: {answer}");
    server.stop().await;
}

#[tokio::test]
async fn a_suspended_organization_takes_no_call_and_is_enabled_from_outside_alone() {
    let server = directory().await;
    server.administers("olga@operator.test", true).await;
    let scope = "organizations:administer organizations:read organizations:write";
    let mut olga = Api::of_organization(&server, "olga@operator.test", scope, "other").await;
    olga.reason = Some("unpaid");
    let mut in_acme = Api::of_organization(&server, "olga@operator.test", scope, "acme").await;
    in_acme.reason = Some("unpaid");
    let rita = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let suspend = json!({ "enabled": false });
    let suspended = in_acme.change(Method::PATCH, ACME, Some(&suspend)).await;
    assert_eq!(suspended.json()["enabled"], false, "{suspended:?}");
    rita.get(ACME).await.problem(401, "invalid_token");
    in_acme.get(ACME).await.problem(401, "invalid_token");
    let any = [("if-match", "*")];
    let rename = json!({ "enabled": true, "name": "Mine" });
    olga.call(Method::PATCH, ACME, Some(&rename), &any).await.problem(404, "not_found");
    let enabled = olga.call(Method::PATCH, ACME, Some(&json!({ "enabled": true })), &any).await;
    assert_eq!(enabled.json()["enabled"], true, "{enabled:?}");
    rita.get(ACME).await.problem(401, "invalid_token");
    // What was issued before stays ended; what is issued now is good, in the next epoch too.
    in_acme.get(ACME).await.problem(401, "invalid_token");
    eventually("a token of the next epoch", async || {
        let again = Api::asked(&server, "olga@operator.test", scope, "acme").await;
        let Some(mut again) = again else { return false };
        again.reason = Some("paid");
        again.get(ACME).await.status == 200
    })
    .await;
    server.stop().await;
}

#[tokio::test]
async fn what_an_organization_requires_is_required_here_too() {
    let server = directory().await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let more = json!({ "required_acr": "aal2" });
    assert_eq!(api.change(Method::PATCH, ACME, Some(&more)).await.status, 200);
    let refused = api.get(ACME).await;
    assert!(
        refused.header("www-authenticate").unwrap().contains("acr_values=\"aal2\""),
        "{refused:?}"
    );
    refused.problem(401, "insufficient_user_authentication");
    server.stop().await;
}

#[tokio::test]
async fn the_document_is_served_to_anyone() {
    let server = directory().await;
    let request = server.request(Method::GET, "/api/openapi.json");
    let answer = server.send(request.body(form(&[])).unwrap()).await;
    assert_eq!(answer.json()["openapi"], "3.1.0");
    assert!(answer.json()["paths"]["/me"]["get"].is_object());
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_registered_itself_manages_nothing() {
    let server = directory().await;
    let body = json!({ "redirect_uris": ["https://web.example.com/cb"], "token_endpoint_auth_method": "none" });
    let registered = server.post_json("/connect/register", &body, &[]).await.json();
    let id = text(&registered["client_id"]);
    let session = server.sign_in("rita@acme.test").await;
    let resource = format!("{}/api", server.issuer());
    for asked in [("scope", "openid audit:read"), ("resource", resource.as_str())] {
        let answer = server.authorize_in(&session, "web", &[("client_id", id), asked]).await.json();
        let sent = answer["result"]["redirect_to"].as_str().unwrap_or_default();
        assert!(sent.contains("error=invalid_target"), "{answer}");
    }
    server.stop().await;
}

#[tokio::test]
async fn an_api_key_calls_for_its_issuer_and_is_worth_no_more() {
    let server = directory().await;
    let rita = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let path = format!("{ACME}/apikeys");
    let make = async |api: &Api<'_>, permissions: Value| {
        api.post(&path, &json!({ "name": "backup", "permissions": permissions })).await
    };
    make(&rita, json!(["invoices:write"])).await.problem(403, "permission_not_held");
    make(&rita, json!(["organizations:administer"])).await.problem(400, "invalid_request");
    make(&rita, json!([])).await.problem(400, "invalid_request");
    let made = make(&rita, json!(["audit:*", "apikeys:write", "memberships:read"])).await;
    assert_eq!(made.status, 201, "{made:?}");
    let made = made.json();
    let token = text(&made["key"]).to_owned();
    assert!(token.starts_with("pak_"));
    let key = Api { server: &server, token, reason: None };
    assert_eq!(key.get(&format!("{ACME}/audit")).await.status, 200, "a wildcard of a key covers");
    key.get(ACME).await.problem(403, "permission_required");
    key.get("/api/organizations/other").await.problem(403, "other_organization");
    // What a key makes is worth no more than the key, though its issuer holds more.
    make(&key, json!(["roles:write"])).await.problem(403, "permission_not_held");
    let child = make(&key, json!(["audit:read"])).await.json();
    let child = Api { server: &server, token: text(&child["key"]).to_owned(), reason: None };
    assert_eq!(child.get(&format!("{ACME}/audit")).await.status, 200);
    let shown = rita.get(&format!("{path}/{}", text(&made["id"]))).await.json();
    assert!(shown["key"].is_null(), "it is shown once: {shown}");
    let rotate = format!("{path}/{}/rotate", text(&made["id"]));
    let rotated = rita.post(&rotate, &json!({ "overlap": 60 })).await.json();
    let again = Api { server: &server, token: text(&rotated["key"]).to_owned(), reason: None };
    assert_eq!(again.get(&format!("{ACME}/audit")).await.status, 200, "{rotated}");
    assert_eq!(key.get(&format!("{ACME}/audit")).await.status, 200, "the former is good yet");
    let one = format!("{path}/{}", text(&made["id"]));
    assert_eq!(rita.call(Method::DELETE, &one, None, &[]).await.status, 204);
    for ended in [&key, &again, &child] {
        ended.get(&format!("{ACME}/audit")).await.problem(401, "invalid_token");
    }
    rita.call(Method::DELETE, &one, None, &[]).await.problem(404, "not_found");
    server.stop().await;
}

#[tokio::test]
async fn a_key_confers_nothing_when_its_issuer_has_lost_a_permission_of_it() {
    let server = directory().await;
    let rita = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let body = json!({ "name": "k", "permissions": ["audit:read", "invoices:read"] });
    let made = rita.post(&format!("{ACME}/apikeys"), &body).await.json();
    let key = Api { server: &server, token: text(&made["key"]).to_owned(), reason: None };
    assert_eq!(key.get(&format!("{ACME}/audit")).await.status, 200);
    let id = member(&rita, "rita@acme.test").await;
    let less = json!({ "roles": ["administrator"] });
    rita.change(Method::PATCH, &format!("{ACME}/members/{id}"), Some(&less)).await;
    key.get(&format!("{ACME}/audit")).await.problem(401, "invalid_token");
    server.stop().await;
}

#[tokio::test]
async fn a_first_change_by_a_fresh_key_is_made_and_its_use_is_noted() {
    let server = directory().await;
    let rita = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let (keys, roles) = (format!("{ACME}/apikeys"), format!("{ACME}/roles"));
    let held = json!(["roles:read", "roles:write", "memberships:write", "invoices:read"]);
    for number in 0..30 {
        let body = json!({ "name": format!("set-up {number}"), "permissions": held });
        let made = rita.post(&keys, &body).await;
        assert_eq!(made.status, 201, "{made:?}");
        let token = text(&made.json()["key"]).to_owned();
        let key = Api { server: &server, token, reason: None };
        // A create, and at once a change at a version.
        let invited = json!({ "email": format!("new{number}@acme.test"), "roles": [] });
        let answer = key.post(&format!("{ACME}/invitations"), &invited).await;
        assert_eq!(answer.status, 201, "{number}: {answer:?}");
        let body = json!({ "permissions": ["invoices:read"] });
        let path = format!("{roles}/made{number}");
        let answer = key.call(Method::PUT, &path, Some(&body), &[("if-match", "*")]).await;
        assert_eq!(answer.status, 201, "{number}: {answer:?}");
        let one = format!("{keys}/{}", text(&made.json()["id"]));
        eventually("its use is noted", async || {
            rita.get(&one).await.json()["last_used_at"].is_string()
        })
        .await;
    }
    server.stop().await;
}
