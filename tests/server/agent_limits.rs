//! What a client of an organization is held to, through the management API: shown, and only narrowed
//! (adr/0093, adr/0098).

use crate::{
    api_caller::{Api, directory},
    me::records,
    person::text,
};
use hyper::Method;
use serde_json::{Value, json};

const RITA: &str = "rita@acme.test";
const CLIENTS: &str = "/api/organizations/acme/clients";
const SCOPE: &str = "clients:read clients:write";

fn limit(per_day: &str) -> Value {
    json!({ "type": "payment_initiation", "member": "amount.value", "unit": "amount.currency",
            "of": "EUR", "per_day": per_day })
}

fn buyer(agent: &Value) -> Value {
    json!({ "client_name": "Buyer", "grant_types": ["token-exchange"], "agent": agent,
            "token_endpoint_auth_method": "client_secret_basic" })
}

/// Makes a client with agent limits, and returns its address.
async fn limited(api: &Api<'_>) -> String {
    let agent = json!({ "purpose": "Pays small invoices", "owner": "Purchasing",
                        "expires_at": "2100-01-01T00:00:00Z", "limits": [limit("100")] });
    let made = api.post(CLIENTS, &buyer(&agent)).await;
    assert_eq!(made.status, 201, "{made:?}");
    assert_eq!(made.json()["agent"], agent);
    format!("{CLIENTS}/{}", text(&made.json()["client_id"]))
}

#[tokio::test]
async fn agent_limits_are_set_shown_narrowed_and_recorded() {
    let server = directory().await;
    let api = Api::of(&server, RITA, SCOPE).await;
    let path = limited(&api).await;
    let narrower = json!({ "agent": { "purpose": "Pays", "owner": null,
                                      "expires_at": "2099-12-31T00:00:00Z",
                                      "limits": [limit("99.5")] } });
    let changed = api.change(Method::PATCH, &path, Some(&narrower)).await;
    assert_eq!(changed.status, 200, "{changed:?}");
    let expected = json!({ "purpose": "Pays", "expires_at": "2099-12-31T00:00:00Z",
                           "limits": [limit("99.5")] });
    assert_eq!(changed.json()["agent"], expected);
    assert_eq!(api.get(&path).await.json()["agent"], expected);
    // What is not given stays, and another type is closed.
    let refund = json!({ "type": "refund", "member": "amount", "per_day": "0" });
    let more = json!({ "agent": { "owner": "Ana", "limits": [limit("99.5"), refund] } });
    let changed = api.change(Method::PATCH, &path, Some(&more)).await.json();
    assert_eq!(changed["agent"]["expires_at"], "2099-12-31T00:00:00Z");
    assert_eq!(changed["agent"]["owner"], "Ana");
    let changes = records(&server, "client.changed").await;
    assert_eq!(changes.len(), 2, "{changes:?}");
    assert!(changes.iter().all(|one| one.to_string().contains("agent")), "{changes:?}");
    // The same again changes nothing.
    let version = api.tag(&path).await;
    assert_eq!(api.change(Method::PATCH, &path, Some(&more)).await.status, 200);
    assert_eq!(api.tag(&path).await, version);
    server.stop().await;
}

#[tokio::test]
async fn agent_limits_are_never_widened_here() {
    let server = directory().await;
    let api = Api::of(&server, RITA, SCOPE).await;
    let path = limited(&api).await;
    let before = api.get(&path).await;
    let dollars = json!({ "type": "payment_initiation", "member": "amount.value",
                          "unit": "amount.currency", "of": "USD", "per_day": "1" });
    let any_unit =
        json!({ "type": "payment_initiation", "member": "amount.value", "per_day": "1" });
    let other = json!({ "type": "payment_initiation", "member": "tip", "per_day": "1" });
    for wider in [
        Value::Null,
        json!({ "expires_at": null }),
        json!({ "expires_at": "2100-01-01T00:00:01Z" }),
        json!({ "limits": [] }),
        json!({ "limits": null }),
        json!({ "limits": [limit("100.000001")] }),
        json!({ "limits": [limit("100"), dollars] }),
        json!({ "limits": [limit("100"), other] }),
        json!({ "limits": [any_unit] }),
        json!({ "limits": [json!({ "type": "refund", "member": "amount", "per_day": "1" })] }),
    ] {
        let body = json!({ "agent": wider });
        let refused = api.change(Method::PATCH, &path, Some(&body)).await;
        refused.problem(403, "agent_widened");
    }
    assert_eq!(api.get(&path).await.json(), before.json());
    server.stop().await;
}

#[tokio::test]
async fn what_is_no_agent_limit_is_refused_by_its_member() {
    let server = directory().await;
    let api = Api::of(&server, RITA, SCOPE).await;
    let good = json!({ "purpose": "Pays" });
    let with = |name: &str, value: Value| {
        let mut agent = good.clone();
        agent[name] = value;
        agent
    };
    let of = |name: &str, value: Value| {
        let mut one = limit("1");
        one[name] = value;
        with("limits", json!([one]))
    };
    let long = "x".repeat(201);
    for (agent, pointer) in [
        (json!("agent"), "#/agent"),
        (json!([]), "#/agent"),
        (json!({}), "#/agent/purpose"),
        (with("purpose", json!("")), "#/agent/purpose"),
        (with("purpose", json!(7)), "#/agent/purpose"),
        (with("purpose", json!(long)), "#/agent/purpose"),
        (with("purpose", json!("Pays\u{202e}1")), "#/agent/purpose"),
        (with("owner", json!("a\u{200b}b")), "#/agent/owner"),
        (with("expires_at", json!("tomorrow")), "#/agent/expires_at"),
        (with("expires_at", json!(4_102_444_800_i64)), "#/agent/expires_at"),
        (with("limits", json!({})), "#/agent/limits"),
        (with("limits", json!(vec![limit("1"); 21])), "#/agent/limits"),
        (with("limits", json!([limit("1"), limit("2")])), "#/agent/limits"),
        (with("nothing", json!(1)), "#/agent/nothing"),
        (of("per_day", json!("-1")), "#/agent/limits/0/per_day"),
        (of("per_day", json!("1e3")), "#/agent/limits/0/per_day"),
        (of("per_day", json!("0.0000001")), "#/agent/limits/0/per_day"),
        (of("per_day", json!(1)), "#/agent/limits/0/per_day"),
        (of("of", Value::Null), "#/agent/limits/0/unit"),
        (of("type", json!("")), "#/agent/limits/0/type"),
        (of("more", json!("")), "#/agent/limits/0/more"),
    ] {
        let refused = api.post(CLIENTS, &buyer(&agent)).await;
        refused.problem(400, "invalid_request");
        assert_eq!(refused.json()["errors"][0]["pointer"], pointer, "{agent}");
    }
    server.stop().await;
}

#[tokio::test]
async fn agent_limits_are_changed_at_the_version_seen_by_those_who_may_and_not_of_the_operators_clients()
 {
    let server = directory().await;
    let api = Api::of(&server, RITA, SCOPE).await;
    let path = limited(&api).await;
    let body = json!({ "agent": { "owner": "Rita" } });
    api.call(Method::PATCH, &path, Some(&body), &[]).await.problem(428, "precondition_required");
    let old = [("if-match", "\"1\"")];
    api.call(Method::PATCH, &path, Some(&body), &old).await.problem(412, "precondition_failed");
    let reader = Api::of(&server, RITA, "clients:read").await;
    reader.change(Method::PATCH, &path, Some(&body)).await.problem(403, "permission_required");
    let otto = Api::of(&server, "otto@other.test", SCOPE).await;
    otto.change(Method::PATCH, &path, Some(&body)).await.problem(403, "other_organization");
    let foreign = path.replace("/acme/", "/other/");
    otto.call(Method::PATCH, &foreign, Some(&body), &[("if-match", "*")])
        .await
        .problem(404, "not_found");
    let agent = json!({ "agent": { "purpose": "Robs" } });
    let robot = format!("{CLIENTS}/robot");
    api.change(Method::PATCH, &robot, Some(&agent)).await.problem(403, "client_of_operator");
    // What the operator has set by the file is shown, and holds here.
    let id = path.rsplit('/').next().unwrap();
    let file = format!(
        "[[client]]\nclient_id = \"{id}\"\n[client.agent]\npurpose = \"Less\"\n\
         expires_at = \"2050-01-01T00:00:00Z\"\n"
    );
    server.apply(&file).await;
    let shown = api.get(&path).await.json();
    assert_eq!(shown["agent"]["expires_at"], "2050-01-01T00:00:00Z", "{shown}");
    let later = json!({ "agent": { "expires_at": "2050-01-02T00:00:00Z" } });
    api.change(Method::PATCH, &path, Some(&later)).await.problem(403, "agent_widened");
    server.stop().await;
}
