//! What the specification says of permissions, of the security log and of events.

use super::{ACME, ANA, SCOPE, token_for};
use crate::{
    api_caller::{Api, EVERYTHING, directory},
    database::Database,
    impersonation,
    me::records,
    person::{claims, text},
    shared::eventually,
    support::TestServer,
};
use hyper::Method;
use serde_json::{Value, json};

// Permission

/// Asks to put permissions into a role of acme.
async fn put_role(api: &Api<'_>, name: &str, permissions: Value) -> crate::http::Answer {
    let path = format!("{ACME}/roles/{name}");
    let body = json!({ "permissions": permissions });
    api.call(Method::PUT, &path, Some(&body), &[("if-match", "*")]).await
}

#[tokio::test]
async fn a_permission_is_a_statement_of_the_form_resource_action() {
    let server = directory().await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    for malformed in ["invoices", "invoices:", ":read", "a:b:c", "invoices read", "*", "*:read"] {
        put_role(&api, "reader", json!([malformed])).await.problem(400, "invalid_request");
    }
    assert_eq!(put_role(&api, "reader", json!(["invoices:read"])).await.status, 201);
    server.stop().await;
}

#[tokio::test]
async fn wildcards_act_one_way_only() {
    let server = TestServer::open().await;
    // Ana holds `invoices:*`, which covers the actions of invoices and nothing else.
    let all = "invoices:read invoices:write invoices:approve";
    assert_eq!(token_for(&server, ANA, "acme", all).await["scope"], all);
    let session = server.sign_in(ANA).await;
    for wider in ["orders:read", "invoices:*", "invoices:refund"] {
        let asked = [("scope", wider)];
        let answer = server.authorize_in(&session, "web", &asked).await;
        let to = crate::person::redirect(&answer);
        let error = crate::person::parameter(&to, "error");
        assert_eq!(error.as_deref(), Some("invalid_scope"), "{wider}");
    }
    server.stop().await;
}

#[tokio::test]
async fn permissions_are_grouped_into_roles() {
    let server = directory().await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let roles = api.get(&format!("{ACME}/roles/clerk")).await.json();
    assert_eq!(roles["permissions"], json!(["invoices:read", "orders:read"]));
    let token = token_for(&server, "bruno@acme.test", "acme", "openid orders:read").await;
    assert_eq!(token["role"], "clerk", "a role confers what is in it");
    server.stop().await;
}

// Security log

#[tokio::test]
async fn the_security_log_is_an_append_only_record_of_security_events() {
    let server = TestServer::open().await;
    server.sign_in(ANA).await;
    assert_eq!(records(&server, "sign_in.succeeded").await.len(), 1);
    for sql in ["DELETE FROM security_log", "UPDATE security_log SET event = 'nothing'"] {
        assert!(Database::at(&server.url).await.run(sql).await.is_err(), "{sql}");
    }
    assert_eq!(records(&server, "sign_in.succeeded").await.len(), 1);
    server.stop().await;
}

// Permissions

#[tokio::test]
async fn resource_action_statements_roles_on_the_membership_wildcards_that_only_narrow() {
    let server = directory().await;
    let rita = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    // Rita holds `invoices:read`: a wildcard over it is more than she holds.
    put_role(&rita, "reader", json!(["invoices:*"])).await.problem(403, "permission_not_held");
    // She holds `audit:*`, and may give away a part of it.
    assert_eq!(put_role(&rita, "reader", json!(["audit:read"])).await.status, 201);
    let found = rita.get(&format!("{ACME}/members?email=bruno@acme.test")).await.json();
    let path = format!("{ACME}/members/{}", text(&found["items"][0]["id"]));
    let roles = json!({ "roles": ["clerk", "reader"] });
    assert_eq!(rita.change(Method::PATCH, &path, Some(&roles)).await.status, 200);
    let mut token = Value::Null;
    eventually("the role confers", async || {
        let asked = Api::asked(&server, "bruno@acme.test", "audit:read", "acme").await;
        token = asked.map_or(Value::Null, |api| claims(&api.token.into()));
        !token.is_null()
    })
    .await;
    assert_eq!(token["role"], "clerk reader");
    server.stop().await;
}

#[tokio::test]
async fn organizations_administer_is_granted_to_nobody_by_default() {
    let server = directory().await;
    for email in ["rita@acme.test", "olga@operator.test", ANA] {
        let asked = Api::asked(&server, email, "organizations:administer", "acme").await;
        assert!(asked.is_none(), "{email}");
    }
    // No role and no key gives it.
    let rita = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let refused = put_role(&rita, "reader", json!(["organizations:administer"])).await;
    refused.problem(403, "permission_not_held");
    let key = json!({ "name": "k", "permissions": ["organizations:administer"] });
    rita.post(&format!("{ACME}/apikeys"), &key).await.problem(400, "invalid_request");
    server.stop().await;
}

/// Uses `organizations:administer` and returns what the customer reads of it.
async fn administered(server: &TestServer) -> Value {
    server.administers("olga@operator.test", true).await;
    let scope = "organizations:administer organizations:read";
    let mut olga = Api::of_organization(server, "olga@operator.test", scope, "acme").await;
    olga.reason = Some("ticket 1");
    assert_eq!(olga.get(ACME).await.status, 200);
    olga.reason = Some("ticket 2");
    assert_eq!(olga.get(ACME).await.status, 200);
    let rita = Api::of(server, "rita@acme.test", "audit:read").await;
    rita.get(&format!("{ACME}/audit?event=organization.administered")).await.json()
}

#[tokio::test]
async fn each_use_of_organizations_administer_is_recorded_in_the_customers_audit_trail() {
    let server = directory().await;
    let trail = administered(&server).await;
    let reasons = trail["items"].as_array().unwrap().iter();
    let mut reasons: Vec<&str> =
        reasons.map(|entry| text(&entry["detail"]["context"]["reason"])).collect();
    reasons.sort_unstable();
    assert_eq!(reasons, ["ticket 1", "ticket 2"], "{trail}");
    server.stop().await;
}

#[tokio::test]
async fn impersonation_is_audited() {
    let server = impersonation::scene().await;
    let (_, api) = impersonation::sofia(&server).await;
    let carla = impersonation::membership_of(&api, "carla@acme.test").await;
    let began = impersonation::act_as(&api, &carla, &impersonation::wanted()).await;
    assert_eq!(began.status, 201, "{began:?}");
    let rows = records(&server, "impersonation.began").await;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["context"]["actor"]["id"], claims(&json!(api.token))["sub"]);
    assert!(rows[0]["context"]["reason"].is_string(), "{rows:?}");
    server.stop().await;
}

// Events

#[tokio::test]
async fn an_append_only_security_log_records_security_events() {
    let server = TestServer::open().await;
    let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
    server.step(&flow, "identifier", json!({ "identifier": ANA })).await;
    let wrong = server.step(&flow, "password", json!({ "password": "wrong" })).await;
    assert_eq!(wrong.status, 401);
    let first = server.tokens(ANA, "web", SCOPE).await;
    server.refresh("web", text(&first["refresh_token"])).await;
    server.refresh("web", text(&first["refresh_token"])).await.refused(400, "invalid_grant");
    for event in
        ["sign_in.failed", "sign_in.succeeded", "authorization.granted", "refresh_token.reused"]
    {
        let found = records(&server, event).await;
        assert_eq!(found.len(), 1, "{event}");
        assert!(found[0]["context"]["address"].is_string(), "{event}: {found:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn use_of_organizations_administer_lands_in_the_customers_audit_trail() {
    let server = directory().await;
    let trail = administered(&server).await;
    let context = &trail["items"][0]["detail"]["context"];
    assert_eq!(context["actor"]["type"], "person", "{trail}");
    for member in ["address", "request_id", "reason"] {
        assert!(context[member].is_string(), "{member}: {trail}");
    }
    // It is in no other customer's.
    let otto = Api::of(&server, "otto@other.test", "audit:read").await;
    let path = "/api/organizations/other/audit?event=organization.administered";
    assert_eq!(otto.get(path).await.json()["items"], json!([]));
    server.stop().await;
}

#[tokio::test]
async fn use_of_impersonation_lands_in_the_customers_audit_trail() {
    let server = impersonation::scene().await;
    let (_, api) = impersonation::sofia(&server).await;
    let carla = impersonation::membership_of(&api, "carla@acme.test").await;
    impersonation::act_as(&api, &carla, &impersonation::wanted()).await;
    let trail = api.get(&format!("{ACME}/audit?event=impersonation.began")).await.json();
    let context = &trail["items"][0]["detail"]["context"];
    assert_eq!(context["actor"]["id"], claims(&json!(api.token))["sub"], "{trail}");
    let otto = Api::of(&server, "otto@other.test", "audit:read").await;
    let path = "/api/organizations/other/audit?event=impersonation.began";
    assert_eq!(otto.get(path).await.json()["items"], json!([]));
    server.stop().await;
}
